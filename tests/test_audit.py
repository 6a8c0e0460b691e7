"""The audit passes honest models and catches those built to hide their gradient."""

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import attack_named, perturb
from fgsm_cli.audit import CHECKS, audit
from fgsm_cli.backend import keras
from fgsm_cli.data import load_images
from fgsm_cli.models import Classifier, build_mlp, inspect


@pytest.fixture(scope="module")
def training_images():
    return load_images("mnist", "train", limit=10_000)


@pytest.fixture
def verdicts(images, training_images):
    def run(classifier, epsilon=0.1):
        few = images.take(np.arange(300))
        findings = audit(
            classifier,
            few,
            training_images,
            epsilon=epsilon,
            batch_size=300,
            seed=0,
            progress=lambda *_: None,
        )
        assert len(findings) == len(CHECKS)
        return {finding.name: finding.verdict for finding in findings}

    return run


def body(classifier):
    """The layers of a trained network, to be wrapped."""
    return classifier.model.layers


def test_a_plain_network_passes(classifier, verdicts):
    assert set(verdicts(classifier).values()) == {"pass"}


def hardened(images, hidden, attack, epochs):
    """A network trained on its own adversarial examples for a moment, by plain hand."""
    model = build_mlp(hidden, dropout=0, seed=3)
    optimizer = keras.optimizers.Adam(0.002)
    x, y = images.pixels(), images.labels

    @tf.function
    def learn(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))
            )
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

    rng = np.random.default_rng(0)
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), 250):
            chosen = order[start : start + 250]
            learn(perturb(model, x[chosen], y[chosen], attack), tf.constant(y[chosen]))
    return inspect(model)


def test_a_network_trained_by_pgd_passes(training_images, verdicts):
    robust = hardened(training_images, (64,), attack_named("pgd", epsilon=0.1, steps=5), epochs=4)
    assert set(verdicts(robust).values()) == {"pass"}


def test_a_network_that_collapsed_under_fgsm_training_is_caught(training_images, verdicts):
    """Catastrophic overfitting, for real: it stops one step of 0.3 and nothing else."""
    collapsed = hardened(training_images, (256, 256), attack_named("fgsm", epsilon=0.3), epochs=6)
    assert verdicts(collapsed, epsilon=0.3)["one-step gap"] == "fail"


def test_rounding_is_caught(classifier, verdicts):
    rounded = Classifier(lambda x: classifier(tf.round(x)), "logits", 10, (28, 28))
    found = verdicts(rounded)
    assert found["zero gradients"] == "fail"
    assert found["finite differences"] == "fail"
    assert found["whole range"] == "fail"
    assert "fail" in (found["transfer"], found["random search"])


def test_random_answers_are_caught(classifier, verdicts):
    noisy = Classifier(
        lambda x: classifier(x + tf.random.normal(tf.shape(x), stddev=0.3)), "logits", 10, (28, 28)
    )
    assert verdicts(noisy)["repeatable"] == "fail"


def test_a_steep_scale_of_the_logits_is_caught(classifier, verdicts):
    steep = Classifier(lambda x: 40 * classifier(x), "logits", 10, (28, 28))
    found = verdicts(steep)
    assert found["saturation"] == "fail"
    assert found["iterations"] == "pass", "the attack itself is not misled"


def test_a_saturated_softmax_is_caught(classifier, verdicts):
    """Probabilities whose logits are gone: most of them are 0 or 1, and flat."""
    scaled = keras.Sequential(
        [
            keras.Input((28, 28)),
            *body(classifier),
            keras.layers.Rescaling(200.0),
            keras.layers.Softmax(),
            keras.layers.Rescaling(1.0),  # after which no softmax is found
        ]
    )
    judged = inspect(scaled)
    assert judged.head == "probabilities"
    found = verdicts(judged)
    assert found["logits"] == "suspicious"
    assert found["zero gradients"] == "fail"
