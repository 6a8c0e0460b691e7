"""The options themselves: a command is a class, a flag is a field."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from ..errors import FgsmError
from ..family import ROWS, Attack, AttackName, Labels, Loss, Norm, attack_named
from ..validation import (
    Count,
    Decay,
    Ends,
    Epsilon,
    LearningRate,
    Rate,
    Replays,
    Seed,
    Share,
    Skipped,
    StepSize,
    Target,
    Weight,
    explain,
    number,
)

if TYPE_CHECKING:
    from ..data.reading import Reading
    from ..ranges import PixelRange

DEFAULT_DIR = "runs/mnist-mlp"
MODEL_FILE = "model.keras"
DEFAULT_MODEL = f"{DEFAULT_DIR}/{MODEL_FILE}"
CONFIG_FILE = "config.yaml"
RESULTS_FILE = "results.json"
EXAMPLES_FILE = "adversarial.npz"
CURVE_FILE = "curve.npz"
CHECKPOINT_FILE = "checkpoint.npz"
OUTCOMES_FILE = "outcomes.npz"


OutputKind = Literal["logits", "softmax", "log-softmax", "probabilities", "sigmoid", "logit"]


def names_function(model: str) -> bool:
    """Whether a model is named as ``package.module:function``, and not as a file."""
    return bool(re.fullmatch(r"[^\W\d][\w.]*:[^\W\d]\w*", model)) and not Path(model).exists()


def _text(value: Any) -> Any:
    if isinstance(value, str) and (not value or re.search(r"[\x00-\x1f\x7f]", value)):
        raise ValueError("empty, or holds a control character")
    return value


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
Names = Annotated[
    tuple[Text, ...],
    AfterValidator(_different),
    BeforeValidator(_names, json_schema_input_type=str | list[str]),
]
DirectName = Literal["fgsm", "fgm", "margin-fgsm"]
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


def option(default: Any, help: str, *, group: str, short: str | None = None) -> Any:
    """A field that is also a flag: its help, the group it is listed under, a short name."""
    return Field(default, description=help, json_schema_extra={"group": group, "short": short})


class Options(BaseModel):
    """What every command takes, ``fgsm run`` too."""

    # A key that Python has a word for, such as import, is an attribute with a line below it.
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=lambda name: name.rstrip("_")
    )

    limit: Count | None = option(
        None, "Use the first N test images only.", group="Data", short="-n"
    )
    format: Literal["table", "json", "csv"] = option(
        "table", "How the result is printed.", group="Output", short="-f"
    )
    output: Text | None = option(
        None, "Folder for config.yaml, results.json and what is made.", group="Output", short="-o"
    )


class SectionOptions(Options):
    """What every section of an experiment takes."""

    data: Text = option(
        "mnist",
        "Image set: mnist (built in), fashion-mnist, cifar10, cifar100; a file (.npz, .npy, IDX, "
        "CSV, TFRecord, a picture); or a folder of such.",
        group="Data",
        short="-d",
    )
    data_range: Ends | None = option(
        None,
        "The stored values that stand for black and white, such as 0 255 or -1 1. Default: what "
        "the image set's type and values say.",
        group="Data",
    )
    offset: Skipped = option(0, "Leave out the first N images.", group="Data")
    balanced: bool = option(
        False,
        "Use equally many images of each class; --limit is shared among them.",
        group="Data",
    )
    only: Labelled = option(
        (),
        "Keep the images of these labels only, such as 3,7; they become 0, 1, … in this order.",
        group="Data",
    )
    x_key: Text | None = option(
        None, "The images' name in the set: an array's or a feature's.", group="Data"
    )
    y_key: Text | None = option(
        None,
        "The labels' name in the set: an array's, a column's, a feature's; or their file.",
        group="Data",
    )
    transpose: bool = option(
        False, "Exchange height and width of the images, as EMNIST needs it.", group="Data"
    )
    classes: Names = option(
        (), "Names of the labels 0, 1, ..., such as cat,dog; or repeat.", group="Data"
    )
    label: Skipped | None = option(
        None, "The label of images that have none, such as a single picture.", group="Data"
    )
    batch_size: Count = option(1000, "Images computed at once.", group="Computation", short="-b")
    seed: Seed = option(
        0, "Seed of everything random: weights, starts, random targets.", group="Computation"
    )

    @property
    def need_of_labels(self) -> str | None:
        """What of these options cannot do without labels; None if nothing."""
        return None

    def reading(self) -> "Reading":
        """What to read of the image set, and what its files do not say of themselves."""
        from ..data.reading import Reading  # here, as --help needs no NumPy
        from ..ranges import PixelRange

        ends = self.data_range
        return Reading(
            offset=self.offset,
            balanced=self.balanced,
            x_key=self.x_key,
            y_key=self.y_key,
            transpose=self.transpose,
            data_range=PixelRange((ends[0],), (ends[1],)) if ends else None,
            classes=self.classes,
            label=self.label,
            only=self.only,
        )


class TrainOptions(SectionOptions):
    """fgsm train"""

    limit: Count | None = option(
        None,
        "Use the first N training and the first N test images only.",
        group="Data",
        short="-n",
    )
    output: Text = option(DEFAULT_DIR, "Folder for the model.", group="Output", short="-o")
    retrain: bool = option(
        False, "Train even if the folder holds this very model already.", group="Output"
    )
    hidden: Widths = option(
        (128,), "Widths of the hidden layers, such as 256,128; none for none.", group="Model"
    )
    dropout: Share = option(0.2, "Share of hidden units dropped in training.", group="Model")
    head: Literal["logits", "softmax"] = option(
        "logits", "What the last layer gives.", group="Model"
    )
    epochs: Count = option(6, "Passes over the training images.", group="Training")
    batch_size: Count = option(256, "Images a training step.", group="Training", short="-b")
    learning_rate: LearningRate = option(0.005, "Adam's rate at the start.", group="Training")
    schedule: Literal["cosine", "cyclic", "constant"] = option(
        "cosine",
        "How the rate goes: down to 0 along a half cosine, up for two fifths and down, or not.",
        group="Training",
    )
    label_smoothing: Share = option(
        0.0, "Share of the label that the other classes get.", group="Training"
    )
    noise: Rate = option(
        0.0, "Uniform noise of at most this on each pixel of the training images.", group="Training"
    )
    adversarial: AttackName | None = option(
        None, "Train on adversarial examples by this attack.", group="Adversarial training"
    )
    epsilon: Epsilon = option(
        0.1, "Their size on the 0..1 pixel scale.", group="Adversarial training", short="-e"
    )
    norm: Norm | None = option(
        None, "Norm of the ball. Default: the attack's own.", group="Adversarial training"
    )
    steps: Count | None = option(
        None, "Gradients of an iterated attack. Default: its own.", group="Adversarial training"
    )
    step_size: StepSize | None = option(
        None,
        "Length of a step as a share of epsilon. Default: the attack's own.",
        group="Adversarial training",
    )
    mix: Rate = option(
        1.0,
        "Share of the adversarial images in the loss: 1 is Madry's objective, 0.5 Goodfellow's.",
        group="Adversarial training",
    )
    replays: Replays = option(
        1,
        "Free training: each batch so many times, weights and images moved by one gradient.",
        group="Adversarial training",
    )
    trades_beta: Weight = option(
        0.0, "TRADES: weight of the distance to the clean answer.", group="Adversarial training"
    )
    gradalign: Weight = option(
        0.0,
        "Weight of GradAlign, which keeps one-step training from collapsing.",
        group="Adversarial training",
    )
    stop_on_collapse: bool = option(
        False,
        "Stop when PGD accuracy collapses, and keep the weights of the epoch best under PGD.",
        group="Adversarial training",
    )
    resume: bool = option(
        False, "Go on with a training of these options that was cut short.", group="Training"
    )
    validation_split: Share = option(
        0.1, "Share of the training images held out for validation.", group="Training"
    )

    def defence(self) -> Attack | None:
        """The attack that is trained against; None for plain training."""
        if self.adversarial is None:
            return None
        row = ROWS[self.adversarial]
        return attack_named(
            self.adversarial,
            epsilon=self.epsilon,
            norm=self.norm,
            steps=self.steps if row.steps > 1 else None,
            step_size=self.step_size,
        )

    def check(self) -> None:
        """Raise FgsmError for options that do not go together."""
        if self.adversarial is None:
            for name in (
                "epsilon",
                "norm",
                "steps",
                "step_size",
                "mix",
                "replays",
                "trades_beta",
                "gradalign",
            ):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise FgsmError(f"--{name.replace('_', '-')} needs --adversarial ATTACK")
            return
        row = ROWS[self.adversarial]
        if self.trades_beta and (row.start == "image" or row.adapts):
            raise FgsmError(
                "--trades-beta needs an attack with a random start, such as pgd: at the image "
                f"itself its loss has no gradient. Received: {self.adversarial}"
            )
        if self.replays > 1 and (self.adversarial != "fgsm" or self.trades_beta or self.gradalign):
            raise FgsmError("--replays is free training: it goes with --adversarial fgsm alone")
        if self.steps and self.steps > 1 and row.steps == 1:
            raise FgsmError(f"--steps does not fit {self.adversarial}: one step only")

    def what_is_learned(self) -> dict[str, Any]:
        """The options that decide the weights, as plain values."""
        shown = {"output", "format", "retrain", "resume"}
        return {
            name: value for name, value in self.model_dump(mode="json").items() if name not in shown
        }


class ModelOptions(SectionOptions):
    """What every section of an experiment takes that tries a model on images."""

    split: Literal["train", "test"] = option(
        "test", "Which half of the image set is used, if it has two.", group="Data"
    )
    model: Text = option(
        DEFAULT_MODEL,
        "Keras model to judge: a .keras or .h5 file, a SavedModel folder, or "
        "package.module:function; the default one is trained first if absent.",
        group="Model",
    )
    input_range: Ends | None = option(
        None,
        "The values that the model takes for black and white, such as 0 255 or -1 1. "
        "Default: what its first layers say, else 0 1.",
        group="Model",
    )
    mean: Numbers = option(
        (),
        "Instead of --input-range: the mean that was subtracted from pixels in 0..1, for all "
        "channels or one a channel, such as 0.485,0.456,0.406.",
        group="Model",
    )
    std: Deviations = option(
        (), "With --mean: the standard deviation they were divided by.", group="Model"
    )
    output_kind: OutputKind | None = option(
        None,
        "What the model gives: sigmoid and logit are of one score for two labels. "
        "Default: what it computes tells.",
        group="Model",
    )
    output_name: Text | None = option(None, "Which of several outputs to judge.", group="Model")
    input_name: Text | None = option(
        None, "Which of several inputs to attack; the others are held at zero.", group="Model"
    )
    endpoint: Text | None = option(
        None,
        "Which endpoint of a SavedModel to call. Default: serve, or else serving_default.",
        group="Model",
    )
    allow_code: bool = option(
        False, "Let code inside the model's file run, with your rights.", group="Model"
    )
    import_: Texts = option(
        (),
        "Module with the model's own layers and functions; repeat for more.",
        group="Model",
    )

    def check_range(self) -> None:
        """Raise FgsmError unless at most one input range is given, and whole."""
        if self.input_range is not None and (self.mean or self.std):
            raise FgsmError("--input-range and --mean with --std say the same; expected only one")
        if bool(self.mean) != bool(self.std):
            given, absent = ("--mean", "--std") if self.mean else ("--std", "--mean")
            raise FgsmError(f"{given} needs {absent}; expected both")
        sizes = {len(self.mean), len(self.std)} - {1}
        if len(sizes) > 1:
            raise FgsmError(
                "--mean and --std must be of as many channels. "
                f"Received: {len(self.mean)} and {len(self.std)}"
            )

    def given_range(self) -> "PixelRange | None":
        """The range of the model's input as far as the options say it."""
        from ..ranges import PixelRange  # here, as --help needs no NumPy

        if self.input_range:
            low, high = self.input_range
            return PixelRange((low,), (high,))
        if not self.mean:
            return None
        channels = max(len(self.mean), len(self.std))
        mean, std = (one * channels if len(one) == 1 else one for one in (self.mean, self.std))
        return PixelRange.standardised(mean, std)

    def reading(self) -> "Reading":
        """As for any section; pixels of the model's own range are known as such."""
        return replace(super().reading(), input_range=self.given_range())


class _Judging(ModelOptions):
    """What attack and eval share."""

    epsilon_unit: Literal["range", "pixel"] = option(
        "range", "What epsilon counts: the 0..1 range, or grey levels 0..255.", group="Attack"
    )
    norm: Norm | None = option(
        None, "Norm of the ball. Default: the attack's own (fgm l2, others linf).", group="Attack"
    )
    steps: Count | None = option(
        None, "Gradients of an iterated attack. Default: its own (bim 10, pgd 40).", group="Attack"
    )
    step_size: StepSize | None = option(
        None,
        "Length of a step as a share of epsilon. Default: the attack's own (bim 1/steps, "
        "pgd 2.5/steps, rfgsm 1.25, apgd 2 at first).",
        group="Attack",
    )
    decay: Decay | None = option(
        None, "Weight of the velocity. Default: the attack's own (mifgsm 1).", group="Attack"
    )
    restarts: Count = option(
        1, "Tries of an attack with a random start; the best one counts.", group="Attack"
    )
    loss: Loss | None = option(
        None,
        "Loss ascended: ce never saturates, ce-float32 is the literal form. "
        "Default: the attack's own.",
        group="Attack",
    )
    target: Target | None = option(
        None,
        "Class aimed at: a label, next, least-likely or random. Default: away from the label.",
        group="Attack",
    )
    labels: Labels = option(
        "true",
        "Whose loss is raised: the true labels', or those the model predicts.",
        group="Attack",
    )
    seeds: Count = option(
        1,
        "Repeat with N seeds, from --seed on, and give the mean accuracy with its interval.",
        group="Computation",
    )
    fail_under: Rate | None = option(
        None, "Exit with 1 if an adversarial accuracy is below this.", group="Output"
    )

    @property
    def need_of_labels(self) -> str | None:
        """What of these options cannot do without labels; None if nothing."""
        if self.fail_under is not None:
            return "--fail-under"
        return "--seeds" if self.seeds > 1 else None

    def _attack(self, name: AttackName, epsilon: float) -> Attack:
        """The attack, with those of the options that concern it."""
        row = ROWS[name]
        iterated = row.steps > 1
        return attack_named(
            name,
            epsilon=epsilon / 255 if self.epsilon_unit == "pixel" else epsilon,
            norm=self.norm,
            steps=self.steps if iterated else None,
            step_size=self.step_size,
            decay=self.decay if iterated else None,
            loss=self.loss,
            restarts=self.restarts if row.start != "image" else 1,
            target=self.target,
            labels=self.labels,
        )

    def _check_concern(self, names: Sequence[AttackName]) -> None:
        """Refuse an option that concerns none of the attacks."""
        rows = [ROWS[name] for name in names]
        for given, concerns, what in (
            ((self.steps or 1) > 1, any(row.steps > 1 for row in rows), "--steps: one step only"),
            (
                self.restarts > 1,
                any(row.start != "image" for row in rows),
                "--restarts: no random start",
            ),
            (
                self.seeds > 1,
                self.target == "random" or any(row.start != "image" for row in rows),
                "--seeds: nothing random",
            ),
        ):
            if given and not concerns:
                option_name, _, reason = what.partition(": ")
                raise FgsmError(
                    f"{option_name} does not fit {', '.join(names)}: {reason}. "
                    "Expected an attack such as pgd"
                )


class AttackOptions(_Judging):
    """fgsm attack"""

    attack: AttackName = option("fgsm", "Attack.", group="Attack", short="-a")
    epsilon: Epsilon = option(
        0.1,
        "How far a pixel (an image, in l2 or l1) may move on the 0..1 pixel scale, such as 0.1 "
        "or 8/255.",
        group="Attack",
        short="-e",
    )
    save: Text | None = option(
        None, "File (.npz) or folder for the adversarial set.", group="Output"
    )
    save_format: SaveFormat | None = option(
        None,
        "What is saved: npz (float32, one file), npy (float32, shards in a folder) or png "
        "(8 bits, a folder). Default: npz.",
        group="Output",
    )

    @property
    def target_set(self) -> tuple[str, SaveFormat] | None:
        """Where the adversarial set goes, and in which form; None if it is not kept."""
        form = self.save_format or "npz"
        if self.save:
            return self.save, form
        name = EXAMPLES_FILE if form == "npz" else EXAMPLES_FILE.removesuffix(".npz")
        return (f"{self.output}/{name}", form) if self.output else None

    def contests(self) -> tuple[tuple[Attack, ...], ...]:
        """The one attack asked for."""
        self._check_concern([self.attack])
        if self.save and (self.save_format or "npz") == "npz" and not self.save.endswith(".npz"):
            raise FgsmError(
                "--save must name an .npz file, or a folder along with --save-format npy or png. "
                f"Received: {self.save!r}"
            )
        if self.save_format and not self.target_set:
            raise FgsmError(f"--save-format {self.save_format} needs --save or --output")
        return ((self._attack(self.attack, self.epsilon),),)


class EvalOptions(_Judging):
    """fgsm eval"""

    attack: AttackNames = option(("fgsm",), "Attack; repeat for more.", group="Attack", short="-a")
    epsilon: Epsilons = option(
        (0.1,),
        "How far a pixel (an image, in l2 or l1) may move on the 0..1 pixel scale, such as 0.1 "
        "or 8/255; repeat for more.",
        group="Attack",
        short="-e",
    )
    worst: bool = option(
        False,
        "Judge by the worst of the attacks, image by image; what one has turned, the next one "
        "does not attack again.",
        group="Attack",
    )
    examples: Text | None = option(
        None,
        "Score this saved adversarial set (file or folder) instead of attacking.",
        group="Data",
    )

    def contests(self) -> tuple[tuple[Attack, ...], ...]:
        """Every attack at every epsilon; or, at every epsilon, the worst of the attacks."""
        self._check_concern(self.attack)
        if self.examples:
            ignored = [
                name
                for name, field in type(self).model_fields.items()
                if field.json_schema_extra["group"] == "Attack"  # type: ignore[index]
                and getattr(self, name) != field.default
            ]
            if ignored:
                raise FgsmError(
                    f"--examples scores a set that is made already, where {', '.join(ignored)} "
                    "would have no effect"
                )
        if self.worst:
            return tuple(
                tuple(self._attack(name, epsilon) for name in self.attack)
                for epsilon in self.epsilon
            )
        return tuple(
            (self._attack(name, epsilon),) for name in self.attack for epsilon in self.epsilon
        )


class CurveOptions(ModelOptions):
    """fgsm curve"""

    attack: DirectName = option(
        "fgsm", "Attack of one step from the image.", group="Attack", short="-a"
    )
    epsilon_max: Epsilon = option(
        0.3, "Where the curve ends, on the 0..1 pixel scale.", group="Attack", short="-e"
    )
    points: Points = option(31, "Epsilons of the grid, 0 and the end among them.", group="Attack")
    norm: Norm | None = option(
        None, "Norm of the ball. Default: the attack's own (fgm l2, others linf).", group="Attack"
    )
    loss: Loss | None = option(None, "Loss ascended. Default: the attack's own.", group="Attack")

    def direction(self) -> Attack:
        """The attack whose direction is followed, at the curve's end."""
        return attack_named(self.attack, epsilon=self.epsilon_max, norm=self.norm, loss=self.loss)

    def grid(self) -> tuple[float, ...]:
        """The epsilons, evenly from 0 to the end."""
        return tuple(
            round(self.epsilon_max * step / (self.points - 1), 12) for step in range(self.points)
        )


class AuditOptions(ModelOptions):
    """fgsm audit"""

    limit: Count | None = option(
        1000, "Use the first N test images only.", group="Data", short="-n"
    )
    epsilon: Epsilon = option(
        0.1, "Size of the attacks, on the 0..1 pixel scale.", group="Attack", short="-e"
    )

    @property
    def need_of_labels(self) -> str | None:
        """An audit as a whole."""
        return "an audit"


class RunOptions(Options):
    """fgsm run: what is set here rules every section of the file."""

    limit: Count | None = option(
        None, "As --limit of every section; it also limits training.", group="Data", short="-n"
    )
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
    "curve": CurveOptions,
    "audit": AuditOptions,
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
        if key not in keys(command):
            raise FgsmError(f"unknown option {key!r}{near(key, keys(command))}")
    try:
        options = command(**values)
    except ValidationError as error:
        schema = command.model_json_schema(mode="serialization")
        raise FgsmError(explain(error, schema, names or {})) from None
    if isinstance(options, TrainOptions):
        options.check()
    if isinstance(options, AttackOptions | EvalOptions):
        options.contests()  # which refuses options that do not go together
    if isinstance(options, ModelOptions):
        options.check_range()
    return options


def keys(command: type[Options]) -> dict[str, FieldInfo]:
    """A command's options by the names that files and flags give them."""
    return {field.alias or name: field for name, field in command.model_fields.items()}


def near(word: str, known: Mapping[str, Any]) -> str:
    """What to say after an unknown word: the nearest known one, or all of them."""
    begins = [name for name in known if word and name.startswith(word)]
    close = sorted(begins, key=len) or difflib.get_close_matches(word, known, n=1)
    return f". Did you mean {close[0]}?" if close else f". Known: {', '.join(known)}"
