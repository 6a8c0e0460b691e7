"""A trained model: what ``fgsm train`` finds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..family import Attack
from .counts import ModelSource, Source, rate, versions


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
    """A trained model and its right answers on the test images: what ``fgsm train`` finds.

    certified: of certified training, the bounds and their epsilon; right in training is then
        what was proved.
    """

    model: ModelSource
    data: Source
    test: Source
    n: int
    clean_correct: int
    epochs: tuple[Epoch, ...]
    defence: Attack | None = None
    certified: tuple[str, float] | None = None
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "train",
            "n": self.n,
            "clean_accuracy": rate(self.clean_correct, self.n),
            "clean_correct": self.clean_correct,
            "certified": self.certified
            and dict(zip(("bounds", "epsilon"), self.certified, strict=True)),
            "defence": self.defence and asdict(self.defence),
            "epochs": [epoch.as_dict() for epoch in self.epochs],
            "model": asdict(self.model),
            "data": asdict(self.data),
            "test": asdict(self.test),
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }
