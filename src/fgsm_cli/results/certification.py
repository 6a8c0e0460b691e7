"""Robust accuracy from both sides: what ``fgsm certify`` finds."""

from dataclasses import asdict, dataclass
from typing import Any

from ..family import Norm
from .counts import ModelSource, Source, rate, versions, wilson_interval
from .judgement import Worst


@dataclass(frozen=True)
class Bracket:
    """What is known of n images at one epsilon.

    proved: no point of the ball is classified otherwise. broken: one is, and was asked.
    undecided: neither; the rest of the n are wrong to begin with.
    gap: of the undecided, how much the lowest margin lacks to a proof, in logits; None of none.
    searched, settled: images left to an exact search, and those that it decided.
    """

    epsilon: float
    n: int
    clean_correct: int
    proved: int
    broken: int
    undecided: int
    gap: float | None
    searched: int
    settled: int
    attack: Worst

    @property
    def upper(self) -> int:
        """The images that may be robust: proved, or not decided."""
        return self.proved + self.undecided

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the population's robust accuracy lies: from the low of one end to the high of one.

        95 % Wilson intervals of both ends of the bracket.
        """
        low, high = wilson_interval(self.proved, self.n), wilson_interval(self.upper, self.n)
        return (low[0], high[1]) if low and high else None

    def as_dict(self) -> dict[str, Any]:
        """The bracket as the JSON document shows it."""
        return {
            "epsilon": self.epsilon,
            "n": self.n,
            "certified_accuracy": rate(self.proved, self.n),
            "certified_interval": wilson_interval(self.proved, self.n),
            "adversarial_accuracy": rate(self.upper, self.n),
            "adversarial_interval": wilson_interval(self.upper, self.n),
            "robust_interval": self.interval,
            "proved": self.proved,
            "broken": self.broken,
            "undecided": self.undecided,
            "clean_mistakes": self.n - self.clean_correct,
            "gap": self.gap,
            "searched": self.searched,
            "settled": self.settled,
            "attack": self.attack.as_dict(),
        }


@dataclass(frozen=True)
class Certification:
    """A model's robust accuracy from both sides, a bracket an epsilon.

    bounds: what proved. seconds: of an exact search of each image; None without one.
    """

    model: ModelSource
    data: Source
    n: int
    clean_correct: int
    norm: Norm
    bounds: str
    seconds: float | None
    brackets: tuple[Bracket, ...]
    fail_under: float | None = None
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """Whether every certified accuracy reaches ``fail_under``; None if none was set."""
        if self.fail_under is None:
            return None
        return all(one.proved >= self.fail_under * one.n for one in self.brackets)

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "certify",
            "n": self.n,
            "clean_accuracy": rate(self.clean_correct, self.n),
            "clean_interval": wilson_interval(self.clean_correct, self.n),
            "clean_correct": self.clean_correct,
            "norm": self.norm,
            "bounds": self.bounds,
            "exact": self.seconds is not None,
            "time_limit": self.seconds,
            "results": [one.as_dict() for one in self.brackets],
            "model": asdict(self.model),
            "data": asdict(self.data),
            "fail_under": self.fail_under,
            "passed": self.passed,
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }
