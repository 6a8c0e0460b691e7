"""Types of fields, and how a field becomes a flag."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from ..errors import FgsmError, listed
from ..family import AttackName
from ..validation import Epsilon, number

DEFAULT_DIR = "runs/mnist-mlp"
MODEL_FILE = "model.keras"
DEFAULT_MODEL = f"{DEFAULT_DIR}/{MODEL_FILE}"
CONFIG_FILE = "config.yaml"
RESULTS_FILE = "results.json"
EXAMPLES_FILE = "adversarial.npz"
CURVE_FILE = "curve.npz"
CERTIFICATES_FILE = "certificates.npz"
CHECKPOINT_FILE = "checkpoint.npz"
OUTCOMES_FILE = "outcomes.npz"
SHARDS_FOLDER = "shards"
# The image sets that have a name; the readers are in data/.
IMAGE_SETS = ("mnist", "fashion-mnist", "cifar10", "cifar100")
Format = Literal["table", "json", "csv", "markdown", "junit"]
REPORT_FILE = "report.html"
OutputKind = Literal["logits", "softmax", "log-softmax", "probabilities", "sigmoid", "logit"]


def names_function(model: str) -> bool:
    """Whether a model is named as ``package.module:function``, and not as a file."""
    return bool(re.fullmatch(r"[^\W\d][\w.]*:[^\W\d]\w*", model)) and not Path(model).exists()


def _text(value: Any) -> Any:
    if isinstance(value, str) and (not value or re.search(r"[\x00-\x1f\x7f]", value)):
        raise ValueError("empty, or holds a control character")
    return value


def check_text(value: str, name: str) -> str:
    """A word of the command line that is no option, as ``Text``. Raises FgsmError as that does."""
    try:
        return str(_text(value))
    except ValueError:
        raise FgsmError(
            f"{name} must be text without control characters. Received: {listed([repr(value)])}"
        ) from None


def _as_list(value: Any) -> Any:
    return (value,) if isinstance(value, str | int | float) else value


def _names(value: Any) -> Any:
    """'cat,dog' are two names."""
    values = _as_list(value)
    if isinstance(values, list | tuple) and all(isinstance(one, str) for one in values):
        return [name.strip() for one in values for name in one.split(",")]
    return value


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("a name given twice")
    return names


def _listed(value: Any) -> Any:
    """'3,7' is a list of two."""
    values = _as_list(value)
    if isinstance(values, list | tuple):
        return [
            part for one in values for part in (one.split(",") if isinstance(one, str) else [one])
        ]
    return value


def _widths(value: Any) -> Any:
    """'none' is no hidden layer; '256,128' are two."""
    return () if value in ("none", ["none"], ("none",)) else _listed(value)


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[
    tuple[Text, ...], BeforeValidator(_as_list, json_schema_input_type=str | list[str])
]
Numbers = Annotated[
    tuple[Annotated[float, Field(allow_inf_nan=False), BeforeValidator(number)], ...],
    BeforeValidator(_listed, json_schema_input_type=float | str | list[float | str]),
]
Deviations = Annotated[
    tuple[Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(number)], ...],
    BeforeValidator(_listed, json_schema_input_type=float | str | list[float | str]),
]
Width = Annotated[int, Field(ge=1, le=1_000_000)]
Widths = Annotated[
    tuple[Width, ...], BeforeValidator(_widths, json_schema_input_type=int | str | list[int | str])
]
SaveFormat = Literal["npz", "npy", "png"]
Labelled = Annotated[
    tuple[Annotated[int, Field(ge=0)], ...],
    AfterValidator(_different),
    BeforeValidator(_listed, json_schema_input_type=int | str | list[int | str]),
]
Devices = Annotated[
    Literal["auto", "cpu", "gpu"] | Annotated[Labelled, Field(min_length=1)],
    Field(union_mode="left_to_right"),
]
Names = Annotated[
    tuple[Text, ...],
    AfterValidator(_different),
    BeforeValidator(_names, json_schema_input_type=str | list[str]),
]
Cluster = Literal["tf-config", "slurm"]
DirectName = Literal["fgsm", "fgm", "margin-fgsm"]
Pictures = Annotated[int, Field(ge=1, le=100)]
Points = Annotated[int, Field(ge=2, le=1001)]
Epsilons = Annotated[
    tuple[Epsilon, ...],
    Field(min_length=1),
    BeforeValidator(_as_list, json_schema_input_type=float | str | list[float | str]),
]
AttackNames = Annotated[
    tuple[AttackName, ...],
    Field(min_length=1),
    BeforeValidator(_as_list, json_schema_input_type=AttackName | list[AttackName]),
]


def flag(name: str) -> str:
    """How a field is called on the command line."""
    return "--" + name.replace("_", "-")


def option(default: Any, help: str, *, group: str, short: str | None = None) -> Any:
    """A field that is also a flag: its help, the group it is listed under, a short name."""
    return Field(default, description=help, json_schema_extra={"group": group, "short": short})
