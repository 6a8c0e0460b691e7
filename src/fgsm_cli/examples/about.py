"""What a saved set says of itself, whatever its form."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError
from ..family import Norm


@dataclass(frozen=True, eq=False)
class About:
    """What a saved set says of itself.

    labels, indices: (n,), integers, or None. epsilon: on the 0..1 pixel scale. attack: its
    settings. data, split: the name or path of the image set it was made from, and which half.
    """

    labels: NDArray[Any] | None
    indices: NDArray[Any] | None
    epsilon: float | None
    attack: Mapping[str, Any] | None
    data: str
    split: str
    model_sha256: str

    @property
    def norm(self) -> Norm:
        """The norm that the attack was measured in."""
        norm: Norm = (self.attack or {}).get("norm", "linf")
        return norm


def checked_epsilon(epsilon: Any, path: str) -> float | None:
    """The epsilon of a set as a number, None if it says none. Raises FgsmError for nonsense."""
    if epsilon is None:
        return None
    epsilon = np.asarray(epsilon)
    if epsilon.shape != () or epsilon.dtype.kind not in "iuf" or not math.isfinite(epsilon):
        raise FgsmError(f"the epsilon of {path} must be one finite number. Received: {epsilon}")
    return float(epsilon)
