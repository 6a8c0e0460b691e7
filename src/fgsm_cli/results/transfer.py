"""Examples made on one model and judged on another: what ``fgsm transfer`` finds."""

from dataclasses import asdict, dataclass
from typing import Any

from ..family import Attack
from .counts import ModelSource, Source, rate, versions, wilson_interval


@dataclass(frozen=True)
class Crossing:
    """The right answers that a target gives to examples made on a source, out of n images.

    clean_correct: those it gives to the images as they were. flipped: right before, wrong after.
    """

    source: str
    target: str
    n: int
    clean_correct: int
    adversarial_correct: int
    flipped: int

    def as_dict(self) -> dict[str, Any]:
        """The crossing as the JSON document shows it."""
        return {
            **asdict(self),
            "clean_accuracy": rate(self.clean_correct, self.n),
            "adversarial_accuracy": rate(self.adversarial_correct, self.n),
            "adversarial_interval": wilson_interval(self.adversarial_correct, self.n),
            "success_rate": rate(self.flipped, self.clean_correct),
        }


@dataclass(frozen=True)
class Transfer:
    """A matrix of crossings, a row a source and a column a target.

    sources: names of the rows, the models' paths and perhaps "ensemble". targets: of the columns.
    """

    models: tuple[ModelSource, ...]
    data: Source
    attack: Attack
    n: int
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    crossings: tuple[Crossing, ...]
    linf_max: float
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def between(self, source: str, target: str) -> Crossing:
        """The crossing from one to the other."""
        return next(one for one in self.crossings if (one.source, one.target) == (source, target))

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "transfer",
            "n": self.n,
            "attack": asdict(self.attack),
            "sources": list(self.sources),
            "targets": list(self.targets),
            "results": [one.as_dict() for one in self.crossings],
            "linf_max": self.linf_max,
            "models": [asdict(model) for model in self.models],
            "data": asdict(self.data),
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }
