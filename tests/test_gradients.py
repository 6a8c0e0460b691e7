"""get_grads: closed forms, every input type, and never a silent None."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from fgsm_cli import FgsmError, get_grads
from fgsm_cli.backend import keras
from fgsm_cli.data import ImageSet
from fgsm_cli.gradients import LOSSES, cross_entropy, cross_entropy_margin
from fgsm_cli.models import Classifier, build_mlp

DTYPES = [
    np.float16,
    np.float32,
    np.float64,
    tf.bfloat16.as_numpy_dtype,
    np.uint8,
    np.int32,
    np.int64,
]


def polynomial(x):
    return x**2 + x + 4


@pytest.mark.parametrize(
    "x",
    [tf.constant(3.14), tf.Variable(3.14), np.array(3.14), 3.14, [3.14], tf.Variable([3.14])],
    ids=["tensor", "variable", "array", "number", "list", "variable-vector"],
)
def test_tensor_variable_and_array_give_the_same_gradient(x):
    assert np.allclose(get_grads(polynomial, x), 7.28, rtol=1e-6)


def test_watching_a_variable_that_an_outer_tape_watches_is_harmless():
    x = tf.Variable(3.14)
    with tf.GradientTape() as outer:
        outer.watch(x)
        first = get_grads(polynomial, x)
        y = polynomial(x)
    assert first.numpy() == outer.gradient(y, x).numpy() == np.float32(7.28)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_number_type_gives_the_float_gradient(dtype, classifier, images):
    pixels = images.images[:4].astype(dtype)
    expected = get_grads(classifier, images.images[:4].astype(np.float32), images.labels[:4])
    gradient = get_grads(classifier, pixels, images.labels[:4])
    assert gradient.dtype == (tf.float64 if dtype is np.float64 else tf.float32)
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_one_image_is_a_batch_of_one(classifier, images):
    batch = get_grads(classifier, images.pixels(0, 3), images.labels[:3])
    single = get_grads(classifier, images.pixels(1, 2)[0], int(images.labels[1]))
    assert single.shape == (28, 28)
    np.testing.assert_allclose(single, batch[1], atol=1e-6)


def test_a_linear_model_has_its_weights_for_gradient():
    weights = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    gradient = get_grads(lambda x: x @ weights, np.zeros((3, 5), np.float32), [0, 1, 0])
    difference = weights[:, 1] - weights[:, 0]
    np.testing.assert_allclose(gradient, [difference, -difference, difference], rtol=1e-6)


@given(st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=6), st.integers(0, 5))
def test_the_losses_are_cross_entropy(scores, label):
    label %= len(scores)
    exact = np.logaddexp.reduce(np.array(scores, np.float64)) - np.float64(scores[label])
    margin = cross_entropy_margin(tf.constant([scores], tf.float64), tf.constant([label]))
    literal = cross_entropy(tf.constant([scores], tf.float64), tf.constant([label]))
    np.testing.assert_allclose(tf.math.softplus(margin), [exact], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(literal, [exact], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["ce", "ce-float32"])
def test_both_forms_of_cross_entropy_point_the_same_way_where_nothing_saturates(
    loss, classifier, images
):
    x, y = images.pixels(0, 100), images.labels[:100]
    exact = tf.sign(get_grads(classifier, x, y))
    assert np.mean(exact == tf.sign(get_grads(classifier, x, y, loss=loss))) > 0.995


@pytest.mark.parametrize("loss", LOSSES)
def test_finite_differences_agree(loss):
    rng = np.random.default_rng(3)
    weights, more = rng.normal(size=(6, 8)), rng.normal(size=(8, 3))

    def network(x):
        return tf.tanh(x @ weights) @ more

    x, y, step = rng.normal(size=(1, 6)), np.array([2]), 1e-6
    gradient = get_grads(network, x, y, loss=loss).numpy()[0]
    for pixel, slope in enumerate(gradient):
        shift = np.eye(6)[pixel] * step
        rise = LOSSES[loss](network(x + shift), y) - LOSSES[loss](network(x - shift), y)
        assert float(rise[0]) / (2 * step) == pytest.approx(slope, abs=1e-6)


def test_losses_are_summed_so_that_a_sample_ignores_its_batch(classifier, images):
    x, y = images.pixels(0, 64), images.labels[:64]
    alone = np.concatenate([get_grads(classifier, x[i : i + 1], y[i : i + 1]) for i in range(8)])
    np.testing.assert_allclose(alone, get_grads(classifier, x, y)[:8], atol=1e-6)


def test_dropout_and_batch_norm_rest_and_weights_stay():
    model = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(3),
        ]
    )
    before = [weight.numpy().tobytes() for weight in model.weights]
    x, y = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32), [0, 1, 2, 0, 1, 2, 0, 1]
    first, second = get_grads(model, x, y), get_grads(model, x, y)
    assert np.array_equal(first, second)
    assert [weight.numpy().tobytes() for weight in model.weights] == before


@pytest.mark.parametrize(
    "broken",
    [
        lambda x: tf.round(x) @ tf.ones((4, 3)),
        lambda x: tf.one_hot(tf.argmax(x, axis=1), 3),
        lambda x: tf.constant(np.asarray(x)[:, :3]),
    ],
    ids=["round", "argmax", "numpy"],
)
def test_no_path_to_the_input_is_an_error_or_zero_on_request(broken):
    x, y = np.random.default_rng(0).random((2, 4), np.float32), [0, 1]
    with pytest.raises(FgsmError, match="does not depend differentiably on its input"):
        get_grads(broken, x, y)
    assert np.array_equal(get_grads(broken, x, y, unconnected="zero"), np.zeros((2, 4)))


def test_it_works_inside_a_function_of_the_users_own(classifier, images):
    x, y = images.pixels(0, 5), images.labels[:5]

    @tf.function
    def compiled(x, y):
        return get_grads(classifier, x, y)

    np.testing.assert_allclose(compiled(x, y), get_grads(classifier, x, y), atol=1e-6)


@pytest.mark.parametrize("autograph", [False, True])
def test_an_error_inside_a_users_function_is_still_ours(autograph, classifier):
    @tf.function(autograph=autograph)
    def compiled(x):
        return get_grads(classifier, x)

    with pytest.raises(FgsmError, match="y, the labels, must be given"):
        compiled(tf.zeros((1, 28, 28)))


@pytest.mark.parametrize(
    ("x", "y", "keywords", "sentence"),
    [
        (np.zeros((1, 28, 28)), [10], {}, "y must hold labels from 0 to 9. Received: 10"),
        (np.zeros((1, 28, 28)), [-1], {}, "y must hold labels from 0 to 9. Received: -1"),
        (np.zeros((2, 28, 28)), [1], {}, "y must hold 2 labels, one a sample. Received: 1"),
        (np.zeros((1, 28, 28)), [0.5], {}, "y must hold integer labels. Received: float32"),
        (
            np.zeros((1, 28, 28)),
            [[1]],
            {},
            r"y must hold one label a sample. Received: shape \(1, 1\)",
        ),
        (
            np.zeros((1, 28, 28)),
            None,
            {},
            "y, the labels, must be given for a model with 10 scores",
        ),
        (np.zeros((1, 28, 28), complex), [1], {}, "x must hold real numbers. Received: complex128"),
        (
            np.zeros((0, 28, 28)),
            np.zeros(0, int),
            {},
            "x must hold at least one sample. Received: none",
        ),
        ([["a"]], [1], {}, "x must hold real numbers. Received: string"),
        (np.zeros((1, 28, 28)), [1], {"loss": "mse"}, "loss must be one of ce, ce-float32"),
        (np.zeros((1, 28, 28)), [1], {"unconnected": "none"}, "unconnected must be raise or zero"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_one_sentence(x, y, keywords, sentence, classifier):
    with pytest.raises(FgsmError, match=sentence):
        get_grads(classifier, x, y, **keywords)


def exact_gradient(model, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient of a one-hidden-layer MLP's m, by hand, in float64."""
    first, bias, second, last_bias = (weight.numpy().astype(np.float64) for weight in model.weights)
    flat = x.reshape(len(x), -1).astype(np.float64)
    hidden = flat @ first + bias
    scores = np.maximum(hidden, 0) @ second + last_bias
    own = np.eye(scores.shape[1], dtype=bool)[y]
    others = np.where(own, -np.inf, scores)
    weight = np.exp(others - others.max(axis=1, keepdims=True))
    slope = weight / weight.sum(axis=1, keepdims=True) - own
    return ((slope @ second.T * (hidden > 0)) @ first.T).reshape(x.shape)


def scaled_up(classifier: Classifier, factor: float):
    """The same decisions with logits that many times as large."""
    model = build_mlp((64,), dropout=0)
    model.set_weights([weight.numpy() for weight in classifier.model.weights])
    kernel, bias = model.layers[-1].weights
    kernel.assign(kernel * factor)
    bias.assign(bias * factor)
    return model


def test_a_saturated_model_is_attacked_as_in_float64(classifier: Classifier, images: ImageSet):
    model = scaled_up(classifier, 30)
    x, y = images.pixels(), images.labels
    exact = exact_gradient(model, x, y)

    def accuracy(gradient):
        moved = np.clip(x + np.float32(0.1) * np.sign(gradient).astype(np.float32), 0, 1)
        return np.mean(np.argmax(model(moved), axis=1) == y)

    literal = get_grads(model, x, y, loss="ce-float32").numpy()
    unsaturated = get_grads(model, x, y).numpy()
    assert np.mean(np.all(literal == 0, axis=(1, 2))) > 0.3, "the model is not saturated"
    assert accuracy(literal) > accuracy(exact) + 0.2, "float32 cross-entropy should mislead here"
    assert accuracy(unsaturated) == pytest.approx(accuracy(exact), abs=0.01)
    assert np.mean(np.sign(unsaturated) == np.sign(exact)) > 0.999
