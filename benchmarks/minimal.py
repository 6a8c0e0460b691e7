"""The smallest epsilon that turns each image under FGSM, in a warm process.

``trace_curve`` narrows it down to 1e-4 along one gradient an image; ART's ``minimal`` walks upwards
in steps of 0.01 and takes a gradient at each. Foolbox and CleverHans have no such mode of FGSM.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgsm_cli import attack_named
from fgsm_cli.backend import keras
from fgsm_cli.curve import RESOLUTION, trace_curve
from fgsm_cli.data import ImageSet, load_images
from fgsm_cli.models import inspect

from .measure import Plan, Row, compare, fastest, interleaved, timed
from .peers import art_classifier

STEP = 0.01
EPSILONS = tuple(STEP * step for step in range(31))

# ART takes minutes for all of them.
IMAGES = 2000

# Gives the epsilon of each image, (n,); is told the batch size.
Finder = Callable[[int], NDArray[Any]]

# Images of which the two may differ by more than their steps: an image may turn and turn back
# between two steps, and ART's labels are its own argmax of float32 sums in other batches.
TOLERATED = 0.01


def run(plan: Plan) -> list[Row]:
    """Time both, having made sure that they find the same epsilons."""
    images = load_images("mnist", "test", limit=min(IMAGES, plan.images))
    model = keras.models.load_model(plan.model)
    contestants = {"fgsm": ours(model, images), "ART": art(model, images)}
    check_equal(*(find(1000) for find in contestants.values()))
    best = {name: fastest(find, plan.long_batch_sizes[:2], 1) for name, find in contestants.items()}
    samples = interleaved(
        {
            name: timed(lambda find=find, size=best[name]: find(size))
            for name, find in contestants.items()
        },
        plan.repeats,
        patience=60,
    )
    return compare("minimal", samples, ours="fgsm", images=len(images), batch_sizes=best)


def check_equal(own: NDArray[Any], theirs: NDArray[Any]) -> None:
    """Raise SystemExit unless ART's epsilon is ours, rounded up to its steps."""
    known = (own > 0) & np.isfinite(own)
    over = theirs[known] - own[known]
    apart = np.mean((over < -1e-5) | (over > STEP + RESOLUTION + 1e-5))
    if apart > TOLERATED:
        raise SystemExit(f"ART and fgsm must find the same epsilons; {100 * apart:.1f} % differ")


def ours(model: Any, images: ImageSet) -> Finder:
    """``trace_curve`` on the literal loss."""
    classifier, attack = inspect(model), attack_named(loss="ce-float32")

    def find(batch_size: int) -> NDArray[Any]:
        found = trace_curve(
            classifier, images, attack, EPSILONS, batch_size=batch_size, progress=lambda *_: None
        )
        return found.smallest

    return find


def art(model: Any, images: ImageSet) -> Finder:
    """ART's FGSM in its minimal mode."""
    from art.attacks.evasion import FastGradientMethod

    classifier, x = art_classifier(model), images.pixels()

    def find(batch_size: int) -> NDArray[Any]:
        attack = FastGradientMethod(
            classifier, eps=EPSILONS[-1], eps_step=STEP, minimal=True, batch_size=batch_size
        )
        return np.abs(attack.generate(x, images.known_labels) - x).max(axis=(1, 2))

    return find
