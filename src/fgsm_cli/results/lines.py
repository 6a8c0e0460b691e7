"""Accuracies over epsilon as lines: what a plot of one run or of several shows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .counts import wilson_interval


@dataclass(frozen=True)
class Point:
    """Right answers at one epsilon: their share of n, and the ends of its 95 % interval."""

    epsilon: float
    accuracy: float
    low: float
    high: float

    @classmethod
    def of(cls, epsilon: float, correct: int, n: int) -> "Point":
        """From the counts, n at least 1."""
        low, high = wilson_interval(correct, n) or (0.0, 1.0)
        return cls(epsilon, correct / n, low, high)


@dataclass(frozen=True)
class Line:
    """The accuracy of one model under one attack, by rising epsilon."""

    label: str
    norm: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Plot:
    """Lines that were drawn into a file: what ``fgsm plot`` finds."""

    lines: tuple[Line, ...]
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "plot",
            "lines": [asdict(line) for line in self.lines],
            "files": list(self.files),
            "warnings": list(self.warnings),
        }


def lines_of(document: Mapping[str, Any], label: str) -> list[Line]:
    """The lines in the JSON document of a run, its sections' if it has some.

    A curve is one; attacks of attack and eval are one each, from the clean accuracy at epsilon 0.
    None of what has no accuracies over epsilon: of other commands, or of images without labels.
    Raises KeyError, TypeError or ValueError for what no run writes.
    """
    command = document.get("command")
    if command is None:
        return [
            line
            for section, own in document.items()
            for line in lines_of(own, f"{label}, {section}")
        ]
    if document.get("clean_correct") is None:
        return []
    if command == "curve":
        points = tuple(
            Point.of(float(one["epsilon"]), int(one["adversarial_correct"]), int(document["n"]))
            for one in document["points"]
        )
        return [Line(label, document["attack"]["norm"], points)]
    if command not in ("attack", "eval"):
        return []
    found: dict[tuple[str, str], dict[float, Point]] = {}
    for one in document.get("results", [document]):
        attack, n = one["attack"], int(one["n"])
        if attack is None:
            continue
        own = found.setdefault((attack["name"], attack["norm"]), {})
        for epsilon, correct in ((0.0, one["clean_correct"]), (attack["epsilon"], None)):
            right = one["adversarial_correct"] if correct is None else correct
            own[float(epsilon)] = Point.of(float(epsilon), int(right), n)
    return [
        Line(f"{label}, {name}", norm, tuple(own[epsilon] for epsilon in sorted(own)))
        for (name, norm), own in found.items()
    ]
