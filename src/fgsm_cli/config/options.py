"""The options themselves: a command is a class, a flag is a field."""

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..errors import FgsmError
from ..family import Attack, AttackName, Loss, attack_named
from ..validation import (
    Count,
    Decay,
    Epsilon,
    LearningRate,
    Rate,
    Seed,
    Share,
    StepSize,
    explain,
)

DEFAULT_DIR = "runs/mnist-mlp"
MODEL_FILE = "model.keras"
CONFIG_FILE = "config.yaml"
RESULTS_FILE = "results.json"
EXAMPLES_FILE = "adversarial.npz"


def _text(value: Any) -> Any:
    if isinstance(value, str) and (not value or not value.isprintable()):
        raise ValueError("empty, or holds a control character")
    return value


def _as_list(value: Any) -> Any:
    return (value,) if isinstance(value, str | int | float) else value


def _widths(value: Any) -> Any:
    """'none' is no hidden layer; '256,128' are two."""
    if value in ("none", ["none"], ("none",)):
        return ()
    values = _as_list(value)
    if isinstance(values, list | tuple):
        return [
            part for one in values for part in (one.split(",") if isinstance(one, str) else [one])
        ]
    return value


Text = Annotated[str, BeforeValidator(_text)]
Widths = Annotated[
    tuple[Count, ...], BeforeValidator(_widths, json_schema_input_type=int | str | list[int | str])
]
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


def option(default: Any, help: str, *, group: str, short: str | None = None) -> Any:
    """A field that is also a flag: its help, the group it is listed under, a short name."""
    return Field(default, description=help, json_schema_extra={"group": group, "short": short})


class Options(BaseModel):
    """What every command takes, ``fgsm run`` too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: Count | None = option(None, "Use the first N images only.", group="Data", short="-n")
    format: Literal["table", "json", "csv"] = option(
        "table", "How the result is printed.", group="Output", short="-f"
    )
    output: Text | None = option(
        None, "Folder for config.yaml, results.json and what is made.", group="Output", short="-o"
    )


class SectionOptions(Options):
    """What every section of an experiment takes."""

    data: Text = option(
        "mnist", "Image set: mnist (built in) or an .npz file.", group="Data", short="-d"
    )
    batch_size: Count = option(1000, "Images computed at once.", group="Computation", short="-b")
    seed: Seed = option(0, "Seed of everything random.", group="Computation")


class TrainOptions(SectionOptions):
    """fgsm train"""

    output: Text = option(DEFAULT_DIR, "Folder for the model.", group="Output", short="-o")
    retrain: bool = option(
        False, "Train even if the folder holds this very model already.", group="Output"
    )
    hidden: Widths = option(
        (128,), "Width of a hidden layer; repeat for more, none for none.", group="Model"
    )
    dropout: Share = option(0.2, "Share of hidden units dropped in training.", group="Model")
    head: Literal["logits", "softmax"] = option(
        "logits", "What the last layer gives.", group="Model"
    )
    epochs: Count = option(6, "Passes over the training images.", group="Training")
    batch_size: Count = option(256, "Images a training step.", group="Training", short="-b")
    learning_rate: LearningRate = option(0.005, "Adam's rate at the start.", group="Training")
    schedule: Literal["cosine", "constant"] = option(
        "cosine", "How the rate goes: down to 0 along a half cosine, or not.", group="Training"
    )
    validation_split: Share = option(
        0.1, "Share of the training images held out for validation.", group="Training"
    )


class _Judging(SectionOptions):
    """What attack and eval share."""

    model: Text = option(
        f"{DEFAULT_DIR}/{MODEL_FILE}",
        "Keras model to attack; the default one is trained first if absent.",
        group="Model",
    )
    steps: Count | None = option(
        None, "Gradients taken. Default: the attack's own (fgsm 1, bim 10).", group="Attack"
    )
    step_size: StepSize | None = option(
        None, "Length of a step as a share of epsilon. Default: 1/steps.", group="Attack"
    )
    decay: Decay | None = option(
        None, "Weight of the velocity. Default: the attack's own (mifgsm 1).", group="Attack"
    )
    loss: Loss = option(
        "ce",
        "Loss ascended: cross-entropy in a form that never saturates, or literally in float32.",
        group="Attack",
    )
    fail_under: Rate | None = option(
        None, "Exit with 1 if an adversarial accuracy is below this.", group="Output"
    )

    def _attack(self, name: AttackName, epsilon: float) -> Attack:
        return attack_named(
            name,
            epsilon=epsilon,
            steps=self.steps,
            step_size=self.step_size,
            decay=self.decay,
            loss=self.loss,
        )


class AttackOptions(_Judging):
    """fgsm attack"""

    attack: AttackName = option("fgsm", "Attack.", group="Attack", short="-a")
    epsilon: Epsilon = option(
        0.1,
        "How far a pixel may move on the 0..1 pixel scale, such as 0.1 or 8/255.",
        group="Attack",
        short="-e",
    )

    save: Text | None = option(None, "File for the adversarial set (.npz).", group="Output")

    def attacks(self) -> tuple[Attack, ...]:
        """The one attack asked for."""
        return (self._attack(self.attack, self.epsilon),)


class EvalOptions(_Judging):
    """fgsm eval"""

    attack: AttackNames = option(("fgsm",), "Attack; repeat for more.", group="Attack", short="-a")
    epsilon: Epsilons = option(
        (0.1,),
        "How far a pixel may move on the 0..1 pixel scale, such as 0.1 or 8/255; repeat for more.",
        group="Attack",
        short="-e",
    )
    examples: Text | None = option(
        None, "Score this saved adversarial set (.npz) instead of attacking.", group="Data"
    )

    def attacks(self) -> tuple[Attack, ...]:
        """Every attack at every epsilon, the epsilons of an attack side by side."""
        return tuple(self._attack(name, eps) for name in self.attack for eps in self.epsilon)


class RunOptions(Options):
    """fgsm run: what is set here rules every section of the file."""

    data: Text | None = option(None, "Image set, for every section.", group="Data", short="-d")
    batch_size: Count | None = option(
        None, "Images computed at once, in every section.", group="Computation", short="-b"
    )
    seed: Seed | None = option(None, "Seed, for every section.", group="Computation")
    output: Text | None = option(
        None, "Folder for the whole experiment, one folder a section.", group="Output", short="-o"
    )

    def shared(self) -> dict[str, Any]:
        """The values that go to every section, as far as they are set."""
        names = ("data", "limit", "batch_size", "seed")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


SECTIONS: dict[str, type[Options]] = {
    "train": TrainOptions,
    "attack": AttackOptions,
    "eval": EvalOptions,
    "run": RunOptions,
}

AnyOptions = TypeVar("AnyOptions", bound=Options)


def build(
    command: type[AnyOptions],
    values: Mapping[str, Any],
    names: Mapping[str, str] | None = None,
) -> AnyOptions:
    """The options of a command from what its user gave; the rest are defaults.

    names: how the user calls a field, for the error message; by default its own name.
    Raises FgsmError, one sentence, for an unknown key or a value that does not fit.
    """
    for key in values:
        if key not in command.model_fields:
            raise FgsmError(f"unknown option {key!r}{near(key, command.model_fields)}")
    try:
        return command(**values)
    except ValidationError as error:
        schema = command.model_json_schema(mode="serialization")
        raise FgsmError(explain(error, schema, names or {})) from None


def near(word: str, known: Mapping[str, Any]) -> str:
    """What to say after an unknown word: the nearest known one, or all of them."""
    close = difflib.get_close_matches(word, known, n=1)
    return f". Did you mean {close[0]}?" if close else f". Known: {', '.join(known)}"
