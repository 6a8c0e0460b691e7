"""Agreement with Foolbox, ART and CleverHans, bit for bit where their semantics coincide.

All three ascend cross-entropy literally, in float32; so does ``loss="ce-float32"``.
"""

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import attack_named, get_grads, perturb
from fgsm_cli.backend import keras

# The peers warn of their own optional dependencies and of NumPy's and Keras's news.
pytestmark = pytest.mark.filterwarnings("ignore")

EPSILONS = [0.01, 0.1, 0.3]


def cleverhans(model, x, y, epsilon):
    from cleverhans.tf2.attacks.fast_gradient_method import fast_gradient_method

    return fast_gradient_method(
        model, x, epsilon, np.inf, clip_min=0.0, clip_max=1.0, y=y, sanity_checks=False
    ).numpy()


def foolbox(model, x, y, epsilon):
    import foolbox as fb

    wrapped = fb.TensorFlowModel(model, bounds=(0, 1), device="/CPU:0")
    attack = fb.attacks.LinfFastGradientAttack(random_start=False)
    _, clipped, _ = attack(wrapped, tf.constant(x), tf.constant(y), epsilons=epsilon)
    return clipped.numpy()


def art(model, x, y, epsilon):
    from art.attacks.evasion import FastGradientMethod
    from art.estimators.classification import TensorFlowV2Classifier

    classifier = TensorFlowV2Classifier(
        model=model,
        nb_classes=10,
        input_shape=(28, 28),
        loss_object=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        clip_values=(0, 1),
    )
    return FastGradientMethod(classifier, eps=epsilon, batch_size=len(x)).generate(x, y)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("peer", [cleverhans, foolbox, art], ids=lambda peer: peer.__name__)
def test_literal_fgsm_is_that_of_the_peer_to_the_bit(peer, epsilon, classifier, images):
    x, y = images.pixels(), images.labels
    ours = perturb(classifier.model, x, y, attack_named(epsilon=epsilon, loss="ce-float32")).numpy()
    theirs = peer(classifier.model, x, y, epsilon)
    assert ours.dtype == theirs.dtype == np.float32
    np.testing.assert_array_equal(ours, theirs)


def test_the_model_of_the_comparison_is_not_saturated(classifier, images):
    gradient = get_grads(classifier, images.pixels(), images.labels, loss="ce-float32").numpy()
    assert np.abs(gradient).max(axis=(1, 2)).min() > 0


def test_bim_is_foolbox_basic_iterative_attack(classifier, images):
    """Equal but for the last bit: Foolbox projects a difference, we clip to the ball's edges."""
    import foolbox as fb

    x, y = images.pixels(), images.labels
    wrapped = fb.TensorFlowModel(classifier.model, bounds=(0, 1), device="/CPU:0")
    attack = fb.attacks.LinfBasicIterativeAttack(steps=10, rel_stepsize=0.1, random_start=False)
    _, theirs, _ = attack(wrapped, tf.constant(x), tf.constant(y), epsilons=0.1)
    ours = perturb(classifier, x, y, attack_named("bim", epsilon=0.1, loss="ce-float32")).numpy()
    assert np.mean(np.abs(ours - theirs.numpy()) > 1e-6) < 0.002
    scores = [np.mean(np.argmax(classifier(z), axis=1) == y) for z in (ours, theirs)]
    assert scores[0] == pytest.approx(scores[1], abs=0.003)
