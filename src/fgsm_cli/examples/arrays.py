"""Arrays that need not be in memory: room to make them, shards as one, the .npy format in parts.

kept = room((1_000_000, 28, 28), "adv.npz")
kept[indices] = x_adv                # in any order, and again where a later try is better
kept[0:1000]
"""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.stored import Rows, Spool

IN_MEMORY = 256 * 2**20
_BLOCK = 1000


def room(shape: tuple[int, ...], target: str) -> Any:
    """An array (n, ...) of float32 to fill; beyond 256 MB it is a temporary file.

    Raises FgsmError where the disk has no room for it; ``target`` is named.
    """
    size = 4 * math.prod(shape)
    return np.empty(shape, np.float32) if size <= IN_MEMORY else OnDisk(shape, Spool(target, size))


@dataclass(frozen=True, eq=False)
class OnDisk(Rows):
    """An array in a temporary file, mapped anew at each access so that memory stays small."""

    of_shape: tuple[int, ...]
    spool: Spool

    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole."""
        return self.of_shape

    def __post_init__(self) -> None:
        self.spool.file.truncate(4 * self.size)

    def _mapped(self, mode: Any) -> NDArray[np.float32]:
        return np.memmap(self.spool.path, np.float32, mode, shape=self.shape)

    def __setitem__(self, key: Any, values: Any) -> None:
        self._mapped("r+")[key] = values

    def __getitem__(self, key: Any) -> NDArray[np.float32]:
        return np.array(self._mapped("r")[key])


@dataclass(frozen=True, eq=False)
class Shards(Rows):
    """Several arrays as one, along their first axis; sliced in stretches."""

    parts: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole."""
        return (sum(map(len, self.parts)), *self.parts[0].shape[1:])

    @property
    def dtype(self) -> Any:
        """The type of all parts."""
        return self.parts[0].dtype

    def __getitem__(self, key: slice) -> NDArray[Any]:
        start, stop, _ = key.indices(len(self))
        taken, begin = [], 0
        for part in self.parts:
            low, high = max(start - begin, 0), min(stop - begin, len(part))
            if low < high:
                taken.append(np.asarray(part[low:high]))
            begin += len(part)
        return np.concatenate(taken) if taken else np.asarray(self.parts[0][:0])


def as_npy(array: Any, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Rows of an array in the .npy format, part by part, so that they need not be in memory."""
    shape = array.shape
    stop = min(stop or shape[0], shape[0]) if shape else 0
    header = io.BytesIO()
    description = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False}
    rows = (stop - start, *shape[1:]) if shape else ()
    np.lib.format.write_array_header_1_0(header, {**description, "shape": rows})
    yield header.getvalue()
    if not shape:
        yield np.asarray(array).tobytes()
    for first in range(start, stop, _BLOCK):
        yield np.ascontiguousarray(array[first : min(first + _BLOCK, stop)]).tobytes()
