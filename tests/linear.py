"""A linear classifier on 4x4-pooled MNIST pixels, whose answers under FGSM are known by algebra.

It is fitted by least squares, and built with every head, range, shape and file format: what is
one and the same classifier must give one and the same number.
"""

import functools

import numpy as np

from fgsm_cli import attack_named, perturb
from fgsm_cli.backend import keras, tf
from fgsm_cli.data import load_images

N = 200
EPSILONS = (0.0, 0.03, 0.1)


@functools.cache
def images():
    """Pixels (N, 28, 28) in 0..1, and labels."""
    found = load_images("mnist", "test", limit=N)
    return found.pixels(), found.known_labels


def pooled(x):
    return x.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)


@functools.cache
def weights():
    """The kernel (49, 10) and the bias (10,): ten times the least squares fit to one-hot labels."""
    found = load_images("mnist", "train", limit=2000)
    x = np.c_[pooled(found.pixels()), np.ones(2000)]
    solution = 10 * np.linalg.lstsq(x, np.eye(10)[found.known_labels], rcond=None)[0]
    return solution[:-1].astype(np.float32), solution[-1].astype(np.float32)


@functools.cache
def by_algebra():
    """The right answers at each epsilon on the images."""
    return right_after(*images(), EPSILONS)


def right_after(x, y, epsilons):
    """The right answers at each epsilon, without a gradient: one step up the closed form."""
    kernel, bias = (one.astype(np.float64) for one in weights())
    z = pooled(x) @ kernel + bias
    others = np.exp(z - z.max(axis=1, keepdims=True))
    others[np.arange(len(y)), y] = 0
    slope = (others / others.sum(axis=1, keepdims=True)) @ kernel.T - kernel.T[y]
    sign = np.sign(slope).reshape(-1, 7, 7).repeat(4, axis=1).repeat(4, axis=2)
    moved = [np.clip(x + epsilon * sign, 0, 1) for epsilon in epsilons]
    return [int((np.argmax(pooled(one) @ kernel + bias, axis=1) == y).sum()) for one in moved]


def under_attack(classifier, shape=(28, 28)):
    """The right answers at each epsilon by the attack itself, on images of that shape."""
    x, y = images()
    x = tf.constant(x.reshape(-1, *shape))
    classifier.check(shape)
    moved = [perturb(classifier, x, y, attack_named(epsilon=epsilon)) for epsilon in EPSILONS]
    return [int((np.argmax(classifier(one), axis=1) == y).sum()) for one in moved]


def stack(*head, before=(), entry=(28, 28), units=10, activation=None, dtype="float32"):
    """Layers up to the logits, then those of the head; ``before`` prepares pixels."""
    return [
        keras.Input(entry),
        *before,
        keras.layers.Reshape((28, 28, 1), dtype=dtype),
        keras.layers.AveragePooling2D(4, dtype=dtype),
        keras.layers.Flatten(dtype=dtype),
        keras.layers.Dense(units, activation=activation, name="scores", dtype=dtype),
        *head,
    ]


def network(*head, **options):
    return fitted(keras.Sequential(stack(*head, **options)))


def fitted(model, kernel=None, bias=None):
    """The model with the weights of the fit in the layer called scores."""
    own = weights()
    layer = next(one for one in model._flatten_layers() if one.name == "scores")
    layer.set_weights([own[0] if kernel is None else kernel, own[1] if bias is None else bias])
    return model
