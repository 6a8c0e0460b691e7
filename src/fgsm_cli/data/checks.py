"""What every image set is held to before TensorFlow sees it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError

MOST_CLASSES = 100_000
ROUNDING = 1e-6


def check_images(images: Any, source: str) -> None:
    """Raise FgsmError unless these are images of real numbers within their type's range."""
    if images.dtype.kind not in "biuf" or images.dtype.itemsize > 8:
        raise FgsmError(f"the pixels of {source} must be real numbers. Received: {images.dtype}")
    if images.ndim < 2 or not images.size:
        raise FgsmError(f"{source} must hold images (n, ...). Received: shape {images.shape}")
    low, high = images.min(), images.max()
    top = 255 if images.dtype.kind in "iu" else 1
    slack = ROUNDING if images.dtype.kind == "f" else 0
    if not (low >= -slack and high <= top + slack):  # written so that NaN fails
        raise FgsmError(
            f"the pixels of {source} ({images.dtype}) must lie in 0..{top}"
            f"{' (divide by 255)' if 1 < high <= 255 else ''}. Received: {low:g}..{high:g}"
        )


def check_labels(labels: NDArray[Any], n: int, source: str) -> NDArray[np.int64]:
    """The labels as int64. Raises FgsmError unless they are n integers, 0 or more."""
    if labels.ndim == 2 and labels.shape[1] == 1:  # as keras.datasets.cifar10 has them
        labels = labels[:, 0]
    if labels.shape != (n,):
        hint = " (one-hot labels become integers by argmax)" if labels.ndim == 2 else ""
        raise FgsmError(
            f"{source} must hold a label for each of {n} images{hint}. "
            f"Received: shape {labels.shape}"
        )
    if labels.dtype.kind not in "iu":
        raise FgsmError(f"the labels of {source} must be integers. Received: {labels.dtype}")
    for row, is_wrong, bound in (
        (int(labels.argmin()), labels.min() < 0, "at least 0"),
        (int(labels.argmax()), labels.max() >= MOST_CLASSES, f"below {MOST_CLASSES}"),
    ):
        if is_wrong:
            raise FgsmError(
                f"the labels of {source} must be {bound}. Received: {labels[row]} in row {row}"
            )
    return labels.astype(np.int64)
