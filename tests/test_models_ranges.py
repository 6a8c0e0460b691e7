"""Pixel ranges and shapes: one classifier, whatever it takes for black and white, and in which order."""

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import FgsmError
from fgsm_cli.backend import keras
from fgsm_cli.models import Loading, inspect
from fgsm_cli.models.shapes import arrangement
from fgsm_cli.ranges import PixelRange
from linear import by_algebra, fitted, images, network, stack, under_attack, weights

layers = keras.layers
MEAN, STD = 0.1307, 0.3081


def normalised(scale):
    """The fit behind a Normalization of pixels in 0..scale."""
    before = [layers.Normalization(axis=None, mean=scale * MEAN, variance=(scale * STD) ** 2)]
    return network(before=[*before, layers.Rescaling(STD, MEAN)])


def computed(first, *before):
    """The fit behind operations that are no layers."""
    entry = keras.Input((28, 28))
    x = first(entry)
    for layer in stack(before=before)[1:]:
        x = layer(x)
    return fitted(keras.Model(entry, x))


def augmented():
    first = keras.Sequential(
        [layers.Reshape((28, 28, 1)), layers.RandomFlip(), layers.Dropout(0.5)]
    )
    return network(before=[first, layers.Rescaling(1 / 255)])


BY_LAYER = {
    "Rescaling 1/255": (lambda: network(before=[layers.Rescaling(1 / 255)]), "0..255", "its Rescaling layer"),
    "Rescaling 1/127.5 - 1": (lambda: network(before=[layers.Rescaling(1 / 127.5, -1), layers.Rescaling(0.5, 0.5)]), "0..255", "its Rescaling layer"),
    "Rescaling 1/128": (lambda: network(before=[layers.Rescaling(1 / 128), layers.Rescaling(128 / 255)]), "0..255", "its Rescaling layer"),
    "Rescaling 2x - 1": (lambda: network(before=[layers.Rescaling(2.0, -1.0), layers.Rescaling(0.5, 0.5)]), "0..1", "its Rescaling layer"),
    "Rescaling of -1..1": (lambda: network(before=[layers.Rescaling(0.5, 0.5)]), "-1..1", "its Rescaling layer"),
    "Rescaling of standardised": (lambda: network(before=[layers.Rescaling(STD, MEAN)]), "-0.42421..2.8215", "its Rescaling layer"),
    "Normalization of 0..255": (lambda: normalised(255), "0..255", "its Normalization layer"),
    "Normalization of 0..1": (lambda: normalised(1), "0..1", "its Normalization layer"),
    "behind a Reshape": (lambda: network(before=[layers.Reshape((28, 28)), layers.Rescaling(1 / 255)]), "0..255", "its Rescaling layer"),
    "behind an augmentation": (augmented, "0..255", "its Rescaling layer"),
    "nested": (lambda: keras.Sequential([keras.Input((28, 28)), network(before=[layers.Rescaling(1 / 255)])]), "0..255", "its Rescaling layer"),
    "a division": (lambda: computed(lambda x: x / 127.5 - 1, layers.Rescaling(0.5, 0.5)), "0..255", "its division"),
    "a multiplication": (lambda: computed(lambda x: (1 / 255) * x), "0..255", "its multiplication"),
    "an inverse": (lambda: computed(lambda x: 1 / (1 / (x + 1))  - 1), "0..1", "assumed"),
    "nothing": (lambda: network(), "0..1", "assumed"),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_LAYER)
def test_the_first_layers_tell_the_range(name):
    build, shown, source = BY_LAYER[name]
    classifier = inspect(build())
    assert (str(classifier.range), classifier.range_source) == (shown, source)
    assert under_attack(classifier) == by_algebra()


def folded(low, high):
    """The fit for pixels in low..high, which no layer tells of."""
    kernel, bias = weights()
    width = high - low
    return fitted(network(), kernel / width, bias - low / width * kernel.sum(axis=0))


@pytest.mark.parametrize(
    ("low", "high"), [(0, 255), (-1, 1), (-MEAN / STD, (1 - MEAN) / STD), (1, 0)]
)
def test_a_range_that_is_given_is_taken(low, high):
    loading = Loading(input_range=PixelRange((float(low),), (float(high),)))
    classifier = inspect(folded(low, high), loading)
    assert classifier.range_source == "--input-range"
    assert under_attack(classifier) == by_algebra()


def test_a_range_that_is_given_beats_the_first_layers():
    loading = Loading(input_range=PixelRange((0.0,), (1.0,)))
    model = network(before=[layers.Rescaling(1 / 255), layers.Rescaling(255.0)])
    assert under_attack(inspect(model, loading)) == by_algebra()


@pytest.mark.parametrize(
    "layer",
    [layers.Conv2D(2, 3), layers.Rescaling(0.25), layers.Normalization(mean=0, variance=1, invert=True)],
)  # fmt: skip
def test_layers_that_tell_no_range_leave_it_assumed(layer):
    model = keras.Sequential([keras.Input((8, 8, 1)), layer, layers.Flatten(), layers.Dense(3)])
    classifier = inspect(model)
    assert classifier.range.is_unit
    assert classifier.range_source == "assumed"


GREY = [(28, 28), (28, 28, 1), (784,), (1, 28, 28)]


@pytest.mark.parametrize("entry", GREY, ids=str)
@pytest.mark.parametrize("shape", GREY, ids=str)
def test_grey_images_fit_in_every_shape(entry, shape):
    before = [layers.Rescaling(1 / 255)]
    assert under_attack(inspect(network(entry=entry, before=before)), shape) == by_algebra()


COLOURS = np.random.default_rng(0).random((6, 8, 9, 3), dtype=np.float32)
MEANS, STDS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def colour_model(entry, dense):
    """A dense layer on the pixels in the order (row, column, colour)."""
    to_back = [layers.Permute((2, 3, 1))] if entry == (3, 8, 9) else []
    return keras.Sequential([keras.Input(entry), *to_back, layers.Flatten(), dense])


@pytest.mark.parametrize("is_standardised", [False, True])
@pytest.mark.parametrize(
    ("entry", "shape"),
    [
        ((8, 9, 3), (8, 9, 3)), ((3, 8, 9), (3, 8, 9)), ((3, 8, 9), (8, 9, 3)),
        ((8, 9, 3), (3, 8, 9)), ((216,), (8, 9, 3)),
    ],
    ids=str,
)  # fmt: skip
def test_colour_images_are_transposed_and_never_scrambled(entry, shape, is_standardised):
    dense = layers.Dense(4)
    given = PixelRange.standardised(MEANS, STDS) if is_standardised else PixelRange()
    classifier = inspect(colour_model(entry, dense), Loading(input_range=given))
    x = COLOURS if shape == (8, 9, 3) else COLOURS.transpose(0, 3, 1, 2)
    classifier.check(shape)
    means, stds = (MEANS, STDS) if is_standardised else (0, 1)
    expected = dense(((COLOURS - means) / stds).reshape(6, -1))
    np.testing.assert_allclose(classifier(tf.constant(x)), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "entry", "sentence"),
    [
        ((32, 32), (28, 28), r"takes images of shape \(28, 28\). Received: \(32, 32\)"),
        ((28, 20), (20, 28), r"takes images of shape \(20, 28\). Received: \(28, 20\)"),
        ((216,), (8, 9, 3), r"Received: \(216,\), whose pixels may be in any order"),
        ((3, 8, 9), (216,), r"Received: \(3, 8, 9\), whose pixels may be in any order"),
        ((8, 9), (8, 9, 3), r"takes images of shape \(8, 9, 3\). Received: \(8, 9\)"),
        ((9, 3, 8), (8, 9, 3), "takes images of shape"),
        ((8, 9, 3), (8, 9, 4), "takes images of shape"),
        ((216,), (216, 2), "takes images of shape"),
    ],
)
def test_what_does_not_fit_is_refused_with_both_shapes(shape, entry, sentence):
    classifier = inspect(keras.Sequential([keras.Input(entry), layers.Flatten(), layers.Dense(3)]))
    for refused in (lambda: classifier.check(shape), lambda: classifier(tf.zeros((2, *shape)))):
        with pytest.raises(FgsmError, match=sentence):
            refused()


def test_a_range_of_three_channels_needs_images_of_three():
    model = keras.Sequential([keras.Input((28, 28)), layers.Flatten(), layers.Dense(3)])
    loading = Loading(PixelRange.standardised(MEANS, STDS), "--mean and --std")
    with pytest.raises(FgsmError, match="gives 3 values, one a channel; expected images of 3 channels. Received: "):  # fmt: skip
        inspect(model, loading).check((28, 28))


@pytest.mark.parametrize(
    ("entry", "shape", "taken"),
    [
        ((None, None, 1), (28, 28), (28, 28, 1)),
        ((None, None, 3), (32, 40, 3), (32, 40, 3)),
        ((None, None, 3), (3, 32, 40), (32, 40, 3)),
        ((3, None, None), (32, 40, 3), (3, 32, 40)),
        ((None, 28), (28, 28), (28, 28)),
    ],
)
def test_an_open_size_is_that_of_the_images(entry, shape, taken):
    assert arrangement(shape, entry).shape == taken


def test_a_network_of_any_size_takes_the_images_as_they_are():
    model = keras.Sequential(
        [keras.Input((None, None, 1)), layers.Conv2D(4, 3), layers.GlobalAveragePooling2D(), layers.Dense(3)]
    )  # fmt: skip
    classifier = inspect(model)
    x = tf.constant(images()[0][:5])
    np.testing.assert_allclose(classifier(x), model(x[..., tf.newaxis]), atol=1e-6)
    with pytest.raises(FgsmError, match=r"takes images of shape \(any, any, 1\). Received: "):
        classifier.check((28, 28, 3))


def test_networks_of_keras_applications_tell_their_range():
    classifier = inspect(
        keras.applications.MobileNetV3Small(
            weights=None, input_shape=(32, 32, 3), classes=10, minimalistic=True
        )
    )
    assert str(classifier.range) == "0..255"
    assert classifier.head == "softmax"


def test_a_network_of_keras_applications_is_attacked(images):
    from fgsm_cli import attack_named, perturb

    model = keras.applications.MobileNetV2(weights=None, input_shape=(32, 32, 3), classes=10)
    x = np.random.default_rng(0).random((4, 32, 32, 3), dtype=np.float32)
    before = [weight.numpy().tobytes() for weight in model.weights]
    moved = perturb(inspect(model), x, np.arange(4), attack_named(epsilon=0.1)).numpy()
    assert np.abs(moved - x).max() == pytest.approx(0.1, abs=1e-6)
    assert (moved != x).mean() > 0.9
    assert [weight.numpy().tobytes() for weight in model.weights] == before
