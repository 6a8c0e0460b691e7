"""PGD of 40 steps from one random start in a warm process, each library at its best batch size.

The other libraries take 40 gradients of every image, however early it is turned. So does the
row "fgsm" and is measured against them: R+FGSM with more steps is PGD without a stop. The PGD that
users run is faster: it leaves an image where it first succeeded, and takes it out of the batch.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fgsm_cli import attack_named, perturb
from fgsm_cli.backend import keras, tf
from fgsm_cli.data import load_images
from fgsm_cli.family import AttackName, Loss

from .measure import (
    Plan,
    Row,
    Sample,
    at_least,
    check_agreement,
    compare,
    fastest,
    interleaved,
    ratio,
)
from .peers import EPSILON, Crafter, Labels, Pixels, art_classifier, by_batch, foolbox_model

GOALS = {"CleverHans": 1.9, "Foolbox": 2.4, "ART": 10.0}

STEPS = 40
STEP_SIZE = 2.5 / STEPS  # a share of epsilon

# A batch size is chosen with a tenth of the steps: every step costs the same.
TRIAL_STEPS = 4

# Random starts differ, so accuracies do by a little.
TOLERANCE = 0.015
CHECKED_IMAGES = 2000

PATIENCE_SECONDS = 60


def run(plan: Plan) -> list[Row]:
    """Time every library, having made sure that all of them find about the same accuracy."""
    images = load_images("mnist", "test", limit=plan.images)
    x, y = images.pixels(), images.labels
    model = keras.models.load_model(plan.model)
    check_equal(model, x[:CHECKED_IMAGES], y[:CHECKED_IMAGES])
    best = {
        name: fastest(
            lambda size, craft=craft: craft(x, y, size), plan.long_batch_sizes, plan.repeats
        )
        for name, craft in crafters(model, TRIAL_STEPS).items()
    }

    def measured(craft: Crafter, size: int) -> Callable[[int], Sample]:
        def measure(_: int) -> Sample:
            start = time.perf_counter()
            parts = craft(x, y, size)
            seconds = time.perf_counter() - start
            return Sample(seconds, accuracy=accuracy(model, parts, y))

        return measure

    samples = interleaved(
        {name: measured(craft, best[name]) for name, craft in crafters(model, STEPS).items()},
        plan.repeats,
        patience=PATIENCE_SECONDS,
    )
    goals = {
        name: at_least(bound, ratio(samples[name], samples["fgsm"]), "times ours")
        for name, bound in GOALS.items()
    }
    return compare("pgd", samples, ours="fgsm", images=len(x), batch_sizes=best, goals=goals)


def check_equal(model: Any, x: Pixels, y: Labels) -> None:
    """Raise SystemExit unless all agree with ours for the literal loss."""
    own = accuracy(model, ours(model, STEPS, "ce-float32")(x, y, 1000), y)
    for name, craft in crafters(model, STEPS).items():
        check_agreement(name, [accuracy(model, craft(x, y, 1000), y)], [own], TOLERANCE)


def accuracy(model: Any, parts: Sequence[Pixels], y: Labels) -> float:
    """The share of the images, given in batches, that are still classified right."""
    scores = model.predict(np.concatenate(list(parts)), batch_size=1000, verbose=0)
    return float(np.mean(scores.argmax(axis=1) == y))


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
