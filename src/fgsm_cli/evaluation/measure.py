"""What is measured of a batch of images, whoever made them: answers, gradients, distances.

right = look_at(classifier)(x, y)[1]
x_adv = ...
still, *_ = score_of(classifier, "linf")(x, x_adv, y, y)
"""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backend import compiled, tf
from ..data import PIXEL_RANGE, ImageSet
from ..distribution import ALONE, Crew, Found
from ..errors import FgsmError
from ..family import Attack, Loss, Norm
from ..gradients import get_grads
from ..models import Classifier
from ..norms import NORMS

Flags = NDArray[np.bool_]

BUDGET_TOLERANCE = 1e-6


class Scored(NamedTuple):
    """What became of a batch: by sample, and over all that are finite the extreme pixels."""

    still: Any  # classified right
    hit: Any  # classified as the aim
    answer: Any
    confidence: Any  # the answer's probability
    lost: Any  # no finite numbers
    distance: Any  # in the attack's norm
    linf: Any
    lowest: Any
    highest: Any

    @classmethod
    def of(cls, found: "Scored") -> "Scored":
        """The same as arrays."""
        return cls(*(part.numpy() for part in found))


@dataclass
class Outcome:
    """What became of each image under one contest."""

    still: Flags  # classified right
    hit: Flags  # classified as the target
    idle: Flags  # its target is its label: left alone, and counted apart
    lost: Flags  # came out as no finite numbers
    changed: Flags  # classified otherwise than before
    answer: NDArray[np.int64]
    confidence: NDArray[np.float64]  # the answer's probability
    distance: NDArray[np.float64]  # in the attack's norm
    linf: NDArray[np.float64]

    @classmethod
    def of(cls, n: int) -> "Outcome":
        """Nothing known yet of n images."""
        still, hit, idle, lost, changed = (np.zeros(n, bool) for _ in range(5))
        numbers = (np.zeros(n) for _ in range(3))
        return cls(still, hit, idle, lost, changed, np.zeros(n, np.int64), *numbers)

    @property
    def error_confidence(self) -> float | None:
        """The mean probability that the model gives its wrong answers; None if there is none."""
        wrong = self.confidence[~self.still & ~self.lost]
        return float(wrong.mean()) if len(wrong) and np.isfinite(wrong).all() else None

    def standing(self, attack: Attack) -> NDArray[np.intp]:
        """The images that the attack has not yet where it wants them."""
        won = ~self.still if attack.target is None else self.hit | self.idle
        return np.flatnonzero(~won)


def parts(places: NDArray[np.intp], size: int) -> list[NDArray[np.intp]]:
    """The places of images in batches, the last one as large as is left."""
    return [places[start : start + size] for start in range(0, len(places), size)]


def predicted(
    classifier: Classifier, images: ImageSet, batch_size: int, crew: Crew = ALONE
) -> NDArray[np.int64]:
    """The class that the classifier gives each image, (n,)."""

    def work(classifier: Classifier, places: NDArray[np.intp]) -> Found:
        x = tf.constant(images.pixels(int(places[0]), int(places[-1]) + 1))
        return {"answers": _answers_of(classifier)(x).numpy()}

    batches = parts(np.arange(len(images)), batch_size)
    return np.concatenate(
        [found["answers"] for _, found in crew.spread(work, batches, classifier.copies)]
    )


@functools.lru_cache(maxsize=64)
def _answers_of(classifier: Classifier) -> Any:
    """Compiled: x -> the class that the classifier gives each image."""

    @compiled
    def ask(x: Any) -> Any:
        return tf.argmax(classifier(x), axis=1)

    return ask


@functools.lru_cache(maxsize=64)
def look_at(classifier: Classifier) -> Any:
    """Compiled: (x, y) -> logits, which are right, which logits are not finite."""

    @compiled
    def look(x: Any, y: Any) -> Any:
        scores = classifier(x)
        unsure = ~tf.reduce_all(tf.math.is_finite(scores), axis=1)
        return scores, tf.equal(tf.argmax(scores, axis=1), y) & ~unsure, unsure

    return look


@functools.lru_cache(maxsize=64)
def gradient_of(classifier: Classifier, loss: Loss) -> Any:
    """Compiled: (x, aim) -> gradient, and which are zero, partly zero, not finite."""

    @compiled
    def gradient(x: Any, aim: Any) -> Any:
        slopes = get_grads(classifier, x, aim, loss=loss)
        flat = tf.reshape(slopes, (tf.shape(slopes)[0], -1))
        broken = ~tf.reduce_all(tf.math.is_finite(flat), axis=1)
        zeros = tf.math.count_nonzero(tf.equal(flat, 0), axis=1)
        all_zero = tf.equal(zeros, tf.shape(flat, out_type=tf.int64)[1])
        return slopes, all_zero, (zeros > 0) & ~all_zero, broken

    return gradient


@functools.lru_cache(maxsize=64)
def score_of(classifier: Classifier, norm: Norm) -> Any:
    """Compiled: (x, x_adv, y, aim) -> ``Scored``, with distances in float64."""

    @compiled
    def score(x: Any, x_adv: Any, y: Any, aim: Any) -> Any:
        scores = classifier(x_adv)
        flat = tf.reshape(x_adv, (tf.shape(x)[0], -1))
        lost = ~tf.reduce_all(tf.math.is_finite(flat), axis=1)
        sure = tf.reduce_all(tf.math.is_finite(scores), axis=1) & ~lost
        answer = tf.argmax(scores, axis=1)
        moved = tf.cast(flat, tf.float64) - tf.cast(tf.reshape(x, tf.shape(flat)), tf.float64)
        linf = tf.reduce_max(tf.abs(moved), axis=1)
        return Scored(
            tf.equal(answer, y) & sure,
            tf.equal(answer, aim) & sure,
            answer,
            tf.reduce_max(tf.nn.softmax(scores), axis=1),
            lost,
            linf if norm == "linf" else NORMS[norm].size(moved),
            linf,
            tf.reduce_min(tf.where(lost, PIXEL_RANGE[1], tf.reduce_min(flat, axis=1))),
            tf.reduce_max(tf.where(lost, PIXEL_RANGE[0], tf.reduce_max(flat, axis=1))),
        )

    return score


def like(flags: Any, x: Any) -> Any:
    """Flags by sample, shaped to choose between images."""
    return tf.reshape(flags, (-1, *([1] * (x.shape.rank - 1))))


def count(flags: Any) -> int:
    """How many flags are set."""
    return int(np.count_nonzero(flags))


def check_budget(attack: Attack, distance: Any, lowest: float, highest: float) -> None:
    """Raise FgsmError if an image moved farther than epsilon or left the pixel range."""
    low, high = PIXEL_RANGE
    if not (lowest >= low and highest <= high):
        raise FgsmError(
            f"{attack.name} left the pixel range {low:g}..{high:g}: {lowest}..{highest}; "
            "its numbers would mean nothing"
        )
    farthest = max(distance, default=0)
    if not farthest <= attack.epsilon + BUDGET_TOLERANCE * max(1, attack.epsilon):
        raise FgsmError(
            f"{attack.name} moved an image by {farthest} ({attack.norm}), more than epsilon "
            f"{attack.epsilon}; its numbers would mean nothing"
        )
