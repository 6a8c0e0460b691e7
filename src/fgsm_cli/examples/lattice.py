"""Eight bits: adversarial pixels as whole grey levels, still inside the ball.

Rounding each pixel by itself can leave the ball, and truncating pulls every pixel one way. So
the move is rounded, not the pixel: in grey levels, away from the original image's own levels.

    levels = to_grey_levels(x_adv, x, epsilon=0.1, norm="linf")    # uint8, within floor(25.5)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..family import Norm

LEVELS = 255
# What counting epsilon in grey levels may lose: 8/255 times 255 is 8, give or take this.
SLACK = 1e-4


def to_grey_levels(
    x_adv: NDArray[np.float32], x: NDArray[np.float32], *, epsilon: float, norm: Norm
) -> NDArray[np.uint8]:
    """Adversarial images on the 0..255 lattice, at most epsilon from the clean ones on it.

    x_adv, x: (n, ...), in 0..1. A pixel moves as it did, rounded to the nearest level, or less;
    never the other way. In linf no pixel moves more than floor(255 epsilon) levels; in l2 and l1
    the moves are cut to whole levels, and as many of them as the ball has room for are
    rounded up, those that lost most first.
    """
    origin = np.rint(x.astype(np.float64) * LEVELS)
    move = ((x_adv.astype(np.float64) - x) * LEVELS).reshape(len(x), -1)
    far, room = np.abs(move) + SLACK / move.shape[1], epsilon * LEVELS + SLACK
    if norm == "linf":
        whole = np.minimum(np.floor(far + 0.5), np.floor(room))
    else:
        whole = np.floor(far)
        cost = 2 * whole + 1 if norm == "l2" else np.ones_like(whole)
        spent = (whole**2 if norm == "l2" else whole).sum(axis=1, keepdims=True)
        left = (room**2 if norm == "l2" else room) - spent
        lost = far - whole
        order = np.argsort(-lost, axis=1, kind="stable")
        ordered = np.take_along_axis(np.where(lost >= 0.5, cost, np.inf), order, axis=1)
        ups = np.zeros_like(whole)
        np.put_along_axis(ups, order, np.cumsum(ordered, axis=1) <= left, axis=1)
        whole += ups
    levels: NDArray[Any] = origin + (np.sign(move) * whole).reshape(x.shape)
    whole_levels: NDArray[np.uint8] = np.clip(levels, 0, LEVELS).astype(np.uint8)
    return whole_levels
