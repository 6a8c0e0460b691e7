"""The options of ``fgsm train``."""

from typing import Any, Literal

from ..errors import FgsmError
from ..family import ROWS, Attack, AttackName, Norm, attack_named
from ..validation import (
    Count,
    Epochs,
    Epsilon,
    LearningRate,
    Rate,
    Replays,
    Share,
    StepSize,
    Weight,
)
from .fields import DEFAULT_DIR, Text, Widths, flag, names_function, option
from .options import TrackedOptions

ARCHITECTURES = ("mlp", "softmax", "cnn")
_ADVERSARIAL = "Adversarial training"


class TrainOptions(TrackedOptions):
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
    architecture: Text = option(
        "mlp",
        "Network: mlp, softmax (no hidden layer), cnn (two convolutions, 1024 units), or "
        "package.module:function, which returns one.",
        group="Model",
    )
    hidden: Widths = option(
        (128,), "Widths of the hidden layers of mlp, such as 256,128; none for none.", group="Model"
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
        None, "Train on adversarial examples by this attack.", group=_ADVERSARIAL
    )
    certified: Literal["ibp", "crown-ibp"] | None = option(
        None,
        "Train on the worst logits that bounds allow: a loss that no example exceeds. crown-ibp "
        "starts with tighter bounds, which --warmup fades out.",
        group=_ADVERSARIAL,
    )
    epsilon: Epsilon = option(
        0.1, "Their size on the 0..1 pixel scale.", group=_ADVERSARIAL, short="-e"
    )
    norm: Norm | None = option(
        None, "Norm of the ball. Default: the attack's own.", group=_ADVERSARIAL
    )
    steps: Count | None = option(
        None, "Gradients of an iterated attack. Default: its own.", group=_ADVERSARIAL
    )
    step_size: StepSize | None = option(
        None,
        "Length of a step as a share of epsilon. Default: the attack's own.",
        group=_ADVERSARIAL,
    )
    warmup: Epochs = option(
        0, "Epochs over which epsilon grows from 0 to its size.", group=_ADVERSARIAL
    )
    mix: Rate = option(
        1.0,
        "Share of the adversarial images in the loss: 1 is Madry's objective, 0.5 Goodfellow's.",
        group=_ADVERSARIAL,
    )
    replays: Replays = option(
        1,
        "Free training: each batch so many times, weights and images moved by one gradient.",
        group=_ADVERSARIAL,
    )
    trades_beta: Weight = option(
        0.0, "TRADES: weight of the distance to the clean answer.", group=_ADVERSARIAL
    )
    gradalign: Weight = option(
        0.0,
        "Weight of GradAlign, which keeps one-step training from collapsing.",
        group=_ADVERSARIAL,
    )
    stop_on_collapse: bool = option(
        False,
        "Stop when PGD accuracy collapses, and keep the weights of the epoch best under PGD.",
        group=_ADVERSARIAL,
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

    def certificate(self) -> tuple[str, float] | None:
        """The bounds that are trained on, and their epsilon; None without."""
        return (self.certified, self.epsilon) if self.certified else None

    def check(self) -> None:
        """Raise FgsmError for options that do not go together."""
        super().check()
        if self.architecture not in ARCHITECTURES and not names_function(self.architecture):
            raise FgsmError(
                f"--architecture must be {', '.join(ARCHITECTURES)} or package.module:function. "
                f"Received: {self.architecture!r}"
            )
        if self.warmup > self.epochs:
            raise FgsmError(
                f"--warmup must be at most --epochs, {self.epochs}, or epsilon never comes to its "
                f"size. Received: {self.warmup:g}"
            )
        given = {
            name
            for name, field in type(self).model_fields.items()
            if getattr(self, name) != field.default
        }
        if self.architecture != "mlp" and "hidden" in given:
            raise FgsmError(f"--hidden is of the architecture mlp. Received: {self.architecture}")
        if self.certified:
            self._check_certified(given)
            return
        if self.adversarial is None:
            for name, field in type(self).model_fields.items():
                extra: Any = field.json_schema_extra
                if name in given and extra["group"] == _ADVERSARIAL:
                    raise FgsmError(f"{flag(name)} needs --adversarial ATTACK")
            return
        row = ROWS[self.adversarial]
        if self.trades_beta and (row.start == "image" or row.adapts):
            raise FgsmError(
                "--trades-beta needs an attack with a random start, such as pgd: at the image "
                f"itself its loss has no gradient. Received: {self.adversarial}"
            )
        for holds, what, without in (
            (self.replays > 1, "--replays", ("mix", "trades_beta", "gradalign", "step_size")),
            (self.trades_beta > 0, "--trades-beta", ("mix",)),
            (True, "--adversarial", ("noise",)),
        ):
            for name in without:
                if holds and name in given:
                    raise FgsmError(f"{flag(name)} has no effect with {what}")
        if self.replays > 1 and self.adversarial != "fgsm":
            raise FgsmError(
                f"--replays is free training, by --adversarial fgsm. Received: {self.adversarial}"
            )
        if self.epsilon > 1 and (self.norm or row.norm) == "linf":
            raise FgsmError(
                "--epsilon counts on the 0..1 pixel scale; grey levels are written "
                f"{self.epsilon:g}/255. Received: {self.epsilon:g}"
            )
        if self.steps and self.steps > 1 and row.steps == 1:
            raise FgsmError(f"--steps does not fit {self.adversarial}: one step only")

    def _check_certified(self, given: set[str]) -> None:
        """Refuse what has no part in certified training, which makes no examples."""
        for name, field in type(self).model_fields.items():
            extra: Any = field.json_schema_extra
            concerns = name in ("certified", "epsilon", "warmup", "mix")
            if name in given and extra["group"] == _ADVERSARIAL and not concerns:
                raise FgsmError(f"{flag(name)} has no effect with --certified")
        for name in ("noise", "label_smoothing"):
            if name in given:
                raise FgsmError(f"{flag(name)} has no effect with --certified")
        if self.certified == "crown-ibp" and not self.warmup:
            raise FgsmError("--certified crown-ibp needs --warmup, over which it becomes ibp")

    def what_is_learned(self) -> dict[str, Any]:
        """The options that decide the weights, as plain values."""
        shown = {"output", "format", "report", "retrain", "resume", "devices", "cluster"}
        shown |= {"tensorboard", "mlflow"}
        return {
            name: value for name, value in self.model_dump(mode="json").items() if name not in shown
        }
