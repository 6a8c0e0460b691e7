"""Counting right answers under attack; norms, health and budget measured afresh.

    judged = judge(classifier, images, [(attack,)], batch_size=1000, seed=0, progress=progress)

The evaluator trusts no attack: it takes the clean and the adversarial images, asks the model
itself, and measures in float64 how far each image moved. A pixel outside the range or an image
beyond epsilon is an error; a logit, gradient or pixel that is not a finite number never counts as
a right answer.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .attacks import aims, craft, mover, step_length
from .backend import compiled, tf
from .data import PIXEL_RANGE, ImageSet
from .errors import FgsmError
from .examples import Examples
from .family import Attack, Labels, Loss, Norm
from .gradients import get_grads
from .models import Classifier
from .norms import NORMS
from .results import AttackResult, GradientHealth, Worst
from .training import Progress

Contest = Sequence[Attack]
Keep = Callable[[int, NDArray[np.intp], NDArray[np.float32]], None]
Flags = NDArray[np.bool_]

# What an attack's first gradient depends on: attacks that agree in it share one.
Aim = tuple[Loss, Any, Labels]

BUDGET_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Judged:
    """What a judgement found, image by image and in sum.

    right: (n,), which clean images are classified right. still: (contests, n), which are after
    each contest. results: one a contest. warnings: what concerns the model.
    """

    right: Flags
    still: Flags
    results: tuple[AttackResult, ...]
    warnings: tuple[str, ...]


@dataclass
class _Outcome:
    """What became of each image under one contest."""

    still: Flags  # classified right
    hit: Flags  # classified as the target
    idle: Flags  # its target is its label: left alone, and counted apart
    lost: Flags  # came out as no finite numbers
    distance: NDArray[np.float64]  # in the attack's norm
    linf: NDArray[np.float64]

    @classmethod
    def of(cls, n: int) -> "_Outcome":
        still, hit, idle, lost = (np.zeros(n, bool) for _ in range(4))
        return cls(still, hit, idle, lost, np.zeros(n), np.zeros(n))

    def standing(self, attack: Attack) -> NDArray[np.intp]:
        """The images that the attack has not yet where it wants them."""
        won = ~self.still if attack.target is None else self.hit | self.idle
        return np.flatnonzero(~won)


@dataclass
class _Clean:
    """What was found of each clean image, whatever the attack."""

    right: Flags
    unsure: Flags
    gradients: dict[Aim, "_Gradients"] = field(default_factory=dict)


@dataclass
class _Gradients:
    zero: int = 0
    partly_zero: int = 0
    broken: int = 0

    def add(self, zero: Any, partly_zero: Any, broken: Any) -> None:
        self.zero += int(zero)
        self.partly_zero += int(partly_zero)
        self.broken += int(broken)


def judge(
    classifier: Classifier,
    images: ImageSet,
    contests: Sequence[Contest],
    *,
    batch_size: int,
    seed: int,
    progress: Progress,
    keep: Keep | None = None,
) -> Judged:
    """Attack every image in every contest; count what is still right.

    contests: each one attack, or several whose per-sample worst is wanted. Of a contest's tries
        (its attacks, each with its restarts) the first meets every image, each further one only
        those that no try before it has turned.
    keep(position, indices, x_adv) receives the adversarial images of the contest at that
        position; an image turned by a later try comes again.

    Raises FgsmError if an attack leaves its budget or the pixel range.
    """
    n = len(images)
    clean = _Clean(np.zeros(n, bool), np.zeros(n, bool))
    outcomes = [_Outcome.of(n) for _ in contests]
    referee = _Referee(classifier, seed, clean, outcomes, keep)
    tries = [
        [(attack, turn) for attack in contest for turn in range(attack.restarts)]
        for contest in contests
    ]
    done, total = 0, n * sum(len(one) for one in tries)
    for indices, x, y in _batches(images, np.arange(n), batch_size):
        referee.open(indices, x, y, [contest[0] for contest in contests])
        done += len(indices) * len(contests)
        progress("Attacking", done, total, "")
    for position, outcome in enumerate(outcomes):
        for attack, turn in tries[position][1:]:
            standing = outcome.standing(attack)
            for indices, x, y in _batches(images, standing, batch_size):
                referee.retry(position, attack, turn, indices, x, y)
            done += n
            progress("Attacking", done, total, f"{len(standing):,} images left")
    for (loss, *_), found in clean.gradients.items():
        if found.broken == n:
            raise FgsmError(
                f"no image has a finite gradient of the loss {loss}; nothing to attack by"
            )
    results = tuple(
        _result(contest, outcome, clean, n)
        for contest, outcome in zip(contests, outcomes, strict=True)
    )
    return Judged(
        right=clean.right,
        still=np.stack([outcome.still for outcome in outcomes]),
        results=results,
        warnings=tuple(_model_warnings(classifier, clean)),
    )


def _batches(
    images: ImageSet, indices: NDArray[np.intp], size: int
) -> Iterator[tuple[NDArray[np.intp], Any, Any]]:
    """Positions, pixels and labels of the chosen images, ``size`` at a time."""
    for start in range(0, len(indices), size):
        chosen = indices[start : start + size]
        batch = images.take(chosen)
        yield chosen, tf.constant(batch.pixels()), tf.constant(batch.known_labels)


class _Referee:
    """Who lets the attacks at a batch of images, and writes down what became of them."""

    def __init__(
        self,
        classifier: Classifier,
        seed: int,
        clean: _Clean,
        outcomes: Sequence[_Outcome],
        keep: Keep | None,
    ) -> None:
        self.classifier, self.seed = classifier, seed
        self.clean, self.outcomes, self.keep = clean, outcomes, keep
        self.look = look_at(classifier)
        self.score = functools.cache(lambda norm: _score(classifier, norm))
        self.gradient = functools.cache(lambda loss: gradient_of(classifier, loss))

    def open(self, indices: NDArray[np.intp], x: Any, y: Any, attacks: Sequence[Attack]) -> None:
        """The clean answers, and the first try of each contest; one gradient for each aim."""
        scores, right, unsure = self.look(x, y)
        self.clean.right[indices], self.clean.unsure[indices] = right, unsure
        gradients: dict[Aim, Any] = {}
        for position, attack in enumerate(attacks):
            aim = aims(attack, scores, y, indices, self.seed)
            key = (attack.loss, attack.target, attack.labels)
            if key not in gradients:
                gradients[key], *health = self.gradient(attack.loss)(x, aim)
                self.clean.gradients.setdefault(key, _Gradients()).add(*health)
            if attack.is_direct:
                length = step_length(attack, x.dtype)
                x_adv = mover(attack.norm)(x, gradients[key], length)
            else:
                x_adv = craft(self.classifier, x, aim, attack, indices, self.seed)
            self._write(position, attack, indices, x, x_adv, y, aim, every=True)

    def retry(
        self, position: int, attack: Attack, turn: int, indices: NDArray[np.intp], x: Any, y: Any
    ) -> None:
        """A further try at images that stood all before it."""
        aim = aims(attack, self.look(x, y)[0], y, indices, self.seed)
        x_adv = craft(self.classifier, x, aim, attack, indices, self.seed, turn)
        self._write(position, attack, indices, x, x_adv, y, aim, every=False)

    def _write(
        self,
        position: int,
        attack: Attack,
        indices: NDArray[np.intp],
        x: Any,
        x_adv: Any,
        y: Any,
        aim: Any,
        *,
        every: bool,
    ) -> None:
        """Note what a try did; of a further try only where it succeeded."""
        outcome = self.outcomes[position]
        idle = tf.equal(aim, y) & (attack.target is not None)
        x_adv = tf.where(_like(idle, x), x, x_adv)
        found = self.score(attack.norm)(x, x_adv, y, aim)
        still, hit, lost, distance, linf, low, high = (part.numpy() for part in found)
        check_budget(attack, distance[~lost], low, high)
        chosen = every | (~still if attack.target is None else hit)
        at = indices[chosen]
        outcome.still[at], outcome.hit[at] = still[chosen], (hit & ~idle)[chosen]
        outcome.idle[at], outcome.lost[at] = idle.numpy()[chosen], lost[chosen]
        outcome.distance[at], outcome.linf[at] = distance[chosen], linf[chosen]
        if self.keep and len(at):
            kept = tf.where(_like(lost, x), x, x_adv)  # what is no number is kept as it was
            self.keep(position, at, kept.numpy()[chosen])


def _result(contest: Contest, outcome: _Outcome, clean: _Clean, n: int) -> AttackResult:
    first = contest[0]
    found = clean.gradients[(first.loss, first.target, first.labels)]
    health = GradientHealth(
        found.zero, found.partly_zero, found.broken, int(np.sum(outcome.distance == 0))
    )
    targeted = first.target is not None
    return AttackResult(
        attack=first if len(contest) == 1 else Worst(tuple(contest)),
        n=n,
        clean_correct=_count(clean.right),
        adversarial_correct=_count(outcome.still),
        flipped=_count(clean.right & ~outcome.still),
        target_hits=_count(outcome.hit) if targeted else None,
        target_is_label=_count(outcome.idle) if targeted else None,
        gradients=health,
        linf_max=float(outcome.linf.max()),
        distance_max=float(outcome.distance.max()),
        warnings=tuple(_attack_warnings(first, outcome, health, _count(~clean.right))),
    )


def judge_examples(
    classifier: Classifier, examples: Examples, *, batch_size: int, progress: Progress
) -> AttackResult:
    """Score a saved adversarial set; where its clean images are known, also its budget.

    Unlike an attack of our own, a set that moved farther than it says is a warning: it is
    what it is, and the measured distance stands in the result.
    """
    n, known = len(examples), examples.clean is not None
    norm: Norm = examples.attack.norm if examples.attack else "linf"
    score, look = _score(classifier, norm), look_at(classifier)
    outcome, right = _Outcome.of(n), np.zeros(n, bool)
    lowest, highest = PIXEL_RANGE[1], PIXEL_RANGE[0]
    for start in range(0, n, batch_size):
        part = slice(start, start + batch_size)
        x_adv, y = tf.constant(examples.pixels(part)), tf.constant(examples.labels[part])
        x = tf.constant(examples.clean_pixels(part)) if known else x_adv
        still, _, lost, distance, linf, low, high = (one.numpy() for one in score(x, x_adv, y, y))
        outcome.still[part], outcome.lost[part] = still, lost
        outcome.distance[part], outcome.linf[part] = distance, linf
        lowest, highest = min(lowest, float(low)), max(highest, float(high))
        if known:
            right[part] = look(x, y)[1].numpy()
        progress("Scoring", min(start + batch_size, n), n, "")
    return AttackResult(
        attack=examples.attack,
        n=n,
        clean_correct=_count(right) if known else None,
        adversarial_correct=_count(outcome.still),
        flipped=_count(right & ~outcome.still) if known else None,
        target_hits=None,
        target_is_label=None,
        gradients=None,
        linf_max=float(outcome.linf.max()) if known else None,
        distance_max=float(outcome.distance.max()) if known else None,
        warnings=tuple(_examples_warnings(examples, outcome, lowest, highest)),
    )


def look_at(classifier: Classifier) -> Any:
    """Compiled: (x, y) -> logits, which are right, which logits are not finite."""

    @compiled
    def look(x: Any, y: Any) -> Any:
        scores = classifier(x)
        unsure = ~tf.reduce_all(tf.math.is_finite(scores), axis=1)
        return scores, tf.equal(tf.argmax(scores, axis=1), y) & ~unsure, unsure

    return look


def gradient_of(classifier: Classifier, loss: Loss) -> Any:
    """Compiled: (x, aim) -> gradient, and how many are zero, partly zero, not finite."""

    @compiled
    def gradient(x: Any, aim: Any) -> Any:
        slopes = get_grads(classifier, x, aim, loss=loss)
        flat = tf.reshape(slopes, (tf.shape(slopes)[0], -1))
        broken = ~tf.reduce_all(tf.math.is_finite(flat), axis=1)
        zeros = tf.math.count_nonzero(tf.equal(flat, 0), axis=1)
        all_zero = tf.equal(zeros, tf.shape(flat, out_type=tf.int64)[1])
        return (
            slopes,
            tf.math.count_nonzero(all_zero),
            tf.math.count_nonzero((zeros > 0) & ~all_zero),
            tf.math.count_nonzero(broken),
        )

    return gradient


def _score(classifier: Classifier, norm: Norm) -> Any:
    """Compiled: (x, x_adv, y, aim) -> by sample: right, at the aim, not finite, distance, Linf;

    and over all that are finite the lowest and the highest pixel. Distances are in float64.
    """

    @compiled
    def score(x: Any, x_adv: Any, y: Any, aim: Any) -> Any:
        scores = classifier(x_adv)
        flat = tf.reshape(x_adv, (tf.shape(x)[0], -1))
        lost = ~tf.reduce_all(tf.math.is_finite(flat), axis=1)
        sure = tf.reduce_all(tf.math.is_finite(scores), axis=1) & ~lost
        answer = tf.argmax(scores, axis=1)
        moved = tf.cast(flat, tf.float64) - tf.cast(tf.reshape(x, tf.shape(flat)), tf.float64)
        linf = tf.reduce_max(tf.abs(moved), axis=1)
        return (
            tf.equal(answer, y) & sure,
            tf.equal(answer, aim) & sure,
            lost,
            linf if norm == "linf" else NORMS[norm].size(moved),
            linf,
            tf.reduce_min(tf.where(lost, PIXEL_RANGE[1], tf.reduce_min(flat, axis=1))),
            tf.reduce_max(tf.where(lost, PIXEL_RANGE[0], tf.reduce_max(flat, axis=1))),
        )

    return score


def _like(flags: Any, x: Any) -> Any:
    """Flags by sample, shaped to choose between images."""
    return tf.reshape(flags, (-1, *([1] * (x.shape.rank - 1))))


def _count(flags: Any) -> int:
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


def _attack_warnings(
    attack: Attack, outcome: _Outcome, health: GradientHealth, wrong: int
) -> Iterator[str]:
    (low, high), n = PIXEL_RANGE, len(outcome.still)
    if attack.norm == "linf" and attack.epsilon > high - low:
        yield (
            f"epsilon {attack.epsilon:g} is wider than the pixel range {low:g}..{high:g}; "
            f"a value counted in grey levels is written {attack.epsilon:g}/255"
        )
    # DLR is constant where the label comes third, which is an image that is wrong already.
    if health.zero > (wrong if attack.loss == "dlr" else 0):
        yield (
            f"{health.zero:,} of {n:,} images have a zero gradient: no gradient attack moves "
            "them, so their accuracy says nothing about robustness"
        )
    if health.not_finite:
        yield f"{health.not_finite:,} of {n:,} images have a gradient that is not finite"
    if lost := _count(outcome.lost):
        yield (
            f"{lost:,} of {n:,} images came out as no numbers, for want of a finite gradient; "
            "they are counted as wrong"
        )
    stuck = health.unchanged - health.zero - _count(outcome.idle)
    if attack.epsilon and stuck > 0 and not attack.row.keeps:
        yield f"{stuck:,} of {n:,} images came out unchanged although they have a gradient"
    if idle := _count(outcome.idle):
        yield (
            f"{idle:,} of {n:,} images have their own label as target; they are left alone and "
            "counted apart"
        )


def _model_warnings(classifier: Classifier, clean: _Clean) -> Iterator[str]:
    yield from classifier.notes
    if unsure := _count(clean.unsure):
        yield (
            f"{unsure:,} of {len(clean.unsure):,} images have logits that are not finite; "
            "they are counted as wrong"
        )


def _examples_warnings(
    examples: Examples, outcome: _Outcome, lowest: float, highest: float
) -> Iterator[str]:
    low, high = PIXEL_RANGE
    n = len(examples)
    if lost := _count(outcome.lost):
        yield f"{lost:,} of {n:,} images are not finite; they are counted as wrong"
    if not low <= lowest <= highest <= high:
        yield f"the saved images leave the pixel range {low:g}..{high:g}"
    if examples.clean is None:
        yield (
            "the set's clean images are not at hand, so its clean accuracy and norms are unknown; "
            "--data names the image set it was made from"
        )
        return
    farthest = outcome.distance.max()
    if examples.epsilon is not None and farthest > examples.epsilon + BUDGET_TOLERANCE:
        yield (
            f"an image moved by {farthest:.6g}, more than the set's own epsilon "
            f"{examples.epsilon:g}; was it made from other images, or saved in 8 bits?"
        )
    if same := _count(outcome.linf == 0):
        yield f"{same:,} of {n:,} images equal their clean image"
