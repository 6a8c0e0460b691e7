"""Norms as values: what Linf, L2 and L1 mean to an attack.

    geometry = NORMS["l2"]
    x_adv = geometry.ball(x, epsilon)(x + epsilon * geometry.steepest(gradient))

Shapes are (batch, ...); a norm is taken over all but the first axis.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backend import tf
from .data import PIXEL_RANGE
from .family import Norm

Projection = Callable[[Any], Any]


@dataclass(frozen=True)
class Geometry:
    """What a norm means to the loop.

    size(moved): the norm of each sample's change.
    steepest(g): the step of norm 1 that raises <step, g> most; 0 where g is 0.
    ball(x, epsilon): the projection on the ball around x, within the pixel range.
    sample(rng, size): a point drawn uniformly from the ball of radius 1 in ``size`` dimensions.
    draw(seed, shape, radius): points of a ball of any radius for a whole batch (batch, ...), inside
        a graph; seed: (2,) integers.
    """

    size: Callable[[Any], Any]
    steepest: Callable[[Any], Any]
    ball: Callable[[Any, Any], Projection]
    sample: Callable[[np.random.Generator, int], NDArray[np.float32]]
    draw: Callable[[Any, Any, Any], Any]


def _axes(x: Any) -> list[int]:
    return list(range(1, x.shape.rank))


def _linf_size(moved: Any) -> Any:
    return tf.reduce_max(tf.abs(moved), axis=_axes(moved))


def _l2_size(moved: Any) -> Any:
    return tf.sqrt(tf.reduce_sum(tf.square(moved), axis=_axes(moved)))


def _l1_size(moved: Any) -> Any:
    return tf.reduce_sum(tf.abs(moved), axis=_axes(moved))


def _linf_ball(x: Any, epsilon: Any) -> Projection:
    low, high = PIXEL_RANGE
    lowest, highest = tf.maximum(x - epsilon, low), tf.minimum(x + epsilon, high)
    # One kernel; tf.clip_by_value makes two of it, and the tail of a step is bound by memory.
    return lambda x_adv: tf.raw_ops.ClipByValue(
        t=x_adv, clip_value_min=lowest, clip_value_max=highest
    )


def _linf_sample(rng: np.random.Generator, size: int) -> NDArray[np.float32]:
    return 2 * rng.random(size, dtype=np.float32) - 1


def _linf_draw(seed: Any, shape: Any, radius: Any) -> Any:
    """On 2^16 points a pixel: two for a number of the generator, the dearest part of one step."""
    size = tf.reduce_prod(shape)
    bits = tf.random.stateless_uniform([(size + 1) // 2], seed, None, None, tf.int32)
    points = tf.reshape(tf.bitcast(bits, tf.int16), [-1])[:size]
    return tf.cast(tf.reshape(points, shape), tf.float32) * (radius / 2.0**15)


def _l2_steepest(gradient: Any) -> Any:
    """G / |g|_2, first divided by its largest entry so that no tiny gradient underflows."""
    largest = tf.reduce_max(tf.abs(gradient), axis=_axes(gradient), keepdims=True)
    scaled = tf.math.divide_no_nan(gradient, largest)
    size = tf.sqrt(tf.reduce_sum(tf.square(scaled), axis=_axes(gradient), keepdims=True))
    return tf.math.divide_no_nan(scaled, size)


def _l2_ball(x: Any, epsilon: Any) -> Projection:
    def project(x_adv: Any) -> Any:
        moved = x_adv - x
        size = tf.sqrt(tf.reduce_sum(tf.square(moved), axis=_axes(x), keepdims=True))
        inside = x + moved * tf.minimum(tf.math.divide_no_nan(epsilon, size), 1)
        # Clipping brings every pixel nearer to x, which lies in the range: still in the ball.
        return tf.clip_by_value(tf.where(size > epsilon, inside, x_adv), *PIXEL_RANGE)

    return project


def _l2_sample(rng: np.random.Generator, size: int) -> NDArray[np.float32]:
    direction = rng.standard_normal(size, dtype=np.float32)
    radius = rng.random() ** (1 / size)
    point: NDArray[np.float32] = direction * np.float32(radius / np.linalg.norm(direction))
    return point


def _l2_draw(seed: Any, shape: Any, radius: Any) -> Any:
    direction = tf.random.stateless_normal(shape, seed)
    size = tf.reduce_prod(shape[1:])
    share = tf.random.stateless_uniform(shape[:1], seed + 1) ** (1 / tf.cast(size, tf.float32))
    return radius * (_wide(share, shape) * _l2_steepest(direction))


def _wide(values: Any, shape: Any) -> Any:
    return tf.reshape(values, tf.concat([shape[:1], tf.ones_like(shape[1:])], axis=0))


def _l1_steepest(gradient: Any) -> Any:
    """The whole step on the pixels of largest gradient, shared where several are equal."""
    size = tf.abs(gradient)
    largest = tf.reduce_max(size, axis=_axes(gradient), keepdims=True)
    best = tf.cast((size == largest) & (largest > 0), gradient.dtype)
    return (
        tf.sign(gradient)
        * best
        / tf.maximum(tf.reduce_sum(best, axis=_axes(gradient), keepdims=True), 1)
    )


def _l1_ball(x: Any, epsilon: Any) -> Projection:
    """Duchi et al. 2008: shrink every entry by the one amount that makes the norm epsilon."""

    def project(x_adv: Any) -> Any:
        moved = tf.reshape(x_adv - x, (tf.shape(x)[0], -1))
        size = tf.abs(moved)
        ordered = tf.sort(size, axis=1, direction="DESCENDING")
        ranks = tf.range(1, tf.shape(moved)[1] + 1)
        excess = (tf.cumsum(ordered, axis=1) - epsilon) / tf.cast(ranks, moved.dtype)
        kept = tf.reduce_sum(tf.cast(ordered > excess, tf.int32), axis=1, keepdims=True)
        threshold = tf.gather(excess, tf.maximum(kept - 1, 0), axis=1, batch_dims=1)
        shrunk = tf.sign(moved) * tf.maximum(size - threshold, 0)
        outside = tf.reduce_sum(size, axis=1, keepdims=True) > epsilon
        inside = tf.reshape(tf.where(outside, shrunk, moved), tf.shape(x))
        return tf.clip_by_value(x + inside, *PIXEL_RANGE)

    return project


def _l1_sample(rng: np.random.Generator, size: int) -> NDArray[np.float32]:
    """Exponential spacings with one to spare are uniform on the simplex's inside."""
    parts = rng.standard_exponential(size + 1, dtype=np.float32)
    signs = np.where(rng.random(size) < 0.5, np.float32(-1), np.float32(1))
    point: NDArray[np.float32] = signs * parts[:size] / parts.sum()
    return point


def _l1_draw(seed: Any, shape: Any, radius: Any) -> Any:
    """Exponential spacings as above: minus the logarithm of uniform numbers, one to spare."""
    size = tf.reduce_prod(shape[1:])
    uniform = tf.random.stateless_uniform((shape[0], size + 1), seed, minval=1e-30)
    parts = -tf.math.log(uniform)
    signs = tf.sign(tf.random.stateless_uniform((shape[0], size), seed + 1, -1, 1))
    points = signs * parts[:, :-1] / tf.reduce_sum(parts, axis=1, keepdims=True)
    return radius * tf.reshape(points, shape)


NORMS: Mapping[Norm, Geometry] = {
    "linf": Geometry(_linf_size, tf.sign, _linf_ball, _linf_sample, _linf_draw),
    "l2": Geometry(_l2_size, _l2_steepest, _l2_ball, _l2_sample, _l2_draw),
    "l1": Geometry(_l1_size, _l1_steepest, _l1_ball, _l1_sample, _l1_draw),
}
