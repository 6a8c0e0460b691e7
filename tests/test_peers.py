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


def art_classifier(model):
    from art.estimators.classification import TensorFlowV2Classifier

    return TensorFlowV2Classifier(
        model=model,
        nb_classes=10,
        input_shape=(28, 28),
        loss_object=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        clip_values=(0, 1),
    )


def art(model, x, y, epsilon):
    from art.attacks.evasion import FastGradientMethod

    attack = FastGradientMethod(art_classifier(model), eps=epsilon, batch_size=len(x))
    return attack.generate(x, y)


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


def test_bim_is_the_basic_iterative_attack_of_the_peers(classifier, images):
    """Equal but for the last bit: the peers project a difference, we clip to the ball's edges."""
    import foolbox as fb
    from art.attacks.evasion import BasicIterativeMethod
    from cleverhans.tf2.attacks.projected_gradient_descent import projected_gradient_descent

    x, y, model = images.pixels(0, 500), images.labels[:500], classifier.model
    iterated = fb.attacks.LinfBasicIterativeAttack(steps=10, rel_stepsize=0.1, random_start=False)
    theirs = {
        "foolbox": iterated(
            fb.TensorFlowModel(model, bounds=(0, 1), device="/CPU:0"),
            tf.constant(x),
            tf.constant(y),
            epsilons=0.1,
        )[1].numpy(),
        "art": BasicIterativeMethod(
            art_classifier(model), eps=0.1, eps_step=0.01, max_iter=10, batch_size=500, verbose=False
        ).generate(x, y),
        "cleverhans": projected_gradient_descent(
            model, x, 0.1, 0.01, 10, np.inf, clip_min=0.0, clip_max=1.0, y=y, rand_init=False,
            sanity_checks=False,
        ).numpy(),
    }  # fmt: skip
    attack = attack_named("bim", epsilon=0.1, loss="ce-float32")
    ours = perturb(classifier, x, y, attack).numpy()
    for name, peer in theirs.items():
        assert np.mean(np.abs(ours - peer) > 1e-6) < 0.002, name
        scores = [np.mean(np.argmax(classifier(z), axis=1) == y) for z in (ours, peer)]
        assert scores[0] == pytest.approx(scores[1], abs=0.005), name


def test_mifgsm_is_that_of_cleverhans(classifier, images):
    """CleverHans divides by the mean where the paper divides by the sum: the signs are the same."""
    from cleverhans.tf2.attacks.momentum_iterative_method import momentum_iterative_method

    x, y = images.pixels(0, 500), images.labels[:500]
    theirs = momentum_iterative_method(
        classifier.model, x, 0.1, 0.01, 10, np.inf, clip_min=0.0, clip_max=1.0, y=y,
        decay_factor=1.0, sanity_checks=False,
    ).numpy()  # fmt: skip
    attack = attack_named("mifgsm", epsilon=0.1, loss="ce-float32")
    ours = perturb(classifier, x, y, attack).numpy()
    assert np.mean(np.abs(ours - theirs) > 1e-6) < 0.002


ORDERS = {"linf": np.inf, "l2": 2, "l1": 1}


def foolbox_fgm(model, x, y, norm, epsilon):
    import foolbox as fb

    name = {"linf": "LinfFastGradientAttack", "l2": "L2FastGradientAttack"}[norm]
    attack = getattr(fb.attacks, name)(random_start=False)
    wrapped = fb.TensorFlowModel(model, bounds=(0, 1), device="/CPU:0")
    return attack(wrapped, tf.constant(x), tf.constant(y), epsilons=epsilon)[1].numpy()


def art_fgm(model, x, y, norm, epsilon):
    from art.attacks.evasion import FastGradientMethod

    attack = FastGradientMethod(
        art_classifier(model), norm=ORDERS[norm], eps=epsilon, batch_size=len(x)
    )
    return attack.generate(x, y)


def cleverhans_fgm(model, x, y, norm, epsilon):
    from cleverhans.tf2.attacks.fast_gradient_method import fast_gradient_method

    return fast_gradient_method(
        model, x, epsilon, ORDERS[norm], clip_min=0.0, clip_max=1.0, y=y
    ).numpy()


@pytest.mark.parametrize(
    ("peer", "norm", "epsilon"),
    [
        (foolbox_fgm, "linf", 0.1),
        (foolbox_fgm, "l2", 1.5),
        (art_fgm, "linf", 0.1),
        (art_fgm, "l2", 1.5),
        (art_fgm, "l1", 5.0),
        (cleverhans_fgm, "linf", 0.1),
        (cleverhans_fgm, "l2", 1.5),
        (cleverhans_fgm, "l1", 5.0),
    ],
)
def test_fgm_is_that_of_the_peer_in_every_norm(peer, norm, epsilon, classifier, images):
    """But for Foolbox's L1, which follows the gradient itself and not the steepest step."""
    x, y, model = images.pixels(0, 500), images.labels[:500], classifier.model
    attack = attack_named("fgm", norm=norm, epsilon=epsilon, loss="ce-float32")
    ours = perturb(classifier, x, y, attack).numpy()
    assert np.abs(ours - x).max() > 0.05
    np.testing.assert_allclose(ours, peer(model, x, y, norm, epsilon), atol=2e-5)


STEPS, STEP_SIZE = 40, 2.5 / 40


def foolbox_pgd(model, x, y, norm, epsilon):
    import foolbox as fb

    name = {"linf": "LinfPGD", "l2": "L2PGD"}[norm]
    attack = getattr(fb.attacks, name)(steps=STEPS, rel_stepsize=STEP_SIZE, random_start=True)
    wrapped = fb.TensorFlowModel(model, bounds=(0, 1), device="/CPU:0")
    return attack(wrapped, tf.constant(x), tf.constant(y), epsilons=epsilon)[1].numpy()


def art_pgd(model, x, y, norm, epsilon):
    from art.attacks.evasion import ProjectedGradientDescentTensorFlowV2

    attack = ProjectedGradientDescentTensorFlowV2(
        art_classifier(model),
        norm=ORDERS[norm],
        eps=epsilon,
        eps_step=epsilon * STEP_SIZE,
        max_iter=STEPS,
        num_random_init=1,
        batch_size=len(x),
        verbose=False,
    )
    return attack.generate(x, y)


def cleverhans_pgd(model, x, y, norm, epsilon):
    from cleverhans.tf2.attacks.projected_gradient_descent import projected_gradient_descent

    return projected_gradient_descent(
        model,
        tf.constant(x),
        epsilon,
        epsilon * STEP_SIZE,
        STEPS,
        ORDERS[norm],
        clip_min=0.0,
        clip_max=1.0,
        y=y,
        rand_init=True,
    ).numpy()


@pytest.mark.parametrize(("norm", "epsilon"), [("linf", 0.06), ("l2", 0.8)])
@pytest.mark.parametrize("peer", [foolbox_pgd, art_pgd, cleverhans_pgd])
def test_pgd_is_as_strong_as_that_of_the_peer(peer, norm, epsilon, classifier, images):
    """By its accuracy, for the random starts differ, and ours stays where it first succeeded."""
    keras.utils.set_random_seed(0)
    x, y = images.pixels(0, 500), images.labels[:500]
    attack = attack_named("pgd", norm=norm, epsilon=epsilon, loss="ce-float32")
    assert (attack.steps, attack.step_size) == (STEPS, STEP_SIZE)
    ours = perturb(classifier, x, y, attack).numpy()
    theirs = peer(classifier.model, x, y, norm, epsilon)
    scores = [np.mean(np.argmax(classifier(z), axis=1) == y) for z in (x, ours, theirs)]
    assert scores[0] - scores[1] > 0.2
    assert scores[1] == pytest.approx(scores[2], abs=0.015)
