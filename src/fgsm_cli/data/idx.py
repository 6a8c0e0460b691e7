"""IDX, the format that MNIST was published in: plain or gzipped, a file or a folder.

    load_images("t10k-images-idx3-ubyte.gz", "test")       # and the labels beside it
    load_images("emnist/", "test", reading=Reading(transpose=True))

Two zero bytes, a type, the number of axes, each axis as four bytes, the numbers (big-endian).
"""

import gzip
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError, listed
from ..files import check_regular
from .npy import labels_beside
from .reading import Found, Reading, Split
from .stored import IN_MEMORY, Spool, StoredArray, check_size

GZIP = b"\x1f\x8b"
_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_PREFIXES = {"train": ("train",), "test": ("t10k", "test")}


def is_idx(head: bytes) -> bool:
    """Whether a file that begins so is IDX, once unpacked."""
    return len(head) >= 4 and head[:2] == b"\0\0" and head[2] in _TYPES and 1 <= head[3] <= 4


def is_gzipped(path: Path) -> bool:
    """Whether a file begins as gzip does."""
    with path.open("rb") as file:
        return file.read(2) == GZIP


def unpacked_head(path: Path, size: int = 64) -> bytes:
    """The first bytes of a file, unpacked if it is gzipped; fewer, if it is damaged."""
    try:
        with gzip.open(path) if is_gzipped(path) else path.open("rb") as file:
            return file.read(size)
    except (OSError, EOFError, zlib.error):
        return b""


def read_idx(source: str, split: Split, reading: Reading) -> Found:  # noqa: ARG001 - as all readers
    """Images of one IDX file, and labels from the file that ``y_key`` names or found beside."""
    images = _stored(source, axes=(2, 3, 4), what="images")
    labels = labels_beside(source, reading.y_key)
    notes: tuple[str, ...] = ()
    if "emnist" in source.lower() and not reading.transpose:
        notes = (
            f"{source} is EMNIST by its name, whose images are stored with height and width "
            "exchanged; --transpose puts them upright",
        )
    if labels is None:
        return Found(images, None, files=(source,), notes=notes)
    return Found(
        images,
        _stored(labels, axes=(1,), what="labels")[:],
        files=(source, labels),
        labels_in=labels,
        notes=notes,
    )


def read_idx_folder(source: str, split: Split, reading: Reading) -> Found:
    """The images of a split in a folder, as MNIST, Fashion-MNIST, KMNIST and EMNIST name them."""
    images = [path for path in idx_files(Path(source)) if _is_images(path)]
    found = [path for path in images if split in _splits(path)]
    found = found or [path for path in images if not _splits(path)]
    if len(found) != 1:
        wanted = " or ".join(f"{prefix}-images-idx3-ubyte" for prefix in _PREFIXES[split])
        names = found or list(idx_files(Path(source)))
        raise FgsmError(
            f"{source} must hold one file such as {wanted} (.gz or not). "
            f"Received: {listed(path.name for path in names)}"
        )
    return read_idx(str(found[0]), split, reading)


def holds_idx(folder: Path) -> bool:
    """Whether a folder holds IDX files."""
    return any(True for _ in idx_files(folder))


def idx_files(folder: Path) -> Iterable[Path]:
    """The files of a folder that are IDX by their name or their first bytes."""
    for path in sorted(folder.iterdir()):
        if not path.is_file() or path.name.startswith("."):
            continue
        if "ubyte" in path.name or is_idx(unpacked_head(path)):
            yield path


def _splits(path: Path) -> list[str]:
    """The splits that a file is of by its name."""
    name = path.name.lower()
    return [split for split, words in _PREFIXES.items() if any(word in name for word in words)]


def _is_images(path: Path) -> bool:
    head = unpacked_head(path)
    return head[3] > 1 if is_idx(head) else "images" in path.name


def _stored(path: str, axes: tuple[int, ...], what: str) -> Any:
    """The array of an IDX file: in memory, or a large one in its own or a temporary file.

    Raises FgsmError for a file that is not IDX, has another number of axes, or is not as long
    as its header says.
    """
    check_regular(path, "image set")
    packed = is_gzipped(Path(path))
    if not packed and path.endswith(".gz"):
        raise FgsmError(f"{path} is named .gz but is not gzipped")
    try:
        with gzip.open(path) if packed else Path(path).open("rb") as file:
            return _array(file, path, axes, what, packed)
    except (OSError, EOFError, zlib.error) as error:
        raise FgsmError(f"{path} is damaged: {' '.join(str(error).split())[:200]}") from None


def _array(
    file: Any, path: str, axes: tuple[int, ...], what: str, packed: bool
) -> NDArray[Any] | StoredArray:
    head = file.read(4)
    if not is_idx(head):
        raise FgsmError(
            f"{path} is not IDX: it must begin with 00 00, a type and a number of axes. "
            f"Received: {head.hex(' ') or 'nothing'}"
        )
    if head[3] not in axes:
        wanted = " or ".join(map(str, axes))
        raise FgsmError(
            f"{path} must hold {what}, an array of {wanted} axes. Received: {head[3]} axes"
        )
    by_name = re.search(r"idx(\d)", Path(path).name)
    if by_name and int(by_name[1]) != head[3]:
        raise FgsmError(
            f"{path} must have as many axes as its name says, {by_name[1]}. Received: {head[3]}"
        )
    dtype, sizes = np.dtype(_TYPES[head[2]]), file.read(4 * head[3])
    if len(sizes) < 4 * head[3]:
        raise FgsmError(f"{path} is damaged: it ends within its header")
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    promised = int(np.prod(shape, dtype=object)) * dtype.itemsize
    check_size(promised, path)
    if not promised:
        raise FgsmError(f"{path} must hold {what} (n, ...). Received: shape {shape}")
    if packed and promised <= IN_MEMORY:
        content = file.read(promised)
        _check_length(len(content), bool(file.read(1)), promised, shape, path)
        return np.frombuffer(content, dtype).reshape(shape)
    offset = 4 + len(sizes)
    if packed:
        spool = Spool(path, promised)
        done = spool.copy(file, promised)
        _check_length(done, bool(file.read(1)), promised, shape, path)
        return StoredArray(spool.path, shape, dtype, 0, owner=spool)
    size = Path(path).stat().st_size - offset
    _check_length(size, size > promised, promised, shape, path)
    return StoredArray(path, shape, dtype, offset)


def _check_length(size: int, more: bool, promised: int, shape: tuple[int, ...], path: str) -> None:
    if size < promised or more:
        raise FgsmError(
            f"{path} is damaged: its header tells of shape {shape}, {promised} bytes. "
            f"Received: {'more' if more else size}"
        )
