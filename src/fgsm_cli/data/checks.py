"""What every image set's pixels are held to before TensorFlow sees them.

range, notes = pixel_range(images, "x.npz")        # refuses, or says how they were read
"""

from typing import Any, NamedTuple

import numpy as np

from ..errors import FgsmError
from ..ranges import GREY_LEVELS, UNIT, PixelRange
from .image_set import natural_range
from .reading import Reading
from .stored import blocks

ROUNDING = 1e-6
SLACK = 1e-3  # of the width: ends that are typed are rounded, as in (0 - 0.1307) / 0.3081
FAINT = 16  # digits of scikit-learn count to 16, a drawing in black and white to 1
# The scales that pixels come in, the narrowest first: what to propose for values that do not fit.
SCALES = ((-1, 1), (0, FAINT), (0, 255), (0, 65535))


class Extremes(NamedTuple):
    """The smallest and the largest pixel."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"


def check_images(images: Any, source: str) -> None:
    """Raise FgsmError unless these are images of real numbers within their type's range."""
    pixel_range(images, source, Reading())


def pixel_range(
    images: Any, source: str, reading: Reading, known: PixelRange | None = None
) -> tuple[PixelRange, tuple[str, ...]]:
    """The stored values that stand for 0 and 1, and what a reader should know of that choice.

    known: what the format itself says. The range that the user gave beats it. Otherwise integers
    are grey levels 0..255, booleans 0 and 1; floats lie in 0..1 or, failing that, in the range
    that the model takes. The whole set is looked at, whatever part of it is used, so that its
    scale does not depend on the part.
    Raises FgsmError for what are no images, pixels that are not finite, or do not fit.
    """
    if images.dtype.kind not in "biuf" or images.dtype.itemsize > 8:
        raise FgsmError(f"the pixels of {source} must be real numbers. Received: {images.dtype}")
    if images.ndim < 2 or not images.size:
        raise FgsmError(f"{source} must hold images (n, ...). Received: shape {images.shape}")
    if images.dtype.kind == "b":
        return UNIT, ()
    found = _extremes(images, source)
    if reading.data_range is not None:
        if not _fits(found, reading.data_range):
            raise FgsmError(
                f"the pixels of {source} must lie in --data-range {reading.data_range}. "
                f"Received: {found}"
            )
        return reading.data_range, ()
    if known is not None:
        return known, ()
    natural = natural_range(images.dtype)
    slack = ROUNDING if natural == UNIT else 0
    if natural.low[0] - slack <= found.low and found.high <= natural.high[0] + slack:
        return natural, _faint(found, source) if natural == GREY_LEVELS else ()
    assumed = reading.input_range
    if natural == UNIT and assumed is not None and _fits_channels(images, assumed):
        return assumed, (
            f"the pixels of {source}, {found}, were taken to be on the model's own scale, "
            f"{assumed}; --data-range LOW HIGH says otherwise",
        )
    raise FgsmError(
        f"the pixels of {source} ({images.dtype}) must lie in {natural} (--data-range"
        f"{_proposal(found)} reads them on another scale). Received: {found}"
    )


def _extremes(images: Any, source: str) -> Extremes:
    """The smallest and the largest pixel. Raises FgsmError for one that is not finite."""
    low, high = np.inf, -np.inf
    for start, block in blocks(images):
        least, most = float(block.min()), float(block.max())
        if not (np.isfinite(least) and np.isfinite(most)):
            row, value = _not_finite(block)
            raise FgsmError(
                f"the pixels of {source} must be finite. Received: {value} in row {start + row}"
            )
        low, high = min(low, least), max(high, most)
        if block.dtype == np.uint8 and high > FAINT:
            break  # they fit, and are not faint: the rest cannot change that
    return Extremes(low, high)


def _not_finite(block: Any) -> tuple[int, float]:
    place = tuple(np.argwhere(~np.isfinite(block))[0].tolist())
    return place[0], float(block[place])


def _fits(found: Extremes, range: PixelRange) -> bool:
    """Whether the pixels lie in a range of one value for all channels."""
    slack = SLACK * float(range.width[0])
    return range.low[0] - slack <= found.low and found.high <= range.high[0] + slack


def _fits_channels(images: Any, range: PixelRange) -> bool:
    """Whether the pixels lie in a range that may differ from channel to channel."""
    if len(range.low) not in (1, images.shape[-1]):
        return False
    return all(
        unit.min() >= -SLACK and unit.max() <= 1 + SLACK
        for unit in (range.unit(block) for _, block in blocks(images))
    )


def _faint(found: Extremes, source: str) -> tuple[str, ...]:
    """What to say of grey levels that hardly differ from black."""
    if found.high > FAINT:
        return ()
    if found.high == 0:
        return (f"every pixel of {source} is 0",)
    return (
        f"the pixels of {source} only reach {found.high:g} and were read as grey levels of 0..255; "
        f"--data-range 0 {found.high:g} reads {found.high:g} as white",
    )


def _proposal(found: Extremes) -> str:
    """The range to give for such values, as two words; unnamed if none is likely."""
    for low, high in SCALES:
        if low <= found.low and found.high <= high:
            return f" {low} {high}"
    return " LOW HIGH"
