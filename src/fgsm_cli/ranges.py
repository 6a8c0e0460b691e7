"""Pixel ranges: the values that stand for black and for white, of an image set or of a model.

Everything between the two ends of the program counts pixels on one scale, 0..1, epsilon too.

    PixelRange((0.0,), (255.0,)).unit(pixels)          # what is stored -> 0..1
    PixelRange.standardised((0.1307,), (0.3081,))      # (x - mean) / std, as a range
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PixelRange:
    """Black and white: one value each for all channels, or one a channel (the last axis)."""

    low: tuple[float, ...] = (0.0,)
    high: tuple[float, ...] = (1.0,)

    @classmethod
    def standardised(cls, mean: Sequence[float], std: Sequence[float]) -> "PixelRange":
        """The range of (x - mean) / std for x in 0..1."""
        return cls(
            tuple((0 - m) / s for m, s in zip(mean, std, strict=True)),
            tuple((1 - m) / s for m, s in zip(mean, std, strict=True)),
        )

    @property
    def is_unit(self) -> bool:
        """Whether it is 0..1 in every channel."""
        return set(self.low) == {0.0} and set(self.high) == {1.0}

    def unit(self, values: Any) -> Any:
        """Values of this range on the 0..1 scale, in float32: (value - low) / (high - low)."""
        pixels = np.array(values, np.float32)
        if any(self.low):
            pixels -= self.black
        if not self.is_unit:
            pixels /= self.width
        return pixels

    @property
    def black(self) -> NDArray[np.float32]:
        """The low ends, (1,) or (channels,)."""
        return np.array(self.low, np.float32)

    @property
    def width(self) -> NDArray[np.float32]:
        """From low to high, (1,) or (channels,)."""
        return np.subtract(self.high, self.low).astype(np.float32)

    @property
    def ends(self) -> tuple[Any, Any]:
        """Low and high as two numbers, or, where channels differ, as two lists."""
        both = (self.low, self.high)
        is_one = all(len(set(end)) == 1 for end in both)
        low, high = (end[0] if is_one else list(end) for end in both)
        return low, high

    def __str__(self) -> str:
        ends = [f"{low:.5g}..{high:.5g}" for low, high in zip(self.low, self.high, strict=True)]
        return ends[0] if len(set(ends)) == 1 else ", ".join(ends)


UNIT = PixelRange()
GREY_LEVELS = PixelRange((0.0,), (255.0,))
