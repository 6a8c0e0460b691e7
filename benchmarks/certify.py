"""Proving beside attacking: CROWN's bounds of all margins, and PGD-40, on the same images.

What is told as accuracy is, for the bounds, the share of images proved, and for the attack the
share that it leaves; the first can never exceed the second.
"""

import numpy as np
from numpy.typing import NDArray

from fgsm_cli import attack_named
from fgsm_cli.backend import keras
from fgsm_cli.certification import certifier_of
from fgsm_cli.data import load_images
from fgsm_cli.evaluation import judge
from fgsm_cli.family import Attack
from fgsm_cli.models import inspect

from .measure import Plan, Row, at_most, compare, fastest, interleaved, ratio, scored

Flags = NDArray[np.bool_]

EPSILON = 0.01
GOAL = 4.0


def run(plan: Plan) -> list[Row]:
    """Time both at their best batch sizes."""
    images = load_images("mnist", "test", limit=plan.images)
    classifier = inspect(keras.models.load_model(plan.model))
    certifier = certifier_of(classifier, images.shape, "linf", "crown")

    def still(batch_size: int, attack: Attack) -> Flags:
        found = judge(
            classifier,
            images,
            [(attack,)],
            batch_size=batch_size,
            seed=0,
            progress=lambda *_: None,
        )
        return found.still[0]

    def hold(batch_size: int) -> float:
        return float(np.mean(still(batch_size, attack_named("pgd", epsilon=EPSILON))))

    def prove(batch_size: int) -> float:
        right = still(batch_size, attack_named("fgsm", epsilon=0))
        return float(np.mean(right & (certifier.least(images, EPSILON, batch_size) > 0)))

    contestants = {"PGD-40": hold, "CROWN": prove}
    best = {
        name: fastest(action, plan.long_batch_sizes, plan.repeats)
        for name, action in contestants.items()
    }
    samples = interleaved(
        {
            name: scored(lambda action=action, size=best[name]: action(size))
            for name, action in contestants.items()
        },
        plan.repeats,
    )
    goal = at_most(GOAL, ratio(samples["CROWN"], samples["PGD-40"]), "times PGD-40")
    return compare(
        "certify",
        samples,
        ours="PGD-40",
        images=len(images),
        batch_sizes=best,
        goals={"CROWN": goal},
    )
