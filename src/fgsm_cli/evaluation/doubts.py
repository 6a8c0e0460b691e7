"""What a reader should know before believing a number, in sentences with the number in them."""

from collections.abc import Iterator

from ..data import PIXEL_RANGE
from ..family import Attack
from ..models import Classifier
from ..results import GradientHealth
from .measure import Flags, Outcome, count

UNLABELLED = (
    "the images have no labels: the attack leads away from the model's own predictions, and "
    "accuracy is not known"
)


def of_attack(
    attack: Attack, outcome: Outcome, health: GradientHealth, wrong: int
) -> Iterator[str]:
    """About what one attack did; ``wrong``: how many clean images were wrong to begin with."""
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
    if lost := count(outcome.lost):
        yield (
            f"{lost:,} of {n:,} images came out as no numbers, for want of a finite gradient; "
            "they are counted as wrong"
        )
    stuck = health.unchanged - health.zero - count(outcome.idle)
    if attack.epsilon and stuck > 0 and not attack.row.keeps:
        yield f"{stuck:,} of {n:,} images came out unchanged although they have a gradient"
    if idle := count(outcome.idle):
        yield (
            f"{idle:,} of {n:,} images have their own label as target; they are left alone and "
            "counted apart"
        )


def of_model(classifier: Classifier, unsure: Flags, *, labelled: bool) -> Iterator[str]:
    """About the model and the labels, whatever the attack."""
    if not labelled:
        yield UNLABELLED
    yield from classifier.notes
    if doubtful := count(unsure):
        yield (
            f"{doubtful:,} of {len(unsure):,} images have logits that are not finite; "
            "they are counted as wrong"
        )
