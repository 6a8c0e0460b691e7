"""NumPy's own files, .npz and .npy: arrays read when asked for, nothing in them unpickled.

with open_arrays("x.npz") as arrays:
    arrays["x_test"]                 # in memory
    arrays.stored("x_train")         # in a temporary file, if it is large
"""

import importlib.resources
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError, listed
from ..files import check_regular
from .reading import Found, Reading, Split
from .stored import IN_MEMORY, Spool, StoredArray, check_size

MAGIC = b"\x93NUMPY"
# What people call images and their labels, the most usual first.
NAMES = (
    ("x", "y"),
    ("images", "labels"),
    ("X", "Y"),
    ("X", "y"),
    ("data", "target"),
    ("data", "labels"),
    ("image", "label"),
)


def named(split: Split, of: int) -> tuple[str, ...]:
    """The names that images (0) or labels (1) of a split may have, the likeliest first."""
    stems = tuple(dict.fromkeys(pair[of] for pair in NAMES))
    both = [(f"{stem}_{split}", f"{split}_{stem}") for stem in stems]
    return (*(name for pair in both for name in pair), *stems)


class Header(NamedTuple):
    """What a .npy says of its array before it begins, ``offset`` bytes into the file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str
    offset: int

    @property
    def bytes(self) -> int:
        """How long the file must be."""
        return self.offset + int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


def read_header(stream: IO[bytes], size: int, what: str) -> Header:
    """The header of a .npy of ``size`` bytes. Raises FgsmError unless it tells of that many."""
    try:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_columns, dtype = read(stream)
    except KeyError:
        raise FgsmError(f"{what} holds records with names, which are no images") from None
    except Exception as error:  # text that is parsed, and can be wrong in every way
        raise FgsmError(f"{what} is damaged: {_reason(error)}") from None
    if any(type(size) is not int or not 0 <= size < 2**63 for size in shape):
        raise FgsmError(f"{what} is damaged: it tells of shape {shape}")
    header = Header(shape, dtype, "F" if by_columns else "C", stream.tell())
    if dtype.hasobject:
        raise FgsmError(f"{what} holds Python objects, which are not read")
    if header.bytes != size:
        raise FgsmError(
            f"{what} is damaged: shape {shape} of {dtype} takes {header.bytes} bytes. "
            f"Received: {size}"
        )
    check_size(size, what)
    return header


def _reason(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]


class Archive:
    """The arrays of an .npz by name, each read when asked for."""

    def __init__(self, archive: zipfile.ZipFile, source: str) -> None:
        self.archive, self.source = archive, source
        self.members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
        check_size(sum(one.file_size for one in self.members.values()), source)

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return list(self.members)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """An array, in memory."""
        member = self.members[name]
        self._header(member, name)
        with self.archive.open(member) as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def stored(self, name: str) -> Any:
        """An array; a large one unpacked to a temporary file, where it stays."""
        member = self.members[name]
        if member.file_size <= IN_MEMORY:
            return self[name]
        header = self._header(member, name)
        spool = Spool(self.source, member.file_size)
        with self.archive.open(member) as stream:
            spool.copy(stream)
        return StoredArray(
            spool.path, header.shape, header.dtype, header.offset, header.order, owner=spool
        )

    def _header(self, member: zipfile.ZipInfo, name: str) -> Header:
        with self.archive.open(member) as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise FgsmError(f"{self.source} is damaged: {name} is not an array")
        with self.archive.open(member) as stream:
            return read_header(stream, member.file_size, f"{name} of {self.source}")


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
            with zipfile.ZipFile(file) as archive:
                yield Archive(archive, source)
        except FgsmError:
            raise
        except Exception as error:  # a damaged archive fails in every way there is
            raise FgsmError(f"{source} is damaged: {_reason(error)}") from None


@contextmanager
def _opened(source: str) -> Iterator[IO[bytes]]:
    if source == "mnist":
        assets = importlib.resources.files("fgsm_cli").joinpath("assets")
        with assets.joinpath("mnist.npz").open("rb") as file:
            yield file
        return
    check_regular(source, "image set")
    with Path(source).open("rb") as file:
        yield file


def find_array(arrays: Any, names: Sequence[str], source: str) -> Any:
    """The first of these arrays that the archive holds, a large one in a temporary file.

    Raises FgsmError if there is none.
    """
    return arrays.stored(_find(arrays, names, source))


def _find(arrays: Any, names: Sequence[str], source: str) -> str:
    for name in names:
        if name in arrays.files:
            return name
    raise FgsmError(
        f"{source} must hold an array named {' or '.join(names)}. Received: {listed(arrays.files)}"
    )


def read_npz(source: str, split: Split, reading: Reading) -> Found:
    """The images and labels of an .npz, by the names that are usual or those given."""
    with open_arrays(source) as arrays:
        x, y = _names(arrays, source, split, reading)
        images = arrays.stored(x)
        labels = None if y is None else arrays[y]
    return Found(images, labels, files=() if source == "mnist" else (source,))


def _names(arrays: Any, source: str, split: Split, reading: Reading) -> tuple[str, str | None]:
    """The arrays that hold images and labels; None for labels that are not there."""
    usual = named(split, 0)
    names = (reading.x_key,) if reading.x_key else usual
    try:
        x = _find(arrays, names, source)
    except FgsmError:
        if reading.x_key:
            raise
        raise FgsmError(
            f"{source} must hold an array named x_{split} or x (or another, named by --x-key). "
            f"Received: {listed(arrays.files)}"
        ) from None
    if reading.y_key:
        return x, _find(arrays, (reading.y_key,), source)
    places = [place for place in named(split, 1) if place in arrays.files]
    return x, places[0] if places else None
