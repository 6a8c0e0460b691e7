"""Image sets: the embedded MNIST, or an .npz file; labels, scaling, batches.

    images = load_images("mnist", "test", limit=1000)
    for x, y in images.batches(100):     # float32 in 0..1 and int64
        ...

MNIST was made by Yann LeCun and Corinna Cortes and is published under CC BY-SA 3.0; see NOTICE.
"""

from ..errors import FgsmError
from .checks import check_images, check_labels
from .image_set import PIXEL_RANGE, ImageSet, Split, in_unit_range, natural_range
from .npz import find_array, open_arrays

__all__ = [
    "MNIST_SHA256",
    "PIXEL_RANGE",
    "ImageSet",
    "Split",
    "check_images",
    "check_labels",
    "find_array",
    "in_unit_range",
    "load_images",
    "natural_range",
    "open_arrays",
]

MNIST_SHA256 = "06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64"


def load_images(source: str, split: Split, limit: int | None = None) -> ImageSet:
    """An image set by name ("mnist") or path (.npz), its first ``limit`` images.

    An .npz holds ``x_train, y_train, x_test, y_test`` as ``keras.datasets`` names them, or
    ``x, y`` for both splits; a set without labels has none. limit: at least 1.
    Raises FgsmError, one sentence, for whatever is damaged, empty,
    out of range or of unequal length.
    """
    if limit is not None and limit < 1:
        raise FgsmError(f"limit must be at least 1. Received: {limit}")
    with open_arrays(source) as arrays:
        images = find_array(arrays, (f"x_{split}", "x"), source)
        names = (f"y_{split}", "y")
        has_labels = any(name in arrays.files for name in names)
        labels = find_array(arrays, names, source) if has_labels else None
    check_images(images, source)
    if labels is not None:
        labels = check_labels(labels, len(images), source)
    return ImageSet(
        name=source,
        split=split,
        images=images[:limit],
        labels=None if labels is None else labels[:limit],
        classes=0 if labels is None else int(labels.max()) + 1,
        range=natural_range(images.dtype),
    )
