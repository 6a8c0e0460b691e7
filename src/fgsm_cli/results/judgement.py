"""A model under attack: what ``fgsm attack`` and ``fgsm eval`` find."""

from dataclasses import asdict, dataclass, field
from math import sqrt
from statistics import stdev
from typing import Any

from ..family import Attack
from .counts import ModelSource, Source, rate, versions, wilson_interval
from .gallery import Gallery
from .portrait import Portrait


@dataclass(frozen=True)
class GradientHealth:
    """How many images have a gradient that misleads: by its zeros, or by being no number.

    zero: in every pixel, so that no gradient attack moves the image. partly_zero: in some.
    not_finite: NaN or infinite somewhere. unchanged: images that the attack gave back as they were.
    """

    zero: int
    partly_zero: int
    not_finite: int
    unchanged: int


@dataclass(frozen=True)
class Worst:
    """The per-sample worst of several attacks: right only what withstands them all."""

    attacks: tuple[Attack, ...]
    name: str = "worst"

    @property
    def epsilon(self) -> float:
        """The epsilon that all of them share."""
        return self.attacks[0].epsilon

    @property
    def title(self) -> str:
        """What the report calls it."""
        return "Worst of " + ", ".join(
            one.name if one.loss == one.row.loss else f"{one.name} ({one.loss})"
            for one in self.attacks
        )

    def as_dict(self) -> dict[str, Any]:
        """As the JSON document shows it: the name, what is shared, and each attack."""
        first = self.attacks[0]
        return {
            "name": self.name,
            "norm": first.norm,
            "epsilon": first.epsilon,
            "steps": None,
            "step_size": None,
            "attacks": [asdict(attack) for attack in self.attacks],
        }


@dataclass(frozen=True)
class OverSeeds:
    """The right answers that one attack left under each of several seeds, out of n images."""

    seeds: tuple[int, ...]
    adversarial_correct: tuple[int, ...]
    n: int

    @property
    def mean(self) -> float:
        """The mean adversarial accuracy over the seeds."""
        return sum(self.adversarial_correct) / len(self.seeds) / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of that mean by Student's t, for the seeds alone."""
        from scipy.stats import t  # a second to import, which one seed need not pay

        accuracies = [correct / self.n for correct in self.adversarial_correct]
        half = float(t.ppf(0.975, len(self.seeds) - 1)) * stdev(accuracies) / sqrt(len(self.seeds))
        return max(0.0, self.mean - half), min(1.0, self.mean + half)

    def as_dict(self) -> dict[str, Any]:
        """As the JSON document shows it."""
        return {
            "seeds": list(self.seeds),
            "adversarial_correct": list(self.adversarial_correct),
            "mean_adversarial_accuracy": self.mean,
            "mean_interval": self.interval,
        }


@dataclass(frozen=True)
class AttackResult:
    """The right answers that one attack left, out of n images.

    clean_correct: images classified right before the attack; None where no clean images or no
        labels were at hand. adversarial_correct: right after it. flipped: right before and wrong
        after. changed: given another class than before, right or wrong.
    target_hits: classified as the target after it, of those whose target is not their label;
        target_is_label counts these, which are left alone. None if there was no target.
    gradients: their health; None where none was taken.
    linf_max, distance_max: the farthest a pixel and, in the attack's norm, an image moved,
        measured in float64 on the 0..1 pixel scale.
    error_confidence: the mean probability that the model gives its wrong answers under attack.
    certified_correct: images proved to withstand whatever attack; None where nobody asked.
    over_seeds: where the attack was repeated with other seeds; the counts are the first one's.
    """

    attack: Attack | Worst | None
    n: int
    clean_correct: int | None
    adversarial_correct: int | None
    flipped: int | None
    changed: int | None
    target_hits: int | None
    target_is_label: int | None
    gradients: GradientHealth | None
    linf_max: float | None
    distance_max: float | None
    error_confidence: float | None = None
    warnings: tuple[str, ...] = ()
    over_seeds: OverSeeds | None = None
    certified_correct: int | None = None

    @property
    def adversarial_accuracy(self) -> float | None:
        """Share of all images classified right after the attack."""
        return rate(self.adversarial_correct, self.n)

    @property
    def success_rate(self) -> float | None:
        """Share of the images right before the attack that are wrong after it."""
        return rate(self.flipped, self.clean_correct)

    @property
    def target_rate(self) -> float | None:
        """Share classified as the target, of the images whose target is not their label."""
        if self.target_is_label is None:
            return None
        return rate(self.target_hits, self.n - self.target_is_label)

    def measured(self) -> dict[str, Any]:
        """What was found of the images themselves, as the JSON document shows it."""
        return {
            "adversarial_accuracy": self.adversarial_accuracy,
            "adversarial_correct": self.adversarial_correct,
            "success_rate": self.success_rate,
            "linf_max": self.linf_max,
            "distance_max": self.distance_max,
        }

    def as_dict(self) -> dict[str, Any]:
        """The result as the JSON document shows it."""
        health = self.gradients
        return {
            "attack": _attack_dict(self.attack),
            "n": self.n,
            "clean_accuracy": rate(self.clean_correct, self.n),
            "clean_interval": wilson_interval(self.clean_correct, self.n),
            "adversarial_accuracy": self.adversarial_accuracy,
            "adversarial_interval": wilson_interval(self.adversarial_correct, self.n),
            "clean_correct": self.clean_correct,
            "adversarial_correct": self.adversarial_correct,
            "flipped": self.flipped,
            "success_rate": self.success_rate,
            "success_interval": wilson_interval(self.flipped, self.clean_correct),
            "changed": self.changed,
            "changed_rate": rate(self.changed, self.n),
            "error_confidence": self.error_confidence,
            "target_hits": self.target_hits,
            "target_is_label": self.target_is_label,
            "target_rate": self.target_rate,
            "zero_gradients": health and health.zero,
            "partly_zero_gradients": health and health.partly_zero,
            "not_finite_gradients": health and health.not_finite,
            "unchanged": health and health.unchanged,
            "linf_max": self.linf_max,
            "distance_max": self.distance_max,
            "over_seeds": self.over_seeds and self.over_seeds.as_dict(),
            "certified_correct": self.certified_correct,
            "certified_accuracy": rate(self.certified_correct, self.n),
            "warnings": list(self.warnings),
        }


def _attack_dict(attack: Attack | Worst | None) -> dict[str, Any] | None:
    if attack is None:
        return None
    return attack.as_dict() if isinstance(attack, Worst) else asdict(attack)


@dataclass(frozen=True)
class Judgement:
    """A model under one attack or several: what ``fgsm attack`` and ``fgsm eval`` find.

    saved: the adversarial set as it was read back from 8-bit files; None where none was written.
    gallery: images to be shown along with the numbers.
    portrait: what a report shows beyond this; None where none was asked for. pictured: of a saved
        set, which has no portrait, the first images before and after.
    """

    command: str
    model: ModelSource
    data: Source
    n: int
    clean_correct: int | None
    results: tuple[AttackResult, ...]
    warnings: tuple[str, ...]
    fail_under: float | None
    files: tuple[str, ...] = ()
    saved: AttackResult | None = None
    gallery: Gallery | None = field(default=None, compare=False, repr=False)
    portrait: Portrait | None = field(default=None, compare=False, repr=False)
    pictured: Gallery | None = field(default=None, compare=False, repr=False)

    @property
    def passed(self) -> bool | None:
        """Whether every adversarial accuracy reaches ``fail_under``; None if none was set."""
        if self.fail_under is None:
            return None
        reached = [result.adversarial_accuracy for result in self.results]
        return all(one is not None and one >= self.fail_under for one in reached)

    def as_dict(self) -> dict[str, Any]:
        """The JSON document; ``attack`` has its one result at the top, ``eval`` a list."""
        head = {
            "command": self.command,
            "n": self.n,
            "clean_accuracy": rate(self.clean_correct, self.n),
            "clean_correct": self.clean_correct,
        }
        found = (
            self.results[0].as_dict()
            if self.command == "attack"
            else {"results": [result.as_dict() for result in self.results]}
        )
        return {
            **head,
            **found,
            "model": asdict(self.model),
            "data": asdict(self.data),
            "fail_under": self.fail_under,
            "passed": self.passed,
            "saved": self.saved and self.saved.measured(),
            "files": list(self.files),
            "versions": versions(),
            "warnings": [*self.warnings, *found.get("warnings", ())],
        }
