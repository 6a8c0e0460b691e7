"""Networks that hide their gradient, and two that do not, for the audit to tell apart.

python tests/masked.py        # audit them all: the table of docs/audit.md
"""

import re

import numpy as np
import tensorflow as tf

from fgsm_cli import attack_named, perturb
from fgsm_cli.audit import audit
from fgsm_cli.backend import keras
from fgsm_cli.config import TrainOptions
from fgsm_cli.data import load_images
from fgsm_cli.models import Classifier, build_mlp, inspect
from fgsm_cli.training import train


def plain(images):
    """The small MLP that most tests look at."""
    options = TrainOptions(hidden=(64,), epochs=2, seed=1)
    model = build_mlp(options.hidden, dropout=options.dropout, seed=options.seed)
    train(model, images, options, lambda *_: None)
    return inspect(model)


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


def robust(images):
    """Trained by PGD of five steps at 0.1."""
    return hardened(images, (64,), attack_named("pgd", epsilon=0.1, steps=5), epochs=4)


def collapsed(images):
    """Catastrophic overfitting, for real: it stops one step of 0.3 and nothing else."""
    return hardened(images, (256, 256), attack_named("fgsm", epsilon=0.3), epochs=6)


def wrapped(answer):
    """Any function of a batch of digits as a classifier."""
    return Classifier(answer, "logits", 10, (28, 28))


def rounded(classifier):
    """Pixels rounded to 0 and 1."""
    return wrapped(lambda x: classifier(tf.round(x)))


def noisy(classifier):
    """Noise of 0.3 on the input, anew at every call."""
    return wrapped(lambda x: classifier(x + tf.random.normal(tf.shape(x), stddev=0.3)))


def steep(classifier):
    """Logits scaled by 40."""
    return wrapped(lambda x: 40 * classifier(x))


def saturated(classifier):
    """Logits scaled by 200 behind a softmax that they cannot be recovered from."""
    return inspect(
        keras.Sequential(
            [
                keras.Input((28, 28)),
                *classifier.model.layers,
                keras.layers.Rescaling(200.0),
                keras.layers.Softmax(),
                keras.layers.Rescaling(1.0),
            ]
        )
    )


def main():
    """Print what the audit measures of each, as a table."""
    test = load_images("mnist", "test", limit=300)
    training = load_images("mnist", "train", limit=10_000)
    honest = plain(load_images("mnist", "train", limit=20_000))
    subjects = {
        "plain": (honest, 0.1),
        "PGD-trained": (robust(training), 0.1),
        "rounding": (rounded(honest), 0.1),
        "noise": (noisy(honest), 0.1),
        "steep logits": (steep(honest), 0.1),
        "saturated softmax": (saturated(honest), 0.1),
        "collapsed": (collapsed(training), 0.3),
    }
    rows = {}
    for name, (classifier, epsilon) in subjects.items():
        for found in audit(
            classifier,
            test,
            training,
            epsilon=epsilon,
            batch_size=300,
            seed=0,
            progress=lambda *_: None,
        ):
            mark = {"pass": "", "suspicious": " (?)", "fail": " (!)"}[found.verdict]
            numbers = re.findall(r"-?[\d.]+%|(?<=up to )[\d.]+|probabilities$", found.measured)
            rows.setdefault(found.name, {})[name] = ", ".join(numbers) + mark
    print("| check |", " | ".join(subjects), "|")
    print("| --- |" + " --- |" * len(subjects))
    for check, cells in rows.items():
        print("|", check, "|", " | ".join(cells[name] for name in subjects), "|")


if __name__ == "__main__":
    main()
