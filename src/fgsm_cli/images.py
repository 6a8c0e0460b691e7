"""Images as pictures: grey or RGB levels, and perturbations stretched so that they can be seen.

levels(pixels)                    # uint8, (height, width) or (height, width, 3)
stretched(pixels_adv - pixels)    # the same: mid-grey has not moved, white moved up the most
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .examples import as_picture

Levels = NDArray[np.uint8]


def levels(pixels: NDArray[Any]) -> Levels:
    """An image in 0..1, (height, width[, channels]) or as ``as_picture`` takes it, as levels.

    Raises FgsmError for a shape that is no picture.
    """
    found = as_picture(pixels.shape, "a picture")(np.nan_to_num(pixels))
    whole: Levels = np.rint(255 * np.clip(found, 0, 1)).astype(np.uint8)
    return whole


def stretched(perturbation: NDArray[Any]) -> Levels:
    """A signed perturbation with its contrast stretched to the whole range, by pixel.

    0.5 + p / (2 max |p|): what has not moved is mid-grey, whatever the size of the rest.
    """
    farthest = float(np.abs(np.nan_to_num(perturbation)).max(initial=0)) or 1.0
    return levels(0.5 + np.nan_to_num(perturbation) / (2 * farthest))
