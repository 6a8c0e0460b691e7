"""Finished runs looked at again: what ``fgsm compare`` and ``fgsm verify`` find."""

from dataclasses import asdict, dataclass
from typing import Any

from .counts import rate


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
