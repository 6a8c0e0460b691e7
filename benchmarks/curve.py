"""Accuracy under FGSM at 31 epsilons, 0 to 0.3, in a warm process.

``trace_curve``, what ``fgsm curve`` runs, takes one gradient of each image and also finds the
smallest epsilon that turns it; ``judge``, what ``fgsm attack`` runs on a list of epsilons, takes
one gradient and measures how far every image moved at each. Foolbox takes a gradient for each
epsilon.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgsm_cli import attack_named
from fgsm_cli.backend import keras, tf
from fgsm_cli.curve import trace_curve
from fgsm_cli.data import ImageSet, load_images
from fgsm_cli.evaluation import judge
from fgsm_cli.family import Loss
from fgsm_cli.models import inspect

from .measure import (
    Plan,
    Row,
    at_least,
    check_agreement,
    compare,
    fastest,
    interleaved,
    ratio,
    timed,
)
from .peers import foolbox_model

GOAL = 9.0
EPSILONS = tuple(step / 100 for step in range(31))

# A batch size is chosen with a few epsilons: every further one costs the same.
TRIAL_EPSILONS = EPSILONS[::10]

TOLERANCE = 0.01

# Gives the accuracy at each epsilon; is told the batch size.
Sweep = Callable[[int], Sequence[float]]


def run(plan: Plan) -> list[Row]:
    """Time all, having made sure that they find the same accuracies."""
    images = load_images("mnist", "test", limit=plan.images)
    model = keras.models.load_model(plan.model)
    own = traced(model, images, EPSILONS, "ce-float32")(1000)
    check_agreement("judge", judged(model, images, EPSILONS, "ce-float32")(1000), own, 0)
    check_agreement("Foolbox", foolbox(model, images, EPSILONS)(1000), own, TOLERANCE)
    contestants = {"fgsm": traced, "fgsm, judged": judged, "Foolbox": foolbox}
    best = {
        name: fastest(set_up(model, images, TRIAL_EPSILONS), plan.long_batch_sizes, plan.repeats)
        for name, set_up in contestants.items()
    }
    sweeps = {name: set_up(model, images, EPSILONS) for name, set_up in contestants.items()}
    samples = interleaved(
        {
            name: timed(lambda sweep=sweep, size=best[name]: sweep(size))
            for name, sweep in sweeps.items()
        },
        plan.repeats,
    )
    goal = at_least(GOAL, ratio(samples["Foolbox"], samples["fgsm"]), "times ours")
    return compare(
        "curve",
        samples,
        ours="fgsm",
        images=len(images),
        batch_sizes=best,
        goals={"Foolbox": goal},
    )


def traced(model: Any, images: ImageSet, epsilons: Sequence[float], loss: Loss = "ce") -> Sweep:
    """``trace_curve``: the accuracies, and the smallest epsilon of each image."""
    classifier, attack = inspect(model), attack_named(loss=loss)

    def sweep(batch_size: int) -> Sequence[float]:
        found = trace_curve(
            classifier, images, attack, epsilons, batch_size=batch_size, progress=lambda *_: None
        )
        return list(found.right.mean(axis=1))

    return sweep


def judged(model: Any, images: ImageSet, epsilons: Sequence[float], loss: Loss = "ce") -> Sweep:
    """``judge``: the accuracies, and the distances and the health that its records hold."""
    classifier = inspect(model)
    contests = [(attack_named(epsilon=epsilon, loss=loss),) for epsilon in epsilons]

    def sweep(batch_size: int) -> Sequence[float]:
        found = judge(
            classifier,
            images,
            contests,
            batch_size=batch_size,
            seed=0,
            progress=lambda *_: None,
        )
        return list(found.still.mean(axis=1))

    return sweep


def foolbox(model: Any, images: ImageSet, epsilons: Sequence[float]) -> Sweep:
    """Foolbox's attack, handed all the epsilons at once as its documentation does."""
    import foolbox

    wrapped, x, y = foolbox_model(model), images.pixels(), images.labels
    attack = foolbox.attacks.LinfFastGradientAttack()

    def sweep(batch_size: int) -> Sequence[float]:
        turned = np.zeros(len(epsilons))
        for start in range(0, len(x), batch_size):
            part = slice(start, start + batch_size)
            *_, success = attack(
                wrapped, tf.constant(x[part]), tf.constant(y[part]), epsilons=list(epsilons)
            )
            turned += np.count_nonzero(success, axis=1)
        return list(1 - turned / len(x))

    return sweep
