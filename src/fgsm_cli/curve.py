"""The whole curve from one gradient: accuracy at every epsilon, and where each image flips.

    found = trace_curve(classifier, images, attack, epsilons, batch_size=1000, progress=progress)

A direct attack (one step from the image) has one direction for every epsilon. So a gradient an
image is all that is taken; the rest is moving along it and asking the model.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .attacks import aims
from .backend import compiled, tf
from .data import PIXEL_RANGE, ImageSet
from .distribution import ALONE, Crew, Found, note_of_fitting
from .evaluation import check_budget, gradient_of, look_at, parts
from .family import Attack, Norm
from .models import Classifier
from .norms import NORMS
from .training import Progress

RESOLUTION = 1e-4


@dataclass(frozen=True)
class Traced:
    """What was found of each image along its direction.

    right: (epsilons, n), whether it is classified right at each epsilon of the grid.
    smallest: (n,), the smallest epsilon found at which it is wrong, on a forward pass; 0 where
        it is wrong to begin with, NaN where it is right at every epsilon tried.
    zero_gradients: how many images have a gradient that is zero in every pixel.
    notes: what a reader of the curve should know, in sentences.
    """

    right: NDArray[np.bool_]
    smallest: NDArray[np.float64]
    zero_gradients: int
    notes: tuple[str, ...] = ()


def trace_curve(
    classifier: Classifier,
    images: ImageSet,
    attack: Attack,
    epsilons: Sequence[float],
    *,
    batch_size: int,
    progress: Progress,
    crew: Crew = ALONE,
) -> Traced:
    """Follow each image along its one direction, over a rising grid of epsilons from 0.

    The first epsilon of the grid that turns an image is narrowed down by bisection between it
    and the one before, to 1e-4. An image may turn back farther on; the grid shows it.
    Raises FgsmError if an image leaves the budget or the pixel range.
    """
    n, grid = len(images), np.array(epsilons)
    right, smallest, zeros = np.zeros((len(grid), n), bool), np.full(n, np.nan), 0
    notes: dict[str, None] = {}

    def work(classifier: Classifier, places: NDArray[np.intp]) -> Found:
        batch = images.take(places)
        x, y = tf.constant(batch.pixels()), tf.constant(batch.known_labels)
        direction, zero = direction_of(classifier, attack, x, y, places)
        stands = functools.partial(_stands, classifier, x, direction, y)
        rows = stands(grid[:, np.newaxis])
        _audit(attack, x, direction, float(grid[-1]))
        return {"right": rows.T, "smallest": _narrowed(stands, rows, grid), "zero": zero.numpy()}

    for places, found in crew.spread(work, parts(np.arange(n), batch_size), classifier.copies):
        right[:, places], smallest[places] = found["right"].T, found["smallest"]
        zeros += int(np.count_nonzero(found["zero"]))
        if note := note_of_fitting(found, batch_size):
            notes[note] = None
        progress("Tracing", int(places[-1]) + 1, n, "")
    return Traced(right, smallest, zeros, tuple(notes))


def trace_noise(
    classifier: Classifier,
    images: ImageSet,
    norm: Norm,
    epsilons: Sequence[float],
    *,
    batch_size: int,
    seed: int,
    progress: Progress,
) -> tuple[int, ...]:
    """The control of a curve: right answers along the steepest step of a random gradient.

    For Linf a random sign in every pixel, for L2 a point drawn uniformly from the sphere; each
    image keeps its own at every epsilon.
    """
    n, grid = len(images), np.array(epsilons)
    correct = np.zeros(len(grid), int)
    for start in range(0, n, batch_size):
        batch = images.take(np.arange(start, min(start + batch_size, n)))
        x, y = tf.constant(batch.pixels()), tf.constant(batch.known_labels)
        noise = NORMS[norm].steepest(tf.random.stateless_normal(x.shape, (seed, start)))
        correct += _stands(classifier, x, noise, y, grid[:, np.newaxis]).sum(axis=1)
        progress("Noise", start + len(batch), n, "")
    return tuple(int(one) for one in correct)


def direction_of(
    classifier: Classifier, attack: Attack, x: Any, y: Any, places: Any
) -> tuple[Any, Any]:
    """The step of norm 1 that a direct attack goes from x, and whose gradient is zero."""
    toward = -1 if attack.target is not None else 1
    aim = aims(attack, look_at(classifier)(x, y)[0], y, places, 0)
    slopes, zero, *_ = gradient_of(classifier, attack.loss)(x, aim)
    return toward * NORMS[attack.norm].steepest(slopes), zero


Stands = Callable[[NDArray[np.float64]], NDArray[np.bool_]]


def _stands(classifier: Classifier, x: Any, direction: Any, y: Any, lengths: Any) -> Any:
    """(k, n): which images are right so far along their direction.

    lengths: (k, 1), as far for all images, which is multiplied faster, or (k, n), each its own.
    """
    far = lengths[:, 0] if lengths.shape[1] == 1 else lengths
    return _ask(classifier, far.ndim - 1)(x, direction, tf.constant(far, tf.float32), y).numpy()


@functools.lru_cache(maxsize=64)
def _ask(classifier: Classifier, rank: int) -> Any:
    """Compiled: (x, direction, lengths, y) -> which images are classified right at each length.

    lengths: (k,), numbers for all images (rank 0), or (k, batch), one for each (rank 1).
    """

    @compiled
    def ask(x: Any, direction: Any, lengths: Any, y: Any) -> Any:
        def right(length: Any) -> Any:
            far = tf.reshape(length, (-1, *([1] * (x.shape.rank - 1)))) if rank else length
            scores = classifier(tf.clip_by_value(x + far * direction, *PIXEL_RANGE))
            finite = tf.reduce_all(tf.math.is_finite(scores), axis=1)
            return tf.equal(tf.argmax(scores, axis=1), y) & finite

        # Two at a time, for what one leaves idle; more take memory and no less time.
        return tf.map_fn(
            right,
            lengths,
            parallel_iterations=2,
            fn_output_signature=tf.TensorSpec([None], tf.bool),
        )

    return ask


def _narrowed(
    stands: Stands, right: NDArray[np.bool_], grid: NDArray[np.float64]
) -> NDArray[np.float64]:
    """By bisection, the smallest epsilon found wrong; every value returned was asked."""
    turned = ~right.all(axis=0)
    first = np.argmin(right, axis=0)
    high = np.where(turned, grid[first], grid[-1])
    low = np.where(turned & (first > 0), grid[first - 1], high)
    while (high - low).max() > RESOLUTION:
        middle = (low + high) / 2
        (standing,) = stands(middle[np.newaxis])
        low, high = np.where(standing, middle, low), np.where(standing, high, middle)
    return np.where(turned, high, np.nan)


def _audit(attack: Attack, x: Any, direction: Any, farthest: float) -> None:
    """Check the largest step in float64; the smaller ones go the same way."""
    x_adv = tf.clip_by_value(x + tf.constant(farthest, x.dtype) * direction, *PIXEL_RANGE)
    moved = NORMS[attack.norm].size(tf.cast(x_adv, tf.float64) - tf.cast(x, tf.float64)).numpy()
    low, high = float(tf.reduce_min(x_adv)), float(tf.reduce_max(x_adv))
    check_budget(replace(attack, epsilon=farthest), moved[np.isfinite(moved)], low, high)
