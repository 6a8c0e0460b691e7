"""Robust accuracy under PGD with ten random restarts, in a warm process.

An image counts as robust if no restart turns it. ``judge`` attacks again only the images that no
restart before has turned; Foolbox's ``repeat`` attacks all of them every time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from fgsm_cli import attack_named
from fgsm_cli.backend import keras, tf
from fgsm_cli.data import ImageSet, load_images
from fgsm_cli.evaluation import judge
from fgsm_cli.family import Loss
from fgsm_cli.models import inspect

from .iterated import PATIENCE_SECONDS, TOLERANCE
from .measure import (
    Plan,
    Row,
    at_least,
    check_agreement,
    compare,
    fastest,
    interleaved,
    ratio,
    scored,
)
from .peers import EPSILON, foolbox_model
from .pgd import STEP_SIZE, STEPS, TRIAL_STEPS

GOAL = 15.0
RESTARTS = 10
CHECKED_IMAGES = 1000

# Gives the robust accuracy; is told the batch size.
Evaluation = Callable[[int], float]


def run(plan: Plan) -> list[Row]:
    """Time both, having made sure that they find about the same accuracy."""
    images = load_images("mnist", "test", limit=plan.images)
    model = keras.models.load_model(plan.model)
    few = load_images("mnist", "test", limit=CHECKED_IMAGES)
    own = ours(model, few, STEPS, RESTARTS, "ce-float32")(CHECKED_IMAGES)
    theirs = foolbox(model, few, STEPS, RESTARTS)(CHECKED_IMAGES)
    check_agreement("Foolbox", [theirs], [own], TOLERANCE)
    contestants = {"fgsm": ours, "Foolbox": foolbox}
    best = {
        name: fastest(set_up(model, images, TRIAL_STEPS, 1), plan.long_batch_sizes, plan.repeats)
        for name, set_up in contestants.items()
    }
    full = {name: set_up(model, images, STEPS, RESTARTS) for name, set_up in contestants.items()}
    samples = interleaved(
        {
            name: scored(lambda evaluate=evaluate, size=best[name]: evaluate(size))
            for name, evaluate in full.items()
        },
        plan.repeats,
        patience=PATIENCE_SECONDS,
    )
    goal = at_least(GOAL, ratio(samples["Foolbox"], samples["fgsm"]), "times ours")
    return compare(
        "restarts",
        samples,
        ours="fgsm",
        images=len(images),
        batch_sizes=best,
        goals={"Foolbox": goal},
    )


def ours(model: Any, images: ImageSet, steps: int, restarts: int, loss: Loss = "ce") -> Evaluation:
    """``judge``, which also scores the clean images and measures every norm afresh."""
    classifier = inspect(model)
    attack = attack_named(
        "pgd", epsilon=EPSILON, steps=steps, step_size=STEP_SIZE, restarts=restarts, loss=loss
    )

    def evaluate(batch_size: int) -> float:
        judged = judge(
            classifier,
            images,
            [(attack,)],
            batch_size=batch_size,
            seed=0,
            progress=lambda *_: None,
        )
        return judged.results[0].adversarial_correct / len(images)

    return evaluate


def foolbox(model: Any, images: ImageSet, steps: int, restarts: int) -> Evaluation:
    """Foolbox's attack, repeated as its documentation does; a batch at a time."""
    import foolbox

    wrapped, x, y = foolbox_model(model), images.pixels(), images.labels
    once = foolbox.attacks.LinfPGD(rel_stepsize=STEP_SIZE, steps=steps, random_start=True)
    attack = once.repeat(restarts)

    def evaluate(batch_size: int) -> float:
        turned = 0
        for start in range(0, len(x), batch_size):
            part = slice(start, start + batch_size)
            *_, success = attack(
                wrapped, tf.constant(x[part]), tf.constant(y[part]), epsilons=EPSILON
            )
            turned += np.count_nonzero(success)
        return 1 - turned / len(x)

    return evaluate
