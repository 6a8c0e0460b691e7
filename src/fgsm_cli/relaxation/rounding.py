"""What float32 may add to a margin: a bound on the error of a network's own forward pass.

    sure = found - slack(network, rows, boxes)

A bound is proved for exact numbers, and the network computes with rounded ones. A sum of n
products, in whatever order, is off by at most gamma_n = n u / (1 - n u) times the sum of their
sizes, u = 2^-24 (Higham 2002, section 3.1); that error spreads through the layers behind as any
other change does. A margin is called positive only where it is above all of it. The bounds
themselves are computed in float64, whose u is 2^-29 of that: one part in a hundred more of the
slack is many times what they can be off by.

This holds of products that are rounded to float32 and added up in float32, or better; not of
TF32, nor of convolutions by transforms (Winograd, FFT).
"""

from typing import Any

from ..backend import tf
from .bounds import Box, least
from .network import Linear, Network

_UNIT = 2.0**-24
_ALSO_FLOAT64 = 1.01
# What is rounded to zero is off by no more than this.
_UNDERFLOW = 2.0**-120


def slack(network: Network, rows: Any, boxes: list[Box]) -> Any:
    """How far linear functions of the logits may lie from what float32 makes of them.

    rows: (batch, rows, classes). boxes: of every value. Returns (batch, rows), in float64.
    """
    errors, fresh = _errors(network, boxes)
    still = [(tf.zeros_like(error), tf.zeros_like(error)) for error in errors]
    moved = [(-error, error) for error in errors]
    # The errors of the last rectifiers pass through the linear steps behind them, as one.
    passed = least(network, None, rows, still) - least(network, None, rows, moved)
    return _ALSO_FLOAT64 * (passed + tf.reduce_sum(tf.abs(rows) * fresh[:, tf.newaxis], axis=-1))


def _errors(network: Network, boxes: list[Box]) -> tuple[list[Any], Any]:
    """Of each value, how far off float32 may be; and the logits, were no rectifier off."""
    pixels = boxes[0][0]
    errors, own = [tf.zeros_like(pixels)], [tf.zeros_like(pixels)]
    for step in network.steps:
        before = [errors[place] for place in step.inputs]
        fresh = [own[place] for place in step.inputs]
        sizes = [tf.maximum(tf.abs(boxes[one][0]), tf.abs(boxes[one][1])) for one in step.inputs]
        if isinstance(step, Linear):
            added = _added(network, step, sizes, before)
            spread = step.within or step.spread
            errors.append(spread(*before) + added)
            own.append(spread(*fresh) + added)
        else:
            [error], [size] = before, sizes
            error += step.slope * _UNIT * (size + error)
            is_off = boxes[step.inputs[0]][1] + error <= 0
            errors.append(tf.where(is_off & (step.slope == 0), tf.zeros_like(error), error))
            own.append(tf.zeros_like(error))
    return errors, own[-1]


def _added(network: Network, step: Linear, sizes: list[Any], errors: list[Any]) -> Any:
    """The error that a linear step adds of its own, on inputs of these sizes and errors."""
    if not step.terms:
        return 0.0
    n = step.terms + 2
    zeros = [tf.zeros((1, *network.shapes[place]), sizes[0].dtype) for place in step.inputs]
    offset = step.map(*zeros)
    size = tf.abs(offset)
    if step.centre is not None:
        middle = step.map(tf.constant(step.centre, offset.dtype))
        size = tf.abs(middle) + tf.abs(offset - middle)
    whole = [one + error for one, error in zip(sizes, errors, strict=True)]
    return n * _UNIT / (1 - n * _UNIT) * (step.spread(*whole) + size) + _UNDERFLOW
