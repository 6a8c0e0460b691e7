"""FGSM at epsilon 0.1 as each library gives it, wrapped the way its own documentation does.

    batches = peers(model)["CleverHans"](x, y, 1000)

Every crafter takes float32 pixels in 0..1 (n, ...), integer labels (n,) and a batch size, and
returns the adversarial batches as arrays. What is set up once in a program (wrapping the model,
compiling) is set up once here; what is done for each batch stands in the crafter.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgsm_cli import attack_named, perturb
from fgsm_cli.backend import keras, tf
from fgsm_cli.family import Loss

Pixels = NDArray[np.float32]
Labels = NDArray[np.int64]
Crafter = Callable[[Pixels, Labels, int], Sequence[Pixels]]

EPSILON = 0.1

# Foolbox asks for GPUs in a way that TensorFlow calls out of date; it is no matter of ours.
tf.get_logger().setLevel("ERROR")
# ART misses PyTorch aloud.
warnings.filterwarnings("ignore", message="PyTorch not found")


def peers(model: Any) -> Mapping[str, Crafter]:
    """The other libraries, each set up for a Keras model that gives logits."""
    return {
        "CleverHans": cleverhans(model),
        "Foolbox": foolbox(model),
        "Foolbox, run alone": foolbox(model, run_alone=True),
        "ART": art(model),
    }


def by_batch(craft: Callable[[Pixels, Labels], Any]) -> Crafter:
    """What crafts one batch as what crafts them all; each ends as an array."""

    def crafter(x: Pixels, y: Labels, batch_size: int) -> list[Pixels]:
        parts = (slice(start, start + batch_size) for start in range(0, len(x), batch_size))
        return [np.asarray(craft(x[part], y[part])) for part in parts]

    return crafter


def ours(model: Any, loss: Loss = "ce") -> Crafter:
    """``perturb``, one compiled graph that epsilon is passed to."""
    attack = attack_named("fgsm", epsilon=EPSILON, loss=loss)
    return by_batch(lambda x, y: perturb(model, x, y, attack))


def cleverhans(model: Any) -> Crafter:
    """CleverHans's function; it compiles the gradient itself."""
    from cleverhans.tf2.attacks.fast_gradient_method import fast_gradient_method

    return by_batch(
        lambda x, y: fast_gradient_method(
            model, x, EPSILON, np.inf, clip_min=0.0, clip_max=1.0, y=y
        )
    )


def foolbox(model: Any, *, run_alone: bool = False) -> Crafter:
    """Foolbox's attack as its documentation uses it: the attack object, called.

    The call crafts, clips once more and scores with a second pass through the model.
    run_alone: only the crafting, by the attack's lower-level ``run``.
    """
    import foolbox

    wrapped, attack = foolbox_model(model), foolbox.attacks.LinfFastGradientAttack()

    def craft(x: Pixels, y: Labels) -> Any:
        x, y = tf.constant(x), tf.constant(y)
        if run_alone:
            return attack.run(wrapped, x, y, epsilon=EPSILON)
        _, clipped, _ = attack(wrapped, x, y, epsilons=EPSILON)
        return clipped

    return by_batch(craft)


def art(model: Any) -> Crafter:
    """ART's attack, which cuts the batches itself and returns one array."""
    from art.attacks.evasion import FastGradientMethod

    classifier = art_classifier(model)

    def crafter(x: Pixels, y: Labels, batch_size: int) -> list[Pixels]:
        attack = FastGradientMethod(classifier, eps=EPSILON, batch_size=batch_size)
        return [attack.generate(x, y)]

    return crafter


def foolbox_model(model: Any) -> Any:
    """A Keras model as Foolbox takes it."""
    import foolbox

    return foolbox.TensorFlowModel(model, bounds=(0, 1))


def art_classifier(model: Any, optimizer: Any = None) -> Any:
    """A Keras model that gives logits as ART takes it; with an optimizer it can be trained."""
    from art.estimators.classification import TensorFlowV2Classifier

    return TensorFlowV2Classifier(
        model,
        nb_classes=model.output_shape[-1],
        input_shape=model.input_shape[1:],
        loss_object=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        clip_values=(0.0, 1.0),
        optimizer=optimizer,
    )


def numpy_by_hand(model: Any) -> Crafter:
    """The MLP with one hidden layer, forward and backward, with nothing in between: a yardstick."""
    w1, b1, w2, b2 = (np.asarray(weight) for weight in model.trainable_variables)
    epsilon = np.float32(EPSILON)

    def craft(x: Pixels, y: Labels) -> Pixels:
        hidden = np.maximum(x.reshape(len(x), -1) @ w1 + b1, 0)
        scores = hidden @ w2 + b2
        error = np.exp(scores - scores.max(axis=1, keepdims=True))
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(len(y)), y] -= 1
        gradient = ((error @ w2.T) * (hidden > 0)) @ w1.T
        return np.clip(x + epsilon * np.sign(gradient).reshape(x.shape), 0, 1)

    return by_batch(craft)
