"""Image sets: the embedded MNIST, or an .npz file; labels, scaling, batches.

    images = load_images("mnist", "test", limit=1000)
    for x, y in images.batches(100):     # float32 in 0..1 and int64
        ...

MNIST was made by Yann LeCun and Corinna Cortes and is published under CC BY-SA 3.0; see NOTICE.
"""

import importlib.resources
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .errors import FgsmError
from .files import check_regular

Split = Literal["train", "test"]

MNIST_SHA256 = "06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64"
PIXEL_RANGE = (0.0, 1.0)
MOST_CLASSES = 100_000
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Labelled images as they are stored.

    images: (n, ...), uint8 in 0..255 or float in 0..1.
    labels: (n,), int64, in 0..classes - 1.
    classes: what the whole set's labels span, also where ``limit`` leaves fewer.
    """

    name: str
    split: str
    images: NDArray[Any]
    labels: NDArray[np.int64]
    classes: int

    def __len__(self) -> int:
        return len(self.images)

    def pixels(self, start: int = 0, stop: int | None = None) -> NDArray[np.float32]:
        """The images from start to stop as float32 in 0..1."""
        return scaled(self.images[start:stop])

    def batches(self, size: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Pixels (float32 in 0..1) and labels, ``size`` at a time, in order."""
        for start in range(0, len(self), size):
            yield self.pixels(start, start + size), self.labels[start : start + size]

    def take(self, indices: NDArray[np.int64]) -> "ImageSet":
        """The images at these positions."""
        return replace(self, images=self.images[indices], labels=self.labels[indices])


def scaled(images: NDArray[Any]) -> NDArray[np.float32]:
    """Pixels as float32 in 0..1: integers are divided by 255, floats are taken as they are."""
    pixels = images.astype(np.float32)
    if np.issubdtype(images.dtype, np.integer):
        pixels /= np.float32(255)
    return pixels


def load_images(source: str, split: Split, limit: int | None = None) -> ImageSet:
    """An image set by name ("mnist") or path (.npz), its first ``limit`` images.

    An .npz holds ``x_train, y_train, x_test, y_test`` as ``keras.datasets`` names them, or
    ``x, y`` for both splits. limit: at least 1.
    Raises FgsmError, one sentence, for whatever is damaged, empty,
    out of range or of unequal length.
    """
    if limit is not None and limit < 1:
        raise FgsmError(f"limit must be at least 1. Received: {limit}")
    with open_arrays(source) as arrays:
        images, labels = (
            find_array(arrays, names, source)
            for names in ((f"x_{split}", "x"), (f"y_{split}", "y"))
        )
    if labels.ndim == 2 and labels.shape[1] == 1:  # as keras.datasets.cifar10 has them
        labels = labels[:, 0]
    images = within_rounding(images)
    check_images(images, labels, source)
    labels = labels.astype(np.int64)
    return ImageSet(source, split, images[:limit], labels[:limit], int(labels.max()) + 1)


@contextmanager
def open_arrays(source: str) -> Iterator[Any]:
    """The arrays of an .npz, each read when asked for and none of them unpickled.

    Raises FgsmError for a file that is missing, damaged, no archive or holds Python objects.
    """
    with _opened(source) as file:
        if file.read(2) != b"PK":
            raise FgsmError(f"{source} is not an .npz archive")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
        except FgsmError:
            raise
        except Exception as error:  # a damaged archive fails in every way there is
            if "allow_pickle" in str(error):
                raise FgsmError(f"{source} holds Python objects, which are not read") from None
            reason = " ".join(str(error).split()) or type(error).__name__
            raise FgsmError(f"{source} is damaged: {reason[:200]}") from None


@contextmanager
def _opened(source: str) -> Iterator[IO[bytes]]:
    if source == "mnist":
        with importlib.resources.files(__package__).joinpath("assets/mnist.npz").open("rb") as file:
            yield file
        return
    check_regular(source, "image set")
    with Path(source).open("rb") as file:
        yield file


def find_array(arrays: Any, names: Sequence[str], source: str) -> NDArray[Any]:
    """The first of these arrays that the archive holds. Raises FgsmError if there is none."""
    for name in names:
        if name in arrays.files:
            array = arrays[name]
            if not isinstance(array, np.ndarray):  # a member that is no array comes as its bytes
                raise FgsmError(f"{source} is damaged: {name} is not an array")
            return array
    raise FgsmError(
        f"{source} must hold an array named {' or '.join(names)}. "
        f"Received: {', '.join(arrays.files) or 'none'}"
    )


def within_rounding(images: NDArray[Any]) -> NDArray[Any]:
    """Float pixels that leave 0..1 by no more than rounding does are brought back."""
    if images.dtype.kind == "f" and images.size:
        low, high = images.min(), images.max()
        if -ROUNDING <= low <= high <= 1 + ROUNDING and (low < 0 or high > 1):
            inside: NDArray[Any] = np.clip(images, 0, 1)
            return inside
    return images


def check_images(images: NDArray[Any], labels: NDArray[Any], source: str) -> None:
    """Raise FgsmError unless these are images with one label each, within the pixel range."""
    if images.dtype.kind not in "biuf" or images.dtype.itemsize > 8:
        raise FgsmError(f"the pixels of {source} must be real numbers. Received: {images.dtype}")
    if images.ndim < 2 or not images.size:
        raise FgsmError(f"{source} must hold images (n, ...). Received: shape {images.shape}")
    if labels.shape != images.shape[:1]:
        hint = " (one-hot labels become integers by argmax)" if labels.ndim == 2 else ""
        raise FgsmError(
            f"{source} must hold a label for each of {len(images)} images{hint}. "
            f"Received: shape {labels.shape}"
        )
    if labels.dtype.kind not in "iu":
        raise FgsmError(f"the labels of {source} must be integers. Received: {labels.dtype}")
    if labels.min() < 0:
        row = int(labels.argmin())
        raise FgsmError(
            f"the labels of {source} must be at least 0. Received: {labels[row]} in row {row}"
        )
    if labels.max() >= MOST_CLASSES:
        row = int(labels.argmax())
        raise FgsmError(
            f"the labels of {source} must be below {MOST_CLASSES}. "
            f"Received: {labels[row]} in row {row}"
        )
    low, high = images.min(), images.max()
    top = 255 if images.dtype.kind in "iu" else 1
    if not (low >= 0 and high <= top):  # written so that NaN fails
        raise FgsmError(
            f"the pixels of {source} ({images.dtype}) must lie in 0..{top}"
            f"{' (divide by 255)' if 1 < high <= 255 else ''}. Received: {low:g}..{high:g}"
        )
