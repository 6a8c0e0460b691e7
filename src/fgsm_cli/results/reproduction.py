"""Published figures beside measured ones: what ``fgsm reproduce`` finds."""

from dataclasses import asdict, dataclass
from typing import Any

from .counts import versions


@dataclass(frozen=True)
class Figure:
    """What a paper says of an experiment, and within which range a right answer lies.

    experiment: its name. where: keys and places in its results, joined by dots. published: a
    share 0..1; None where the paper tells the effect but no number. note: why it may differ.
    """

    experiment: str
    source: str
    what: str
    where: str
    published: float | None
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Reproduced(Figure):
    """A figure, and what was measured."""

    measured: float

    @property
    def agrees(self) -> bool:
        """Whether the measured figure lies in its range."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Reproduction:
    """Experiments of the literature, run again."""

    figures: tuple[Reproduced, ...]
    seconds: dict[str, float]
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every figure lies in its range."""
        return all(figure.agrees for figure in self.figures)

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "reproduce",
            "agrees": self.agrees,
            "figures": [{**asdict(one), "agrees": one.agrees} for one in self.figures],
            "seconds": self.seconds,
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }
