"""Accuracy along one direction an image: what ``fgsm curve`` finds."""

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from ..family import Attack
from .counts import ModelSource, Source, rate, versions, wilson_interval
from .portrait import Portrait

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Curve:
    """Accuracy at every epsilon along one direction an image: what ``fgsm curve`` finds.

    correct: right answers at each epsilon; where the images have no labels (``labelled`` is
        false), answers that are as they were.
    quantiles: of the smallest epsilon that turns an image, over the images classified right to
        begin with; None where that many are never turned.
    certified: proved to withstand whatever attack at each epsilon; None where nobody asked.
    never: how many of these no epsilon of the curve turns.
    back: how many images are wrong at one epsilon and right at a larger one.
    portrait: what a report shows beyond this; None where none was asked for.
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
    certified: tuple[int, ...] | None = None
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    portrait: Portrait | None = field(default=None, compare=False, repr=False)

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
                    "certified_correct": proved,
                    "certified_accuracy": rate(proved, self.n),
                    "unchanged": None if self.labelled else standing,
                }
                for epsilon, correct, standing, proved in zip(
                    self.epsilons,
                    known,
                    self.correct,
                    self.certified or [None] * len(known),
                    strict=True,
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
