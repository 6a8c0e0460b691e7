"""The options of the commands that try a model on images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ..errors import FgsmError
from ..family import ROWS, Attack, AttackName, Labels, Loss, Norm, attack_named
from ..validation import Count, Decay, Epsilon, Rate, StepSize, Target
from .fields import (
    EXAMPLES_FILE,
    SHARDS_FOLDER,
    AttackNames,
    DirectName,
    Epsilons,
    Pictures,
    Points,
    SaveFormat,
    Text,
    Texts,
    option,
)
from .model import LoadingOptions, ModelOptions
from .options import SectionOptions, TrackedOptions
from .showing import check_plot

_EPSILON = (
    "How far a pixel (an image, in l2 or l1) may move on the 0..1 pixel scale, such as 0.1 or 8/255"
)


class _Attacking(SectionOptions):
    """The numbers of an attack, as far as they are not its own."""

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

    def _attack(
        self,
        name: AttackName,
        epsilon: float,
        target: Target | None = None,
        labels: Labels = "true",
    ) -> Attack:
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
            target=target,
            labels=labels,
        )


class _OneAttack(_Attacking):
    """What attack and transfer share."""

    attack: AttackName = option("fgsm", "Attack.", group="Attack", short="-a")
    epsilon: Epsilon = option(0.1, f"{_EPSILON}.", group="Attack", short="-e")


class _Judging(ModelOptions, _Attacking, TrackedOptions):
    """What attack and eval share."""

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
    show: bool = option(
        False,
        "Show the first images in the terminal: original, perturbation, adversarial.",
        group="Output",
    )
    images: Text | None = option(
        None, "File for the first images as a grid (.svg, .pdf or .png).", group="Output"
    )
    pictures: Pictures = option(
        5, "How many images --show and --images take, from the first on.", group="Output"
    )

    @property
    def need_of_labels(self) -> str | None:
        """What of these options cannot do without labels; None if nothing."""
        if self.fail_under is not None:
            return "--fail-under"
        return "--seeds" if self.seeds > 1 else None

    @property
    def shown(self) -> int:
        """How many images are shown somewhere."""
        return self.pictures if self.show or self.images or self.tensorboard else 0

    def check(self) -> None:
        """Raise FgsmError for images that cannot be shown where they are wanted."""
        super().check()
        check_plot("--images", self.images)
        if self.show and self.format != "table":
            raise FgsmError(f"--show needs --format table. Received: {self.format}")

    def _asked(self, name: AttackName, epsilon: float) -> Attack:
        """The attack, its target and labels as asked for."""
        return self._attack(name, epsilon, self.target, self.labels)

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


class AttackOptions(_Judging, _OneAttack):
    """fgsm attack"""

    save: Text | None = option(
        None, "File (.npz) or folder for the adversarial set.", group="Output"
    )
    save_format: SaveFormat | None = option(
        None,
        "What is saved: npz (float32, one file), npy (float32, shards in a folder) or png "
        "(8 bits, a folder). Default: npz.",
        group="Output",
    )

    resume: bool = option(
        False,
        "Keep finished batches beside what is saved, and go on from those of an attack of these "
        "options that was cut short.",
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

    @property
    def shards(self) -> Path | None:
        """Where finished batches are kept; None if they are not."""
        if not self.resume:
            return None
        return Path(
            f"{self.save}.{SHARDS_FOLDER}" if self.save else f"{self.output}/{SHARDS_FOLDER}"
        )

    def what_is_found(self) -> dict[str, Any]:
        """The options that decide what is found of each image, as plain values."""
        shown = {"output", "save", "save_format", "format", "fail_under", "resume"}
        shown |= {"report", "devices", "cluster"}
        shown |= {"show", "images", "pictures", "tensorboard", "mlflow"}
        return {
            name: value for name, value in self.model_dump(mode="json").items() if name not in shown
        }

    def contests(self) -> tuple[tuple[Attack, ...], ...]:
        """The one attack asked for."""
        return ((self._asked(self.attack, self.epsilon),),)

    def check(self) -> None:
        """Raise FgsmError for options that do not go together."""
        super().check()
        self.contests()
        self._check_concern([self.attack])
        if self.save and (self.save_format or "npz") == "npz" and not self.save.endswith(".npz"):
            raise FgsmError(
                "--save must name an .npz file, or a folder along with --save-format npy or png. "
                f"Received: {self.save!r}"
            )
        if self.save_format and not self.target_set:
            raise FgsmError(f"--save-format {self.save_format} needs --save or --output")
        if self.resume and not self.target_set:
            raise FgsmError("--resume needs --save or --output")


class EvalOptions(_Judging):
    """fgsm eval"""

    attack: AttackNames = option(("fgsm",), "Attack; repeat for more.", group="Attack", short="-a")
    epsilon: Epsilons = option((0.1,), f"{_EPSILON}; repeat for more.", group="Attack", short="-e")
    worst: bool = option(
        False,
        "Judge by the worst of the attacks, image by image; what one has turned, the next one "
        "does not attack again.",
        group="Attack",
    )
    certify: bool = option(
        False,
        "Also tell what CROWN proves at each epsilon, whatever the attack.",
        group="Certificate",
    )
    examples: Text | None = option(
        None,
        "Score this saved adversarial set (file or folder) instead of attacking.",
        group="Data",
    )

    @property
    def need_of_labels(self) -> str | None:
        """As of any judgement; a certificate needs them, too."""
        return "--certify" if self.certify else super().need_of_labels

    def contests(self) -> tuple[tuple[Attack, ...], ...]:
        """Every attack at every epsilon; or, at every epsilon, the worst of the attacks."""
        if self.worst:
            return tuple(
                tuple(self._asked(name, epsilon) for name in self.attack)
                for epsilon in self.epsilon
            )
        return tuple(
            (self._asked(name, epsilon),) for name in self.attack for epsilon in self.epsilon
        )

    def check(self) -> None:
        """Raise FgsmError for options that do not go together."""
        super().check()
        self.contests()
        self._check_concern(self.attack)
        if self.examples and self.certify:
            raise FgsmError("--certify proves of clean images; --examples has no effect on it")
        if self.examples:
            ignored = [
                name
                for name, field in type(self).model_fields.items()
                if (name in ("offset", "balanced") or field.json_schema_extra["group"] == "Attack")  # type: ignore[index]
                and getattr(self, name) != field.default
            ]
            if ignored:
                raise FgsmError(
                    f"--examples scores a set that is made already, where {', '.join(ignored)} "
                    "would have no effect"
                )


class CurveOptions(ModelOptions, TrackedOptions):
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
    plot: Text | None = option(None, "File for the curve (.svg, .pdf or .png).", group="Output")
    certify: bool = option(
        False,
        "Also tell what CROWN proves at each epsilon, whatever the attack.",
        group="Certificate",
    )

    @property
    def need_of_labels(self) -> str | None:
        """A plot of accuracies and a certificate need them, to know what is right."""
        return "--certify" if self.certify else "--plot" if self.plot else None

    def check(self) -> None:
        """Raise FgsmError for a plot that cannot be written."""
        super().check()
        check_plot("--plot", self.plot)

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


class TransferOptions(LoadingOptions, _OneAttack):
    """fgsm transfer"""

    models: Texts = option(
        (),
        "Models to craft on and to judge, two or more: files, folders or package.module:function.",
        group="Model",
    )
    ensemble: bool = option(
        False,
        "Also craft on all of the models together, by the mean of their logits.",
        group="Attack",
    )
    plot: Text | None = option(None, "File for a heat map (.svg, .pdf or .png).", group="Output")

    @property
    def need_of_labels(self) -> str | None:
        """A transfer as a whole."""
        return "a transfer"

    def crafted(self) -> Attack:
        """The attack that is made on each model."""
        return self._attack(self.attack, self.epsilon)

    def check(self) -> None:
        """Raise FgsmError for fewer than two models, or one twice."""
        super().check()
        self.crafted()
        if len(self.models) < 2:
            raise FgsmError(f"transfer needs two models or more. Received: {len(self.models)}")
        if len(set(self.models)) < len(self.models):
            raise FgsmError(f"transfer needs different models. Received: {', '.join(self.models)}")
        check_plot("--plot", self.plot)
