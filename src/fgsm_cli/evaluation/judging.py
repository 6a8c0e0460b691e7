"""The judge: attacks let at every image, right answers counted, nothing taken on trust.

    judged = judge(classifier, images, [(attack,)], batch_size=1000, seed=0, progress=progress)

The evaluator trusts no attack: it takes the clean and the adversarial images, asks the model
itself, and measures in float64 how far each image moved. A pixel outside the range or an image
beyond epsilon is an error; a logit, gradient or pixel that is not a finite number never counts as
a right answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..attacks import aims, craft, mover, step_length
from ..backend import tf
from ..data import ImageSet
from ..errors import FgsmError
from ..family import Attack, Labels, Loss
from ..models import Classifier
from ..results import AttackResult, GradientHealth, Worst
from ..training import Progress
from . import doubts
from .measure import (
    Flags,
    Outcome,
    Scored,
    check_budget,
    count,
    gradient_of,
    like,
    look_at,
    predicted,
    score_of,
)

Contest = Sequence[Attack]
Keep = Callable[[int, NDArray[np.intp], NDArray[np.float32]], None]

# What an attack's first gradient depends on: attacks that agree in it share one.
Aim = tuple[Loss, Any, Labels]


@dataclass(frozen=True)
class Judged:
    """What a judgement found, image by image and in sum.

    right: (n,), which clean images are classified right; of images without labels, which have an
        answer at all. still: (contests, n), which are after each contest.
    results: one a contest. warnings: what concerns the model.
    clean_correct: None where the images have no labels.
    """

    right: Flags
    still: Flags
    results: tuple[AttackResult, ...]
    warnings: tuple[str, ...]
    clean_correct: int | None


@dataclass
class _Clean:
    """What was found of each clean image, whatever the attack."""

    right: Flags
    unsure: Flags
    answers: NDArray[np.int64]
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

    Images without labels are attacked by the classes that the model gives them; what is right is
    not known then, only which answers changed.

    Raises FgsmError if an attack leaves its budget or the pixel range.
    """
    n, labelled = len(images), images.labels is not None
    if not labelled:
        images = replace(images, labels=predicted(classifier, images, batch_size))
        contests = [[replace(one, labels="predicted") for one in contest] for contest in contests]
    clean = _Clean(np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, np.int64))
    outcomes = [Outcome.of(n) for _ in contests]
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
        _result(contest, outcome, clean, labelled=labelled)
        for contest, outcome in zip(contests, outcomes, strict=True)
    )
    return Judged(
        right=clean.right,
        still=np.stack([outcome.still for outcome in outcomes]),
        results=results,
        warnings=tuple(doubts.of_model(classifier, clean.unsure, labelled=labelled)),
        clean_correct=count(clean.right) if labelled else None,
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
        outcomes: Sequence[Outcome],
        keep: Keep | None,
    ) -> None:
        self.classifier, self.seed = classifier, seed
        self.clean, self.outcomes, self.keep = clean, outcomes, keep
        self.look = look_at(classifier)

    def open(self, indices: NDArray[np.intp], x: Any, y: Any, attacks: Sequence[Attack]) -> None:
        """The clean answers, and the first try of each contest; one gradient for each aim."""
        scores, right, unsure = self.look(x, y)
        self.clean.right[indices], self.clean.unsure[indices] = right, unsure
        self.clean.answers[indices] = tf.argmax(scores, axis=1)
        gradients: dict[Aim, Any] = {}
        for position, attack in enumerate(attacks):
            aim = aims(attack, scores, y, indices, self.seed)
            key = (attack.loss, attack.target, attack.labels)
            if key not in gradients:
                gradients[key], *health = gradient_of(self.classifier, attack.loss)(x, aim)
                self.clean.gradients.setdefault(key, _Gradients()).add(*health)
            if attack.is_direct:
                length = step_length(attack, x.dtype)
                x_adv = mover(attack.norm, x.shape.rank)(x, gradients[key], length)
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
        x_adv = tf.where(like(idle, x), x, x_adv)
        found = Scored.of(score_of(self.classifier, attack.norm)(x, x_adv, y, aim))
        check_budget(attack, found.distance[~found.lost], found.lowest, found.highest)
        chosen = every | (~found.still if attack.target is None else found.hit)
        at = indices[chosen]
        outcome.still[at], outcome.lost[at] = found.still[chosen], found.lost[chosen]
        outcome.hit[at], outcome.idle[at] = (found.hit & ~idle)[chosen], idle.numpy()[chosen]
        outcome.changed[at] = (found.answer != self.clean.answers[indices])[chosen]
        outcome.confidence[at] = found.confidence[chosen]
        outcome.distance[at], outcome.linf[at] = found.distance[chosen], found.linf[chosen]
        if self.keep and len(at):
            kept = tf.where(like(found.lost, x), x, x_adv)  # what is no number is kept as it was
            self.keep(position, at, kept.numpy()[chosen])


def _result(contest: Contest, outcome: Outcome, clean: _Clean, *, labelled: bool) -> AttackResult:
    first = contest[0]
    found = clean.gradients[(first.loss, first.target, first.labels)]
    health = GradientHealth(
        found.zero, found.partly_zero, found.broken, int(np.sum(outcome.distance == 0))
    )
    targeted = first.target is not None
    return AttackResult(
        attack=first if len(contest) == 1 else Worst(tuple(contest)),
        n=len(clean.right),
        clean_correct=count(clean.right) if labelled else None,
        adversarial_correct=count(outcome.still) if labelled else None,
        flipped=count(clean.right & ~outcome.still) if labelled else None,
        changed=count(outcome.changed),
        error_confidence=outcome.error_confidence if labelled else None,
        target_hits=count(outcome.hit) if targeted else None,
        target_is_label=count(outcome.idle) if targeted else None,
        gradients=health,
        linf_max=float(outcome.linf.max()),
        distance_max=float(outcome.distance.max()),
        warnings=tuple(doubts.of_attack(first, outcome, health, count(~clean.right))),
    )
