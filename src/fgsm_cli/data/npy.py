"""One array a file: x.npy and, beside it, the labels; or a folder of such pairs.

    load_images("x_test.npy", "test")        # and y_test.npy, x_test_labels.npy, labels.npy, …

Images stay in their file.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError, listed
from ..files import check_regular
from .npz import named, read_header
from .reading import Found, Reading, Split
from .stored import StoredArray

# How the file of the labels is called, from how that of the images is: a word for a word.
_WORDS = (
    ("images", "labels"),
    ("image", "label"),
    ("data", "labels"),
    ("data", "target"),
)


def stored_npy(path: str) -> StoredArray:
    """The array of a .npy, left in its file. Raises FgsmError for a damaged one."""
    check_regular(path, "image set")
    with Path(path).open("rb") as file:
        header = read_header(file, Path(path).stat().st_size, path)
    if not header.shape:
        raise FgsmError(f"{path} must hold images (n, ...). Received: shape ()")
    return StoredArray(path, header.shape, header.dtype, header.offset, header.order)


def read_npy(source: str, split: Split, reading: Reading) -> Found:  # noqa: ARG001 - as all readers
    """Images of a .npy, and labels from the file named by ``y_key`` or found beside it."""
    return found_pair(source, labels_beside(source, reading.y_key))


def read_npy_folder(source: str, split: Split, reading: Reading) -> Found:
    """Images and labels of a folder: x_test.npy and y_test.npy, or x.npy and y.npy."""
    folder = Path(source)
    names = [f"{reading.x_key.removesuffix('.npy')}"] if reading.x_key else named(split, 0)
    images = _first(folder / f"{name}.npy" for name in names)
    if images is None:
        raise FgsmError(
            f"{source} must hold x_{split}.npy or x.npy (or another, named by --x-key). Received: "
            f"{listed(sorted(path.name for path in folder.glob('*.npy')))}"
        )
    return found_pair(str(images), labels_beside(str(images), reading.y_key))


def holds_npy(folder: Path) -> bool:
    """Whether a folder holds arrays."""
    return any(folder.glob("*.npy"))


def found_pair(images: str, labels: str | None) -> Found:
    """What two .npy files hold."""
    if labels is None:
        return Found(stored_npy(images), None, files=(images,))
    return Found(stored_npy(images), _array(labels), files=(images, labels), labels_in=labels)


def _array(path: str) -> NDArray[Any]:
    stored = stored_npy(path)
    has_bytes = stored.size * stored.dtype.itemsize > 0
    return stored[:] if has_bytes else np.zeros(len(stored), stored.dtype)


def labels_beside(images: str, named_by_user: str | None) -> str | None:
    """The file of the labels: the one that was named, or the likeliest beside the images.

    Raises FgsmError if the one that was named is not there.
    """
    path = Path(images)
    if named_by_user:
        chosen = _first((Path(named_by_user), path.parent / named_by_user))
        if chosen is None:
            raise FgsmError(f"no labels at {named_by_user}, which --y-key names")
        return str(chosen)
    found = _first(place for place in _candidates(path) if place != path)
    return str(found) if found else None


def _candidates(path: Path) -> Iterable[Path]:
    name = path.name
    for image, label in _WORDS:
        if image in name:
            yield path.with_name(name.replace(image, label).replace("idx3", "idx1"))
    for x, y in (("x", "y"), ("X", "Y"), ("X", "y")):
        if path.stem == x or path.stem.startswith(f"{x}_"):
            yield path.with_name(y + name[1:])
        if path.stem.endswith(f"_{x}"):
            yield path.with_name(f"{path.stem[:-1]}{y}{path.suffix}")
    for stem in (f"{path.stem}_labels", f"{path.stem}_y", "y", "labels"):
        yield path.with_name(stem + path.suffix)


def _first(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)
