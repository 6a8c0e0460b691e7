"""MI-FGSM of ten steps in a warm process, each library at its best batch size.

CleverHans and ours are Dong et al. 2018: the gradient over its L1 norm joins the velocity, the step
is the velocity's sign. Foolbox normalises otherwise, so that the velocity weighs the steps
differently and accuracies differ; its work is the same. ART's is switched off for TensorFlow (its
issue 2439).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fgsm_cli import attack_named, perturb
from fgsm_cli.backend import tf
from fgsm_cli.family import Loss

from .iterated import Contest
from .measure import Plan, Row
from .peers import EPSILON, Crafter, Labels, Pixels, by_batch, foolbox_model

STEPS = 10


def run(plan: Plan) -> list[Row]:
    """Time every library."""
    return Contest(
        "mifgsm",
        crafters=crafters,
        literal=lambda model: ours(model, STEPS, "ce-float32"),
        steps=STEPS,
        trial_steps=STEPS // 2,
        goals={},
        apart=("Foolbox",),
    ).rows(plan)


def crafters(model: Any, steps: int) -> Mapping[str, Crafter]:
    """Ours and the other libraries, each set up for a Keras model that gives logits."""
    return {
        "fgsm": ours(model, steps),
        "CleverHans": cleverhans(model, steps),
        "Foolbox": foolbox(model, steps),
    }


def ours(model: Any, steps: int, loss: Loss = "ce") -> Crafter:
    """``perturb``, one compiled loop."""
    attack = attack_named("mifgsm", epsilon=EPSILON, steps=steps, loss=loss)
    return by_batch(lambda x, y: perturb(model, x, y, attack))


def cleverhans(model: Any, steps: int) -> Crafter:
    """CleverHans's function."""
    from cleverhans.tf2.attacks.momentum_iterative_method import momentum_iterative_method

    return by_batch(
        lambda x, y: momentum_iterative_method(
            model,
            tf.constant(x),
            EPSILON,
            EPSILON / steps,
            steps,
            np.inf,
            clip_min=0.0,
            clip_max=1.0,
            y=y,
            decay_factor=1.0,
        )
    )


def foolbox(model: Any, steps: int) -> Crafter:
    """Foolbox's attack object, called; it works eagerly."""
    import foolbox

    wrapped = foolbox_model(model)
    attack = foolbox.attacks.MIFGSM(abs_stepsize=EPSILON / steps, steps=steps, momentum=1.0)

    def craft(x: Pixels, y: Labels) -> Any:
        _, clipped, _ = attack(wrapped, tf.constant(x), tf.constant(y), epsilons=EPSILON)
        return clipped

    return by_batch(craft)
