"""What a run found: frozen records that hold counts; a rate is divided once, when asked for.

``as_dict`` gives the JSON document of a record. Rates are fractions 0..1; what is undefined,
such as the success rate where nothing was right to begin with, is None. No TensorFlow here.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from itertools import pairwise
from math import sqrt
from statistics import NormalDist, stdev
from typing import Any, Literal

from .family import Attack
from .ranges import PixelRange


def rate(part: int | None, whole: int | None) -> float | None:
    """One count over another, or None where that is undefined."""
    return part / whole if part is not None and whole else None


def versions() -> dict[str, str]:
    """What a number was made with."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in ("fgsm-cli", "tensorflow", "keras", "numpy")},
    }


@dataclass(frozen=True)
class Source:
    """Where something came from: a path or a name, and what was found there."""

    path: str
    sha256: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class ModelSource(Source):
    """Where a model came from, its head, and the values that it takes for black and white.

    input_range: two numbers, or two lists of one a channel. range_source: how it is known.
    """

    input_range: Sequence[float | Sequence[float]] = (0.0, 1.0)
    range_source: str = "assumed"

    def __str__(self) -> str:
        ends = [one if isinstance(one, Sequence) else (one,) for one in self.input_range]
        pixels = PixelRange(*(tuple(end) for end in ends))
        source = "assumed" if self.range_source == "assumed" else f"by {self.range_source}"
        return f"{self.path} ({self.detail} head, pixels {pixels} {source})"


def wilson_interval(part: int | None, whole: int | None) -> tuple[float, float] | None:
    """The 95 % Wilson score interval of a rate; None where the rate is undefined.

    Wilson 1927; closed, so that no statistics library is loaded for every result.
    """
    if part is None or not whole:
        return None
    z = NormalDist().inv_cdf(0.975)
    share, spread = part / whole, z * z / whole
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(share * (1 - share) / whole + spread / (4 * whole))
    return (0.0 if part == 0 else middle - half, 1.0 if part == whole else middle + half)


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
        return "Worst of " + ", ".join(attack.name for attack in self.attacks)

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
    warnings: tuple[str, ...] = ()
    over_seeds: OverSeeds | None = None

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


Verdict = Literal["pass", "suspicious", "fail"]


@dataclass(frozen=True)
class Finding:
    """One check of an audit: what was measured, what it would mean, the verdict."""

    name: str
    measured: str
    meaning: str
    verdict: Verdict


@dataclass(frozen=True)
class Audit:
    """Whether a model's accuracy under attack can be trusted: what ``fgsm audit`` finds."""

    model: ModelSource
    data: Source
    epsilon: float
    findings: tuple[Finding, ...]
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all checks."""
        found = {finding.verdict for finding in self.findings}
        return "fail" if "fail" in found else "suspicious" if "suspicious" in found else "pass"

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "audit",
            "verdict": self.verdict,
            "epsilon": self.epsilon,
            "checks": [asdict(finding) for finding in self.findings],
            "model": asdict(self.model),
            "data": asdict(self.data),
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class Pair:
    """Two runs on the same images, under one attack: who is right where.

    p_value: of the exact McNemar test (McNemar 1947), two-sided: how often chance alone would
    split the images on which the two differ at least so unevenly. 1 where they never differ.
    """

    what: str
    both: int
    only_a: int
    only_b: int
    neither: int
    p_value: float

    @property
    def n(self) -> int:
        """How many images were compared."""
        return self.both + self.only_a + self.only_b + self.neither


@dataclass(frozen=True)
class Comparison:
    """Two result folders side by side: what ``fgsm compare`` finds."""

    a: str
    b: str
    pairs: tuple[Pair, ...]
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "compare",
            "a": self.a,
            "b": self.b,
            "results": [
                {
                    **asdict(pair),
                    "a_accuracy": rate(pair.both + pair.only_a, pair.n),
                    "b_accuracy": rate(pair.both + pair.only_b, pair.n),
                }
                for pair in self.pairs
            ],
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class Check:
    """One thing that a finished run recorded, and what is found now."""

    what: str
    recorded: Any
    found: Any

    @property
    def agrees(self) -> bool:
        """Whether both are the same, to the last digit."""
        return bool(self.recorded == self.found)


@dataclass(frozen=True)
class Verification:
    """A finished run, computed anew: what ``fgsm verify`` finds."""

    folder: str
    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every check agrees."""
        return all(check.agrees for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "verify",
            "folder": self.folder,
            "agrees": self.agrees,
            "checks": [{**asdict(check), "agrees": check.agrees} for check in self.checks],
            "warnings": list(self.warnings),
        }


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Curve:
    """Accuracy at every epsilon along one direction an image: what ``fgsm curve`` finds.

    correct: right answers at each epsilon; where the images have no labels (``labelled`` is
        false), answers that are as they were.
    quantiles: of the smallest epsilon that turns an image, over the images classified right to
        begin with; None where that many are never turned.
    never: how many of these no epsilon of the curve turns.
    back: how many images are wrong at one epsilon and right at a larger one.
    """

    model: ModelSource
    data: Source
    attack: Attack
    n: int
    epsilons: tuple[float, ...]
    correct: tuple[int, ...]
    quantiles: tuple[float | None, ...]
    never: int
    back: int
    zero_gradients: int
    labelled: bool = True
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_monotone(self) -> bool:
        """Whether accuracy never rises with epsilon; as measured, nothing is smoothed."""
        return all(after <= before for before, after in pairwise(self.correct))

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        known = [correct if self.labelled else None for correct in self.correct]
        return {
            "command": "curve",
            "n": self.n,
            "clean_accuracy": rate(known[0], self.n),
            "clean_correct": known[0],
            "attack": asdict(self.attack),
            "points": [
                {
                    "epsilon": epsilon,
                    "adversarial_correct": correct,
                    "adversarial_accuracy": rate(correct, self.n),
                    "adversarial_interval": wilson_interval(correct, self.n),
                    "unchanged": None if self.labelled else standing,
                }
                for epsilon, correct, standing in zip(
                    self.epsilons, known, self.correct, strict=True
                )
            ],
            "smallest_epsilon": {
                "quantiles": {
                    f"{share:g}": value
                    for share, value in zip(QUANTILES, self.quantiles, strict=True)
                },
                "never": self.never,
            },
            "monotone": self.is_monotone,
            "flip_back": self.back,
            "zero_gradients": self.zero_gradients,
            "model": asdict(self.model),
            "data": asdict(self.data),
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class Probe:
    """The right answers among n held-out images under FGSM and under PGD, after an epoch."""

    n: int
    fgsm_correct: int
    pgd_correct: int


@dataclass(frozen=True)
class Epoch:
    """One pass over the training images: sums and counts as they were during the pass.

    loss_sum, correct: of the images as they were learned from, adversarial if they were so.
    probe: of adversarial training, what the collapse monitor saw.
    """

    loss_sum: float
    correct: int
    n: int
    validation_correct: int
    validation_n: int
    probe: Probe | None = None

    def as_dict(self) -> dict[str, Any]:
        """The epoch as the JSON document shows it."""
        return {
            "loss": self.loss_sum / self.n,
            "accuracy": self.correct / self.n,
            "validation_accuracy": rate(self.validation_correct, self.validation_n),
            "fgsm_accuracy": self.probe and self.probe.fgsm_correct / self.probe.n,
            "pgd_accuracy": self.probe and self.probe.pgd_correct / self.probe.n,
            **asdict(self),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Epoch":
        """The epoch that ``as_dict`` told of."""
        found = {field.name: document[field.name] for field in fields(cls)}
        probe = found.pop("probe")
        return cls(**found, probe=probe and Probe(**probe))


@dataclass(frozen=True)
class Training:
    """A trained model and its right answers on the test images: what ``fgsm train`` finds."""

    model: ModelSource
    data: Source
    n: int
    clean_correct: int
    epochs: tuple[Epoch, ...]
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "train",
            "n": self.n,
            "clean_accuracy": rate(self.clean_correct, self.n),
            "clean_correct": self.clean_correct,
            "epochs": [epoch.as_dict() for epoch in self.epochs],
            "model": asdict(self.model),
            "data": asdict(self.data),
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }
