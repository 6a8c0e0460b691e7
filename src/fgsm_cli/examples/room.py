"""Room for the adversarial images of a whole set while they are made: in memory, or on disk.

kept = room((1_000_000, 28, 28), "adv.npz")
kept[indices] = x_adv                # in any order, and again where a later try is better
kept[0:1000]
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.stored import Spool

IN_MEMORY = 256 * 2**20


def room(shape: tuple[int, ...], target: str) -> Any:
    """An array (n, ...) of float32 to fill; beyond 256 MB it is a temporary file.

    Raises FgsmError where the disk has no room for it; ``target`` is named.
    """
    size = 4 * math.prod(shape)
    return np.empty(shape, np.float32) if size <= IN_MEMORY else OnDisk(shape, Spool(target, size))


@dataclass(frozen=True, eq=False)
class OnDisk:
    """An array in a temporary file, mapped anew at each access so that memory stays small."""

    shape: tuple[int, ...]
    spool: Spool

    dtype = np.dtype(np.float32)

    def __post_init__(self) -> None:
        self.spool.file.truncate(4 * math.prod(self.shape))

    def _mapped(self, mode: Any) -> NDArray[np.float32]:
        return np.memmap(self.spool.path, np.float32, mode, shape=self.shape)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __setitem__(self, key: Any, values: Any) -> None:
        self._mapped("r+")[key] = values

    def __getitem__(self, key: Any) -> NDArray[np.float32]:
        return np.array(self._mapped("r")[key])
