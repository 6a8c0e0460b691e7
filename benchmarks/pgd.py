"""PGD of 40 steps from one random start in a warm process, each library at its best batch size.

The other libraries take 40 gradients of every image, however early it is turned. So does the
row "fgsm" and is measured against them: R+FGSM with more steps is PGD without a stop. The PGD that
users run is faster: it leaves an image where it first succeeded, and takes it out of the batch.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fgsm_cli import attack_named, perturb
from fgsm_cli.backend import tf
from fgsm_cli.family import AttackName, Loss

from .iterated import Contest
from .measure import Plan, Row
from .peers import EPSILON, Crafter, Labels, Pixels, art_classifier, by_batch, foolbox_model

GOALS = {"CleverHans": 2.2, "Foolbox": 2.7, "ART": 14.0}

STEPS = 40
STEP_SIZE = 2.5 / STEPS  # a share of epsilon

# A batch size is chosen with a tenth of the steps: every step costs the same.
TRIAL_STEPS = 4


def run(plan: Plan) -> list[Row]:
    """Time every library, having made sure that all of them find about the same accuracy."""
    return Contest(
        "pgd",
        crafters=crafters,
        literal=lambda model: ours(model, STEPS, "ce-float32"),
        steps=STEPS,
        trial_steps=TRIAL_STEPS,
        goals=GOALS,
    ).rows(plan)


def crafters(model: Any, steps: int) -> Mapping[str, Crafter]:
    """Ours and the other libraries, each set up for a Keras model that gives logits."""
    return {
        "fgsm": ours(model, steps),
        "fgsm, stopping": ours(model, steps, stops=True),
        "CleverHans": cleverhans(model, steps),
        "Foolbox": foolbox(model, steps),
        "ART": art(model, steps),
    }


def ours(model: Any, steps: int, loss: Loss = "ce", *, stops: bool = False) -> Crafter:
    """``perturb``, one compiled loop. stops: whether an image stays where it first succeeded."""
    name: AttackName = "pgd" if stops else "rfgsm"
    attack = attack_named(name, epsilon=EPSILON, steps=steps, step_size=STEP_SIZE, loss=loss)
    return by_batch(lambda x, y: perturb(model, x, y, attack))


def cleverhans(model: Any, steps: int) -> Crafter:
    """CleverHans's function; it compiles the gradient and loops in Python."""
    from cleverhans.tf2.attacks.projected_gradient_descent import projected_gradient_descent

    return by_batch(
        lambda x, y: projected_gradient_descent(
            model,
            tf.constant(x),
            EPSILON,
            EPSILON * STEP_SIZE,
            steps,
            np.inf,
            clip_min=0.0,
            clip_max=1.0,
            y=y,
            rand_init=True,
        )
    )


def foolbox(model: Any, steps: int) -> Crafter:
    """Foolbox's attack object, called; it works eagerly."""
    import foolbox

    wrapped = foolbox_model(model)
    attack = foolbox.attacks.LinfPGD(rel_stepsize=STEP_SIZE, steps=steps, random_start=True)

    def craft(x: Pixels, y: Labels) -> Any:
        _, clipped, _ = attack(wrapped, tf.constant(x), tf.constant(y), epsilons=EPSILON)
        return clipped

    return by_batch(craft)


def art(model: Any, steps: int) -> Crafter:
    """ART's attack for TensorFlow; it cuts the batches itself and works eagerly."""
    classifier = art_classifier(model)
    from art.attacks.evasion import ProjectedGradientDescentTensorFlowV2

    def crafter(x: Pixels, y: Labels, batch_size: int) -> list[Pixels]:
        attack = ProjectedGradientDescentTensorFlowV2(
            classifier,
            eps=EPSILON,
            eps_step=EPSILON * STEP_SIZE,
            max_iter=steps,
            num_random_init=1,
            batch_size=batch_size,
            verbose=False,
        )
        return [attack.generate(x, y)]

    return crafter
