"""Images as PNG data URIs: pixels, changes stretched in contrast, directions as data.

picture(x)                      # 8 bits a channel
change(x_adv - x)               # blue lower, orange higher; its scale beside it
"""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Okabe and Ito's blue and vermilion, told apart by all colour vision; nothing is nearly white.
_LOWER, _SAME, _HIGHER = (0, 114, 178), (247, 247, 245), (213, 94, 0)


def as_grid(image: NDArray[Any]) -> NDArray[Any] | None:
    """An image as (height, width) or (height, width, 3); None where it is no such thing.

    Channels may come first or last; of four the first three are shown; a vector whose length is a
    square is taken as one.
    """
    if image.ndim == 1:
        side = round(len(image) ** 0.5)
        return image.reshape(side, side) if side * side == len(image) else image.reshape(1, -1)
    if image.ndim == 2:
        return image
    if image.ndim != 3:
        return None
    if image.shape[-1] not in (1, 3, 4) and image.shape[0] in (1, 3, 4):
        image = np.moveaxis(image, 0, -1)
    if image.shape[-1] == 1:
        return image[..., 0]
    return image[..., :3] if image.shape[-1] in (3, 4) else None


def picture(grid: NDArray[Any]) -> str:
    """Pixels in 0..1, rounded to 8 bits."""
    return _png(np.rint(255 * np.clip(grid, 0, 1)))


def change(grid: NDArray[Any]) -> tuple[str, float]:
    """A change stretched to its largest pixel, and that pixel's size.

    Grey images are painted, from blue (darker) over white (as it was) to orange (lighter); of
    colour images each channel is shown around the middle.
    """
    size = float(np.abs(grid).max())
    share = grid / size if size else np.zeros_like(grid)
    if grid.ndim == 3:
        return _png(np.rint(127.5 + 127.5 * share)), size
    ends = np.where(share[..., np.newaxis] < 0, np.array(_LOWER), np.array(_HIGHER))
    weight = np.abs(share)[..., np.newaxis]
    return _png(np.rint((1 - weight) * np.array(_SAME) + weight * ends)), size


def steps(grid: NDArray[Any]) -> tuple[str, float]:
    """A direction as data: 128 + 127 times its share of the largest pixel, and that pixel's size.

    The signs of FGSM come back exactly.
    """
    size = float(np.abs(grid).max())
    share = grid / size if size else np.zeros_like(grid)
    return _png(128 + np.rint(127 * share)), size


def _png(levels: NDArray[Any]) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(levels.astype(np.uint8)).save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
