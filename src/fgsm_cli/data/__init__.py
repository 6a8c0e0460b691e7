"""Image sets: the embedded MNIST, files and folders of every usual kind; labels, scaling, batches.

    images = load_images("mnist", "test", limit=1000)
    for x, y in images.batches(100):     # float32 in 0..1 and int64
        ...

``readers.py`` is the table of what is read; a module for each kind. Everything that they find
goes through ``checks.py`` and ``labels.py``, and large arrays stay in files (``stored.py``).

MNIST was made by Yann LeCun and Corinna Cortes and is published under CC BY-SA 3.0; see NOTICE.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError
from .checks import check_images, pixel_range
from .image_set import PIXEL_RANGE, ImageSet, in_unit_range, natural_range
from .labels import check_labels
from .npz import find_array, open_arrays
from .readers import check_source, is_named, kind_of
from .reading import Found, Reading, Split
from .stored import StoredArray, part

__all__ = [
    "MNIST_SHA256",
    "PIXEL_RANGE",
    "ImageSet",
    "Reading",
    "Split",
    "StoredArray",
    "check_images",
    "check_labels",
    "check_source",
    "find_array",
    "in_unit_range",
    "is_named",
    "load_images",
    "natural_range",
    "open_arrays",
    "part",
]

MNIST_SHA256 = "06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64"


def load_images(
    source: str, split: Split, limit: int | None = None, reading: Reading | None = None
) -> ImageSet:
    """An image set by name ("mnist", "cifar10") or path, its first ``limit`` images.

    A set without labels has none. limit: at least 1. reading: what to read of it, and what it
    does not say of itself.
    Raises FgsmError, one sentence, for whatever is damaged, empty,
    out of range or of unequal length.
    """
    if limit is not None and limit < 1:
        raise FgsmError(f"limit must be at least 1. Received: {limit}")
    reading = reading or Reading()
    kind = kind_of(source)
    for key in ("x_key", "y_key"):
        if getattr(reading, key) is not None and key not in kind.takes:
            flag = "--" + key.replace("_", "-")
            raise FgsmError(f"{flag} does not fit {source}: {kind.name} names nothing so")
    found = kind.read(source, split, reading)
    ends, notes = pixel_range(found.images, source, reading, found.range)
    images = _upright(found.images, source) if reading.transpose else found.images
    names = reading.classes or found.classes
    labels = _labels(found, len(images), source, names, reading)
    positions = None
    if reading.only:
        positions, labels = _of_these(labels, source, reading.only)
        images, names = part(images, positions), tuple(names[one] for one in reading.only if names)
    chosen = _chosen(labels, len(images), source, limit, reading)
    if reading.offset or reading.balanced or positions is not None:
        positions = (np.arange(len(images)) if positions is None else positions)[chosen]
    if labels is not None and not reading.balanced:
        notes += _one_class(labels, chosen, source)
    return ImageSet(
        name=source,
        split=split,
        images=part(images, chosen),
        labels=None if labels is None else labels[chosen],
        classes=_classes(labels, names, reading),
        range=ends,
        notes=(*found.notes, *notes),
        positions=positions,
        class_names=names,
        files=found.files,
        sha256=MNIST_SHA256 if source == "mnist" else found.sha256,
    )


def _labels(
    found: Found, n: int, source: str, names: tuple[str, ...], reading: Reading
) -> NDArray[np.int64] | None:
    """The labels that were found, or the one that the user gave for all; None for neither."""
    if found.labels is None:
        if reading.label is None:
            return None
        return check_labels(np.full(n, reading.label), n, "--label", names)
    if reading.label is not None:
        raise FgsmError(f"--label is for images without labels, and {source} has its own")
    return check_labels(found.labels, n, found.labels_in or source, names)


def _of_these(
    labels: NDArray[np.int64] | None, source: str, only: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the images of these labels stand, and their labels counted anew."""
    if labels is None:
        raise FgsmError(f"--only needs labels, and {source} has none")
    absent = sorted(set(only) - set(np.unique(labels).tolist()))
    if absent:
        raise FgsmError(
            f"--only must name labels of {source}. Received: {absent[0]}, which none has"
        )
    positions = np.flatnonzero(np.isin(labels, only))
    anew = np.zeros(max(only) + 1, np.int64)
    anew[list(only)] = np.arange(len(only))
    return positions, anew[labels[positions]]


def _classes(labels: NDArray[np.int64] | None, names: tuple[str, ...], reading: Reading) -> int:
    """How many classes the labels span; 0 without any."""
    if labels is None:
        return 0
    return len(reading.only) or len(names) or int(labels.max()) + 1


def _upright(images: Any, source: str) -> Any:
    """The images with height and width exchanged."""
    if images.ndim < 3:
        raise FgsmError(
            f"--transpose needs images with height and width. "
            f"Received: shape {images.shape} in {source}"
        )
    first_are_channels = (
        images.ndim == 4 and images.shape[1] in (1, 3) and (images.shape[3] not in (1, 3))
    )
    return images.swapaxes(2, 3) if first_are_channels else images.swapaxes(1, 2)


def _chosen(
    labels: NDArray[np.int64] | None, n: int, source: str, limit: int | None, reading: Reading
) -> Any:
    """Which images are used: a slice, or the positions of equally many of each class."""
    start = reading.offset
    if start >= n:
        raise FgsmError(f"--offset must be below {n}, the images of {source}. Received: {start}")
    if not reading.balanced:
        return slice(start, None if limit is None else start + limit)
    if labels is None:
        raise FgsmError(f"--balanced needs labels, and {source} has none")
    classes, counts = np.unique(labels[start:], return_counts=True)
    fewest = int(counts.min())
    each = fewest if limit is None else limit // len(classes)
    if not 1 <= each <= fewest:
        raise FgsmError(
            f"--balanced needs equally many images of each of {len(classes)} classes, and {source} "
            f"has {fewest} of the rarest: --limit must be from {len(classes)} to "
            f"{fewest * len(classes)}. Received: {limit}"
        )
    places = [np.flatnonzero(labels[start:] == one)[:each] + start for one in classes]
    return np.sort(np.concatenate(places))


def _one_class(labels: NDArray[np.int64], chosen: Any, source: str) -> tuple[str, ...]:
    """What to say where a set is sorted by class and only its beginning is used."""
    used = labels[chosen]
    if len(used) == len(labels) or len(used) < 2 or (used != used[0]).any():
        return ()
    if (labels == used[0]).all():
        return ()
    return (
        f"the {len(used):,} images used of {source} are all of class {used[0]}; --balanced takes "
        "equally many of each",
    )
