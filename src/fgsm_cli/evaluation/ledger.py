"""The ledger: what was found of each image, entered batch by batch in any order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..distribution import Found
from .measure import Flags, Outcome


@dataclass
class Clean:
    """What was found of each clean image, whatever the attack."""

    right: Flags
    unsure: Flags
    answers: NDArray[np.int64]


@dataclass
class Gradients:
    """What each image's first gradient is like."""

    zero: Flags
    partly_zero: Flags
    broken: Flags


@dataclass(frozen=True)
class Ledger:
    """All that was found. gradients: one page an aim; outcomes: one page a contest."""

    clean: Clean
    gradients: tuple[Gradients, ...]
    outcomes: tuple[Outcome, ...]

    @classmethod
    def of(cls, n: int, aims: int, contests: int) -> "Ledger":
        """Nothing known yet of n images."""
        return cls(
            Clean(np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, np.int64)),
            tuple(Gradients(*(np.zeros(n, bool) for _ in range(3))) for _ in range(aims)),
            tuple(Outcome.of(n) for _ in range(contests)),
        )

    def enter(self, places: NDArray[np.intp], found: Found) -> None:
        """Enter rows under names such as clean.right, gradients.0.zero and outcomes.1.still."""
        for name, rows in found.items():
            kind, *page, column = name.split(".")
            record = getattr(self, kind)
            getattr(record[int(page[0])] if page else record, column)[places] = rows
