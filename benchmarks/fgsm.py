"""FGSM on the 10,000 MNIST test images in a warm process, each library at its best batch size."""

import numpy as np

from fgsm_cli.backend import keras
from fgsm_cli.data import load_images

from .measure import Plan, Row, at_least, compare, fastest, interleaved, ratio, timed
from .peers import Crafter, Labels, Pixels, numpy_by_hand, ours, peers
from .roofline import GOAL, LIMIT, limit

GOALS = {"CleverHans": 1.5, "Foolbox": 3.0, "ART": 5.0}

# A repeat takes a tenth of a second, which one hiccup of the machine spoils: take more of them.
MORE_REPEATS = 4


def run(plan: Plan) -> list[Row]:
    """Time every library, having made sure that all of them give the same images."""
    images = load_images("mnist", "test")
    x, y = images.pixels(), images.labels
    model = keras.models.load_model(plan.model)
    others = peers(model)
    for name, peer in others.items():
        check_equal(name, peer, ours(model, "ce-float32"), x, y)
    crafters = {
        "fgsm": ours(model),
        **others,
        "NumPy by hand": numpy_by_hand(model),
        LIMIT: limit(model),
    }
    best = {
        name: fastest(lambda size, craft=craft: craft(x, y, size), plan.batch_sizes, plan.repeats)
        for name, craft in crafters.items()
    }
    samples = interleaved(
        {
            name: timed(lambda craft=craft, size=best[name]: craft(x, y, size))
            for name, craft in crafters.items()
        },
        plan.repeats * MORE_REPEATS,
    )
    goals = {
        name: at_least(bound, ratio(samples[name], samples["fgsm"]), "times ours")
        for name, bound in {**GOALS, LIMIT: GOAL}.items()
    }
    return compare("fgsm", samples, ours="fgsm", images=len(x), batch_sizes=best, goals=goals)


def check_equal(name: str, peer: Crafter, literal: Crafter, x: Pixels, y: Labels) -> None:
    """Raise SystemExit unless a peer's images are, bit for bit, ours for the literal loss.

    Batches are of one size for both: a product of matrices may add up in another order in others.
    """
    theirs, own = (np.concatenate(list(craft(x, y, 1000))) for craft in (peer, literal))
    differing = np.any(theirs != own, axis=(1, 2)).sum()
    if differing:
        raise SystemExit(
            f"{name} and fgsm with the loss ce-float32 must craft the same images, but "
            f"{differing:,} of {len(x):,} differ, by up to {np.abs(theirs - own).max():g}"
        )
