"""Arrays that stay in their file: what is asked for is copied out, the rest is not in memory.

    images = StoredArray("x.npy", shape=(60_000, 28, 28), dtype=np.dtype("uint8"), offset=128)
    images[100:200]                      # an ordinary array of these rows

The file is mapped anew at each access, because the pages of a mapping that is kept count as
the process's own memory for as long as it is kept.
"""

import contextlib
import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError

IN_MEMORY = 64 * 2**20
LARGEST = 64 * 2**30
_BLOCK = 16 * 2**20


class Rows(ABC):
    """What follows from the shape of an array that is not one of NumPy's."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape, as an array has it."""

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return prod(self.shape)

    def __len__(self) -> int:
        return int(self.shape[0])


@dataclass(frozen=True, eq=False)
class StoredArray(Rows):
    """Rows of a file as an array: shape, dtype, length, slices and index arrays.

    path, dtype, offset, order: where the file's array begins and how it is laid out.
    full_shape: the file's array. rows: those of them that are this array, in order.
    swapped: two axes (of the whole array) that are exchanged in what is read.
    owner: whatever must live as long as the file is needed.
    """

    path: str
    full_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    order: Any = "C"
    rows: "range | NDArray[np.int64] | None" = None
    swapped: tuple[int, int] | None = None
    owner: object = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is read."""
        axes = list(self.full_shape)
        if self.swapped:
            a, b = self.swapped
            axes[a], axes[b] = axes[b], axes[a]
        return (len(self._rows), *axes[1:])

    @property
    def _rows(self) -> "range | NDArray[np.int64]":
        return range(self.full_shape[0]) if self.rows is None else self.rows

    def __getitem__(self, key: Any) -> Any:
        """A row by its number; rows by a slice, an array of numbers or one of truth values."""
        if isinstance(key, int | np.integer):
            return self._read(np.array([self._rows[key]]))[0]
        return self._read(_chosen(self._rows, key))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype)

    def part(self, key: Any) -> "StoredArray":
        """These rows, still in the file."""
        return replace(self, rows=_chosen(self._rows, key))

    def swapaxes(self, a: int, b: int) -> "StoredArray":
        """Two axes of an image exchanged."""
        return replace(self, swapped=None if self.swapped else (a, b))

    def _read(self, rows: "range | NDArray[np.int64]") -> NDArray[Any]:
        mapped = np.memmap(
            self.path, self.dtype, "r", self.offset, self.full_shape, order=self.order
        )
        taken = np.array(mapped[_as_slice(rows)])
        return np.ascontiguousarray(taken.swapaxes(*self.swapped)) if self.swapped else taken


def _as_slice(rows: "range | NDArray[np.int64]") -> "slice | NDArray[np.int64]":
    """Rows that follow each other as a slice, which NumPy copies in one go."""
    numbers = np.asarray(rows, np.int64)
    follow = len(numbers) > 0 and bool((np.diff(numbers) == 1).all())
    return slice(int(numbers[0]), int(numbers[-1]) + 1) if follow else numbers


def _chosen(rows: "range | NDArray[np.int64]", key: Any) -> "range | NDArray[np.int64]":
    """Those of the rows that a key names; the others cost nothing."""
    if isinstance(key, slice):
        return rows[key]
    places = np.asarray(key)
    places = np.flatnonzero(places) if places.dtype == bool else places.astype(np.int64)
    if not isinstance(rows, range):
        return rows[places]
    if places.size and not -len(rows) <= places.min() <= places.max() < len(rows):
        raise IndexError(f"rows {places.min()}..{places.max()} of {len(rows)}")
    return rows.start + rows.step * np.where(places < 0, places + len(rows), places)


def part(images: Any, key: Any) -> Any:
    """Rows of an array; of a stored one, without reading them."""
    return images.part(key) if isinstance(images, StoredArray) else images[key]


def blocks(images: Any, size: int = _BLOCK) -> Iterator[tuple[int, NDArray[Any]]]:
    """An array in stretches of about ``size`` bytes, each with the number of its first row."""
    row = max(1, prod(images.shape[1:]) * images.dtype.itemsize)
    step = max(1, size // row)
    for start in range(0, len(images), step):
        yield start, images[start : start + step]


def check_size(size: int, source: str) -> None:
    """Raise FgsmError for what is declared larger than anything that is read."""
    if size > LARGEST:
        raise FgsmError(
            f"{source} must hold at most {LARGEST / 2**30:.0f} GB of arrays. "
            f"Received: {size / 2**30:,.0f} GB"
        )


class Spool:
    """A temporary file that is gone when nothing refers to it, at the latest at exit.

    Raises FgsmError where there is no room for ``size`` bytes, here or while writing.
    """

    def __init__(self, source: str, size: int = 0) -> None:
        self.source = source
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if size > free:
            raise FgsmError(
                f"{source} needs {size / 2**30:.1f} GB of temporary space in {folder}. "
                f"Received: {free / 2**30:.1f} GB"
            )
        number, self.path = tempfile.mkstemp(prefix="fgsm-")
        self.file = os.fdopen(number, "wb")
        weakref.finalize(self, _remove, self.file, self.path)

    def write(self, content: Any) -> None:
        """Append bytes."""
        try:
            self.file.write(content)
        except OSError as error:
            raise FgsmError(
                f"{self.source} needs temporary space in {Path(self.path).parent}: {error.strerror}"
            ) from None

    def copy(self, stream: IO[bytes], limit: int | None = None) -> int:
        """Append what a stream holds, at most ``limit`` bytes; how many there were."""
        done = 0
        while limit is None or done < limit:
            content = stream.read(_BLOCK if limit is None else min(_BLOCK, limit - done))
            if not content:
                break
            self.write(content)
            done += len(content)
        self.file.flush()
        return done


def _remove(file: IO[bytes], path: str) -> None:
    with contextlib.suppress(OSError):
        file.close()
    with contextlib.suppress(OSError):
        Path(path).unlink()


class Growing:
    """An array that grows by rows of one shape and type: in memory, and in a file once large."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.held: list[NDArray[Any]] = []
        self.bytes = self.n = 0
        self.like: NDArray[Any] | None = None
        self.spool: Spool | None = None

    def grow(self, rows: NDArray[Any]) -> None:
        """Append rows (k, ...). Raises FgsmError for a shape or type unlike the first one's."""
        if self.like is None:
            self.like = rows[:0]
        elif (rows.shape[1:], rows.dtype) != (self.like.shape[1:], self.like.dtype):
            raise FgsmError(
                f"the images of {self.source} must be of one shape and type. Received: "
                f"{self.like.shape[1:]} of {self.like.dtype}, and {rows.shape[1:]} of {rows.dtype} "
                f"in row {self.n}"
            )
        self.n += len(rows)
        self.bytes += rows.nbytes
        check_size(self.bytes, self.source)
        self.held.append(rows)
        if self.spool is None and self.bytes > IN_MEMORY:
            self.spool = Spool(self.source)
        if self.spool is not None:
            for one in self.held:
                self.spool.write(np.ascontiguousarray(one).data)
            self.held = []

    def done(self) -> Any:
        """All rows as one array; None if there were none."""
        if self.like is None:
            return None
        if self.spool is None:
            return np.concatenate(self.held)
        self.spool.file.flush()
        shape = (self.n, *self.like.shape[1:])
        return StoredArray(self.spool.path, shape, self.like.dtype, 0, owner=self.spool)
