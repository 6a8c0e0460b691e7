"""What a run found: frozen records that hold counts; a rate is divided once, when asked for.

``as_dict`` gives the JSON document of a record. Rates are fractions 0..1; what is undefined,
such as the success rate where nothing was right to begin with, is None. No TensorFlow here.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from .family import Attack


def rate(part: int | None, whole: int | None) -> float | None:
    """One count over another, or None where that is undefined."""
    return part / whole if part is not None and whole else None


@dataclass(frozen=True)
class Source:
    """Where something came from: a path or a name, and what was found there."""

    path: str
    sha256: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class AttackResult:
    """The right answers that one attack left, out of n images.

    clean_correct: images classified right before the attack; None where no clean images were
        at hand. adversarial_correct: right after it. flipped: right before and wrong after.
    zero_gradients: images whose gradient was zero in every pixel, so that no attack moves
        them; None where no gradient was taken.
    linf_max: the largest change of any pixel, in float64, on the 0..1 pixel scale.
    """

    attack: Attack | None
    n: int
    clean_correct: int | None
    adversarial_correct: int
    flipped: int | None
    zero_gradients: int | None
    linf_max: float | None
    warnings: tuple[str, ...] = ()

    @property
    def adversarial_accuracy(self) -> float:
        """Share of all images classified right after the attack."""
        return self.adversarial_correct / self.n

    @property
    def success_rate(self) -> float | None:
        """Share of the images right before the attack that are wrong after it."""
        return rate(self.flipped, self.clean_correct)

    def as_dict(self) -> dict[str, Any]:
        """The result as the JSON document shows it."""
        return {
            "attack": None if self.attack is None else asdict(self.attack),
            "n": self.n,
            "clean_accuracy": rate(self.clean_correct, self.n),
            "adversarial_accuracy": self.adversarial_accuracy,
            "clean_correct": self.clean_correct,
            "adversarial_correct": self.adversarial_correct,
            "flipped": self.flipped,
            "success_rate": self.success_rate,
            "zero_gradients": self.zero_gradients,
            "linf_max": self.linf_max,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class Judgement:
    """A model under one attack or several: what ``fgsm attack`` and ``fgsm eval`` find."""

    command: str
    model: Source
    data: Source
    n: int
    clean_correct: int | None
    results: tuple[AttackResult, ...]
    warnings: tuple[str, ...]
    fail_under: float | None
    files: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """Whether every adversarial accuracy reaches ``fail_under``; None if none was set."""
        if self.fail_under is None:
            return None
        return all(result.adversarial_accuracy >= self.fail_under for result in self.results)

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
            "files": list(self.files),
            "warnings": [*self.warnings, *found.get("warnings", ())],
        }


@dataclass(frozen=True)
class Epoch:
    """One pass over the training images: sums and counts as they were during the pass."""

    loss_sum: float
    correct: int
    n: int
    validation_correct: int
    validation_n: int

    def as_dict(self) -> dict[str, Any]:
        """The epoch as the JSON document shows it."""
        return {
            "loss": self.loss_sum / self.n,
            "accuracy": self.correct / self.n,
            "validation_accuracy": rate(self.validation_correct, self.validation_n),
            **asdict(self),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Epoch":
        """The epoch that ``as_dict`` told of."""
        return cls(**{field.name: document[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class Training:
    """A trained model and its right answers on the test images: what ``fgsm train`` finds."""

    model: Source
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
            "warnings": list(self.warnings),
        }
