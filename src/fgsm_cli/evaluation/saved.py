"""A saved adversarial set scored: its answers, and how far it lies from its clean images."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..backend import tf
from ..data import PIXEL_RANGE
from ..distribution import ALONE, Crew, Found, note_of_fitting
from ..examples import Examples
from ..family import Norm
from ..models import Classifier
from ..results import AttackResult
from ..training import Progress
from .measure import BUDGET_TOLERANCE, Outcome, Scored, count, look_at, parts, score_of

_ENTERED = ("still", "lost", "confidence", "distance", "linf")


def judge_examples(
    classifier: Classifier,
    examples: Examples,
    *,
    batch_size: int,
    progress: Progress,
    crew: Crew = ALONE,
) -> AttackResult:
    """Score a saved adversarial set; where its clean images are known, also its budget.

    Unlike an attack of our own, a set that moved farther than it says is a warning: it is
    what it is, and the measured distance stands in the result.
    """
    n, known = len(examples), examples.clean is not None
    norm: Norm = examples.attack.norm if examples.attack else "linf"

    def work(classifier: Classifier, places: NDArray[np.intp]) -> Found:
        rows = slice(int(places[0]), int(places[-1]) + 1)
        x_adv, y = tf.constant(examples.pixels(rows)), tf.constant(examples.labels[rows])
        x = tf.constant(examples.clean_pixels(rows)) if known else x_adv
        scored = Scored.of(score_of(classifier, norm)(x, x_adv, y, y))
        found = {name: getattr(scored, name) for name in _ENTERED}
        ends = {"lowest": np.array([scored.lowest]), "highest": np.array([scored.highest])}
        right = {"right": look_at(classifier)(x, y)[1].numpy()} if known else {}
        return {**found, **ends, **right}

    outcome, right = Outcome.of(n), np.zeros(n, bool)
    lowest, highest = PIXEL_RANGE[1], PIXEL_RANGE[0]
    notes: dict[str, None] = {}
    batches = parts(np.arange(n), batch_size)
    for places, found in crew.spread(work, batches, classifier.copies):
        for name in _ENTERED:
            getattr(outcome, name)[places] = found[name]
        lowest = min(lowest, float(found["lowest"].min()))
        highest = max(highest, float(found["highest"].max()))
        if known:
            right[places] = found["right"]
        if note := note_of_fitting(found, batch_size):
            notes[note] = None
        progress("Scoring", int(places[-1]) + 1, n, "")
    return AttackResult(
        attack=examples.attack,
        n=n,
        clean_correct=count(right) if known else None,
        adversarial_correct=count(outcome.still),
        flipped=count(right & ~outcome.still) if known else None,
        changed=None,
        error_confidence=outcome.error_confidence,
        target_hits=None,
        target_is_label=None,
        gradients=None,
        linf_max=float(outcome.linf.max()) if known else None,
        distance_max=float(outcome.distance.max()) if known else None,
        warnings=(*_examples_warnings(examples, outcome, lowest, highest), *notes),
    )


def _examples_warnings(
    examples: Examples, outcome: Outcome, lowest: float, highest: float
) -> Iterator[str]:
    low, high = PIXEL_RANGE
    n = len(examples)
    if lost := count(outcome.lost):
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
    if same := count(outcome.linf == 0):
        yield f"{same:,} of {n:,} images equal their clean image"
