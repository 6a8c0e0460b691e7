"""What all records share: where things came from, rates and their intervals."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from math import sqrt
from statistics import NormalDist

from ..ranges import PixelRange


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


# What lifts a decimal half over the binary fraction just below it; no share of a count is so fine.
_HALF = 1e-9


def percent(share: float | None) -> str:
    """A share in percent, to one decimal, or a dash; a half is rounded up, as by hand."""
    return "-" if share is None else f"{100 * share + _HALF:.1f} %"


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
