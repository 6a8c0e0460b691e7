"""Shapes: how images of one shape become what a model takes, without scrambling them.

    arrangement((32, 32, 3), (3, 32, 32)).axes        # (2, 0, 1): transposed
    arrangement((784,), (28, 28, 1)).shape            # (28, 28, 1): reshaped
    arrangement((3072,), (32, 32, 3))                 # None: nobody knows the order

Axes of size 1 mean nothing and go or come as needed; the batch axis is not among the shapes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

Shape = tuple[int, ...]
Wanted = Sequence[int | None]  # None: any size

_TO_FRONT, _TO_BACK = (2, 0, 1), (1, 2, 0)


@dataclass(frozen=True)
class Arrangement:
    """The order of the axes that are not of size 1 (None: as they are), then the final shape."""

    shape: Shape
    axes: Shape | None = None
    bare: Shape = ()


def arrangement(image: Sequence[int], wanted: Wanted) -> Arrangement | None:
    """How an image of one shape becomes one of another; None where that is not sure.

    Grey images fit square or flat, with or without a channel axis. Colour images fit with their
    channels first or last, and flatten where they are last, the order that Keras flattens in.
    """
    bare = tuple(size for size in image if size != 1)
    needed = [size for size in wanted if size != 1]
    if len(image) == len(wanted) and _agree(image, wanted):
        return Arrangement(tuple(image))
    if _agree(bare, needed):
        return Arrangement(_filled(wanted, bare))
    channels = _channels_axis(bare)
    if channels is not None:
        axes = _TO_FRONT if channels == 2 else _TO_BACK
        turned = tuple(bare[axis] for axis in axes)
        if _agree(turned, needed):
            return Arrangement(_filled(wanted, turned), axes, bare)
    is_flat = len(needed) == 1 and (len(bare) <= 2 or channels == 2)
    if (is_flat or (len(bare) == 1 and len(needed) <= 2)) and None not in needed:
        sizes = tuple(size for size in wanted if size is not None)
        return Arrangement(sizes) if prod(sizes) == prod(bare) else None
    return None


def _channels_axis(image: Sequence[int]) -> int | None:
    """The axis of a colour image that holds its channels: the last or first, and the shortest."""
    if len(image) != 3:
        return None
    return 2 if image[2] < min(image[:2]) else 0 if image[0] < min(image[1:]) else None


def _agree(sizes: Sequence[int], wanted: Wanted) -> bool:
    return len(sizes) == len(wanted) and all(
        want in (None, size) for size, want in zip(sizes, wanted, strict=True)
    )


def _filled(wanted: Wanted, bare: Sequence[int]) -> Shape:
    """The shape wanted, with the image's own sizes for those that are free."""
    left = iter(bare)
    return tuple(1 if want == 1 else next(left) for want in wanted)
