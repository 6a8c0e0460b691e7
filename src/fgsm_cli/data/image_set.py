"""The image set itself: images as they are stored, their labels, the range of their pixels."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import sha256, sha256_of_all
from ..ranges import GREY_LEVELS, UNIT, PixelRange

PIXEL_RANGE = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images as they are stored, and their labels where they have any.

    images: (n, ...), integers or floats; anything that knows its shape and dtype and can be
        sliced and indexed along its first axis, so that a set need not be in memory.
    labels: (n,), int64, in 0..classes - 1; None where the source has none.
    classes: what the whole set's labels span, also where ``limit`` leaves fewer; 0 without any.
    range: the stored values that stand for 0 and 1.
    notes: what a reader of the set should know, in sentences.
    positions: (n,), int64: where each image stands in its source; None for 0..n - 1.
    class_names: the names of the labels, where they are known.
    files: what was read; sha256: the digest of what was read from no file.
    """

    name: str
    split: str
    images: Any
    labels: NDArray[np.int64] | None
    classes: int
    range: PixelRange = UNIT
    notes: tuple[str, ...] = ()
    positions: NDArray[np.int64] | None = None
    class_names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.images)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one image."""
        return tuple(self.images.shape[1:])

    @property
    def known_labels(self) -> NDArray[np.int64]:
        """The labels, where the set is known to have them."""
        assert self.labels is not None
        return self.labels

    @property
    def indices(self) -> NDArray[np.int64]:
        """Where each image stands in its source, (n,)."""
        return np.arange(len(self)) if self.positions is None else self.positions

    def digest(self) -> str:
        """The SHA-256 of the one file that was read, or of the list of all and their digests."""
        if self.sha256:
            return self.sha256
        return sha256(self.files[0]) if len(self.files) == 1 else sha256_of_all(self.files)

    def pixels(self, start: int = 0, stop: int | None = None) -> NDArray[np.float32]:
        """The images from start to stop as float32 in 0..1."""
        return in_unit_range(self.images[start:stop], self.range)

    def batches(self, size: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Pixels (float32 in 0..1) and labels, ``size`` at a time, in order."""
        for start in range(0, len(self), size):
            yield self.pixels(start, start + size), self.known_labels[start : start + size]

    def take(self, indices: NDArray[np.int64]) -> "ImageSet":
        """The images at these positions."""
        labels = None if self.labels is None else self.labels[indices]
        return replace(
            self, images=self.images[indices], labels=labels, positions=self.indices[indices]
        )


def in_unit_range(images: NDArray[Any], range: PixelRange) -> NDArray[np.float32]:
    """Stored images as float32 in 0..1; what leaves it by rounding is brought back."""
    pixels: NDArray[np.float32] = range.unit(images)
    if images.dtype.kind == "f" or range != natural_range(images.dtype):
        np.clip(pixels, *PIXEL_RANGE, out=pixels)  # NaN stays NaN, and is told of elsewhere
    return pixels


def natural_range(dtype: np.dtype[Any]) -> PixelRange:
    """Integers are grey levels 0..255, floats and booleans lie in 0..1."""
    return GREY_LEVELS if dtype.kind in "iu" else UNIT
