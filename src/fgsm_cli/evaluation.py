"""Counting right answers under attack; norms, health and budget measured afresh.

    judged = judge(classifier, images, attacks, batch_size=1000)

The evaluator trusts no attack: it takes the clean and the adversarial images, asks the model
itself, and measures how far each pixel moved in float64. A pixel outside the range, beyond
epsilon or not a number is an error, and logits that are not finite are never a right answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .attacks import crafter, hyperparameters, mover
from .backend import compiled, tf
from .data import PIXEL_RANGE, ImageSet
from .errors import FgsmError
from .examples import Examples
from .family import Attack, Loss
from .gradients import get_grads
from .models import Classifier
from .results import AttackResult
from .training import Progress

Keep = Callable[[int, int, NDArray[np.float32]], None]

BUDGET_TOLERANCE = 1e-6


@dataclass
class _Tally:
    """What is counted of one attack, batch after batch."""

    adversarial_correct: int = 0
    flipped: int = 0
    linf_max: float = 0.0
    unchanged: int = 0
    broken: int = 0


@dataclass
class _Health:
    """What is counted of the clean images and their gradients, whatever the attack."""

    clean_correct: int = 0
    zero_gradients: int = 0
    broken_gradients: int = 0
    broken_logits: int = 0


def judge(
    classifier: Classifier,
    images: ImageSet,
    attacks: Sequence[Attack],
    *,
    batch_size: int,
    progress: Progress,
    keep: Keep | None = None,
) -> tuple[int, tuple[AttackResult, ...], tuple[str, ...]]:
    """Attack every image with every attack; count what is still right.

    keep(position, start, x_adv) receives the adversarial batches of the attack at that
    position, each with the place of its first image.
    Returns the clean count, one result an attack, and warnings that concern the model.
    Raises FgsmError if an attack leaves its budget or the pixel range.
    """
    health, tallies = _Health(), [_Tally() for _ in attacks]
    clean, score = _clean(classifier, attacks[0].loss), _score(classifier)
    done = 0
    for x, y in images.batches(batch_size):
        x, y = tf.constant(x), tf.constant(y)
        right, gradient, zero, broken, unsure = clean(x, y)
        health.clean_correct += _count(right)
        health.zero_gradients += _count(zero)
        health.broken_gradients += _count(broken)
        health.broken_logits += _count(unsure)
        for position, x_adv in _crafted(classifier, x, y, gradient, attacks):
            still, linf, low, high, same, lost = score(x, x_adv, y)
            _check_budget(attacks[position], float(linf), float(low), float(high))
            tally = tallies[position]
            tally.adversarial_correct += _count(still)
            tally.flipped += _count(right & ~still)
            tally.linf_max = max(tally.linf_max, float(linf))
            tally.unchanged += _count(same)
            tally.broken += _count(lost)
            if keep:
                keep(position, done, x_adv.numpy())
        done += len(y)
        progress("Attacking", done, len(images), "")
    results = tuple(
        AttackResult(
            attack=attack,
            n=len(images),
            clean_correct=health.clean_correct,
            adversarial_correct=tally.adversarial_correct,
            flipped=tally.flipped,
            zero_gradients=health.zero_gradients,
            linf_max=tally.linf_max,
            warnings=tuple(_attack_warnings(attack, tally, health, len(images))),
        )
        for attack, tally in zip(attacks, tallies, strict=True)
    )
    return health.clean_correct, results, tuple(_model_warnings(classifier, health, len(images)))


def _crafted(
    classifier: Classifier, x: Any, y: Any, gradient: Any, attacks: Sequence[Attack]
) -> Iterator[tuple[int, Any]]:
    """Each attack's position and adversarial batch; direct attacks share the one gradient."""
    for position, attack in enumerate(attacks):
        if attack.is_direct:
            length = tf.constant(attack.epsilon * attack.step_size, x.dtype)
            yield position, mover(attack.norm)(x, gradient, length)
        else:
            craft = crafter(classifier, attack)
            yield position, craft(x, y, *hyperparameters(attack, x.dtype))


def judge_examples(
    classifier: Classifier, examples: Examples, *, batch_size: int, progress: Progress
) -> tuple[int | None, AttackResult]:
    """Score a saved adversarial set; where its clean images are known, also its budget.

    Unlike an attack of our own, a set that moved farther than it says is a warning: it is
    what it is, and the measured distance stands in the result.
    """
    score = _score(classifier)
    known = examples.clean is not None
    tally, clean_correct, out_of_range = _Tally(), 0, False
    low, high = PIXEL_RANGE
    for start in range(0, len(examples), batch_size):
        part = slice(start, start + batch_size)
        x_adv, y = tf.constant(examples.pixels(part)), tf.constant(examples.labels[part])
        x = tf.constant(examples.clean_pixels(part)) if known else x_adv
        still, linf, lowest, highest, same, lost = score(x, x_adv, y)
        tally.adversarial_correct += _count(still)
        tally.broken += _count(lost)
        out_of_range |= not (low <= float(lowest) and float(highest) <= high)
        if known:
            right = score(x, x, y)[0]
            clean_correct += _count(right)
            tally.flipped += _count(right & ~still)
            tally.linf_max = max(tally.linf_max, float(linf))
            tally.unchanged += _count(same)
        progress("Scoring", min(start + batch_size, len(examples)), len(examples), "")
    result = AttackResult(
        attack=examples.attack,
        n=len(examples),
        clean_correct=clean_correct if known else None,
        adversarial_correct=tally.adversarial_correct,
        flipped=tally.flipped if known else None,
        zero_gradients=None,
        linf_max=tally.linf_max if known else None,
        warnings=tuple(_examples_warnings(examples, tally, out_of_range)),
    )
    return result.clean_correct, result


def _clean(classifier: Classifier, loss: Loss) -> Any:
    """Compiled: (x, y) -> right, gradient, zero, not finite, logits not finite; by sample."""

    @compiled
    def clean(x: Any, y: Any) -> Any:
        right, unsure = _right(classifier, x, y)
        gradient = get_grads(classifier, x, y, loss=loss)
        flat = tf.reshape(gradient, (tf.shape(gradient)[0], -1))
        largest = tf.reduce_max(tf.abs(flat), axis=1)
        broken = ~tf.reduce_all(tf.math.is_finite(flat), axis=1)
        return right, gradient, tf.equal(largest, 0), broken, unsure

    return clean


def _score(classifier: Classifier) -> Any:
    """Compiled: (x, x_adv, y) -> still right, Linf, lowest, highest, unchanged, not finite.

    Images that are not finite are never right; norm and range are those of the others.
    """

    @compiled
    def score(x: Any, x_adv: Any, y: Any) -> Any:
        still, _ = _right(classifier, x_adv, y)
        flat = tf.reshape(x_adv, (tf.shape(x)[0], -1))
        lost = ~tf.reduce_all(tf.math.is_finite(flat), axis=1)
        moved = tf.cast(flat, tf.float64) - tf.cast(tf.reshape(x, tf.shape(flat)), tf.float64)
        farthest = tf.reduce_max(tf.abs(moved), axis=1)
        return (
            still & ~lost,
            tf.reduce_max(tf.where(lost, tf.zeros_like(farthest), farthest)),
            tf.reduce_min(tf.where(lost, PIXEL_RANGE[1], tf.reduce_min(flat, axis=1))),
            tf.reduce_max(tf.where(lost, PIXEL_RANGE[0], tf.reduce_max(flat, axis=1))),
            tf.equal(farthest, 0),
            lost,
        )

    return score


def _right(classifier: Classifier, x: Any, y: Any) -> tuple[Any, Any]:
    """Which samples are classified right, and whose logits are not finite (so never right)."""
    scores = classifier(x)
    unsure = ~tf.reduce_all(tf.math.is_finite(scores), axis=1)
    return tf.equal(tf.argmax(scores, axis=1), y) & ~unsure, unsure


def _count(flags: Any) -> int:
    return int(np.count_nonzero(flags))


def _check_budget(attack: Attack, linf: float, lowest: float, highest: float) -> None:
    low, high = PIXEL_RANGE
    if not (lowest >= low and highest <= high):
        raise FgsmError(
            f"{attack.name} left the pixel range {low:g}..{high:g}: {lowest}..{highest}; "
            "its numbers would mean nothing"
        )
    if not linf <= attack.epsilon + BUDGET_TOLERANCE:
        raise FgsmError(
            f"{attack.name} moved a pixel by {linf}, more than epsilon {attack.epsilon}; "
            "its numbers would mean nothing"
        )


def _attack_warnings(attack: Attack, tally: _Tally, health: _Health, n: int) -> Iterator[str]:
    low, high = PIXEL_RANGE
    if attack.epsilon > high - low:
        yield (
            f"epsilon {attack.epsilon:g} is wider than the pixel range {low:g}..{high:g}; "
            f"a value counted in grey levels is written {attack.epsilon:g}/255"
        )
    if tally.broken:
        yield (
            f"{tally.broken:,} of {n:,} images came out as no numbers, for want of a finite "
            "gradient; they are counted as wrong"
        )
    stuck = tally.unchanged - health.zero_gradients
    if attack.epsilon and stuck > 0:
        yield f"{stuck:,} of {n:,} images came out unchanged although they have a gradient"


def _model_warnings(classifier: Classifier, health: _Health, n: int) -> Iterator[str]:
    if classifier.head == "probabilities":
        yield (
            "the model gives probabilities whose logits could not be recovered; their logarithm "
            "is used, and where one rounds to 0 its share of the gradient is lost"
        )
    if health.zero_gradients:
        yield (
            f"{health.zero_gradients:,} of {n:,} images have a zero gradient: no gradient attack "
            "moves them, so their accuracy says nothing about robustness"
        )
    if health.broken_gradients:
        yield f"{health.broken_gradients:,} of {n:,} images have a gradient that is not finite"
    if health.broken_logits:
        yield (
            f"{health.broken_logits:,} of {n:,} images have logits that are not finite; "
            "they are counted as wrong"
        )


def _examples_warnings(examples: Examples, tally: _Tally, out_of_range: bool) -> Iterator[str]:
    low, high = PIXEL_RANGE
    if tally.broken:
        yield (
            f"{tally.broken:,} of {len(examples):,} images are not finite; "
            "they are counted as wrong"
        )
    if out_of_range:
        yield f"the saved images leave the pixel range {low:g}..{high:g}"
    if examples.clean is None:
        yield "the set's clean images are not at hand: its clean accuracy and norms are unknown"
        return
    if examples.epsilon is not None and tally.linf_max > examples.epsilon + BUDGET_TOLERANCE:
        yield (
            f"a pixel moved by {tally.linf_max:.6g}, more than the set's own epsilon "
            f"{examples.epsilon:g}; was it made from other images, or saved in 8 bits?"
        )
    if tally.unchanged:
        yield f"{tally.unchanged:,} of {len(examples):,} images equal their clean image"
