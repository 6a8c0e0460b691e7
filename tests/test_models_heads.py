"""Heads: one classifier however it ends, by what it computes."""

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import FgsmError
from fgsm_cli.backend import keras
from fgsm_cli.models import Loading, inspect
from linear import by_algebra, fitted, images, network, stack, under_attack, weights

layers = keras.layers


class Subclassed(keras.Model):
    """A model that is no graph, and whose softmax Keras does not record."""

    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential(stack())

    def call(self, x):
        return tf.nn.softmax(self.inner(x))


class InAFunction(layers.Layer):
    """A layer whose softmax is inside a graph of its own."""

    @tf.function(autograph=False)
    def call(self, x):
        return tf.nn.softmax(x)


def subclassed():
    model = Subclassed()
    model(tf.zeros((1, 28, 28)))
    return fitted(model)


def functional(last):
    """Operations of keras.ops in the graph itself."""
    entry = keras.Input((28, 28))
    x = entry
    for layer in stack()[1:]:
        x = layer(x)
    return fitted(keras.Model(entry, last(x)))


HEADS = {
    "logits": (lambda: network(), "logits"),
    "softmax in Dense": (lambda: network(activation="softmax"), "softmax"),
    "Softmax layer": (lambda: network(layers.Softmax()), "softmax"),
    "Activation layer": (lambda: network(layers.Activation("softmax")), "softmax"),
    "nested": (lambda: keras.Sequential([keras.Input((28, 28)), network(layers.Softmax())]), "softmax"),
    "then Reshape": (lambda: network(layers.Softmax(), layers.Reshape((10,))), "softmax"),
    "then Flatten": (lambda: network(layers.Softmax(), layers.Flatten()), "softmax"),
    "then Dropout": (lambda: network(layers.Softmax(), layers.Dropout(0.5)), "softmax"),
    "then two axes": (lambda: network(layers.Softmax(), layers.Reshape((1, 1, 10))), "softmax"),
    "then a cast": (lambda: functional(lambda x: keras.ops.cast(keras.ops.softmax(x), "float64")), "softmax"),
    "keras.ops.softmax": (lambda: functional(keras.ops.softmax), "softmax"),
    "subclassed": (subclassed, "softmax"),
    "in a tf.function": (lambda: network(InAFunction()), "softmax"),
    "channels first": (lambda: network(layers.Reshape((10, 1, 1)), layers.Softmax(axis=1)), "softmax"),
    "log-softmax": (lambda: network(layers.Activation("log_softmax")), "log-softmax"),
    "log of a softmax": (lambda: functional(lambda x: keras.ops.log(keras.ops.softmax(x))), "log-softmax"),
    "an average": (lambda: functional(lambda x: (keras.ops.softmax(x) + keras.ops.softmax(x)) / 2), "probabilities"),
}  # fmt: skip


@pytest.mark.parametrize("head", HEADS)
def test_one_classifier_is_attacked_alike_whatever_its_head(head):
    build, kind = HEADS[head]
    classifier = inspect(build())
    assert classifier.head == kind
    assert under_attack(classifier) == by_algebra()


@pytest.mark.parametrize(
    "head", ["softmax in Dense", "then Reshape", "subclassed", "in a tf.function", "keras.ops.softmax", "log of a softmax"]
)  # fmt: skip
def test_a_recovered_head_has_the_very_logits(head):
    x = images()[0]
    classifier = inspect(HEADS[head][0]())
    np.testing.assert_allclose(classifier(x), inspect(network())(x), atol=1e-4)
    assert classifier.notes == ()


@pytest.mark.parametrize("head", ["softmax in Dense", "then Reshape", "subclassed", "log of a softmax"])  # fmt: skip
def test_no_scale_of_the_logits_saturates_a_recovered_head(head):
    model = HEADS[head][0]()
    fitted(model, *(1000 * one for one in weights()))
    classifier = inspect(model)
    scores = np.asarray(classifier(images()[0]))
    assert np.isfinite(scores).all()
    assert (np.ptp(scores, axis=1) > 1000).all()


def test_probabilities_without_their_logits_are_told():
    classifier = inspect(HEADS["an average"][0]())
    assert "whose logits could not be recovered" in classifier.notes[0]


def binary(*head, activation=None):
    """Is it a 3? The difference of two scores of the fit."""
    kernel, bias = weights()
    model = keras.Sequential(stack(*head, units=1, activation=activation))
    return fitted(model, kernel[:, 3:4] - kernel[:, 5:6], bias[3:4] - bias[5:6])


BINARY = {
    "logit": (lambda: binary(), "logit"),
    "sigmoid in Dense": (lambda: binary(activation="sigmoid"), "sigmoid"),
    "sigmoid, reshaped": (lambda: binary(layers.Activation("sigmoid"), layers.Reshape((1,))), "sigmoid"),
}  # fmt: skip


@pytest.mark.parametrize("head", BINARY)
def test_one_score_tells_two_labels_apart(head):
    build, kind = BINARY[head]
    classifier = inspect(build())
    kernel, bias = weights()
    two = keras.Sequential(stack(units=2))
    fitted(two, kernel[:, [5, 3]], bias[[5, 3]])
    x = images()[0]
    assert (classifier.head, classifier.classes, classifier.is_binary) == (kind, 2, True)
    scores, expected = np.asarray(classifier(x)), np.asarray(inspect(two)(x))
    assert (scores[:, 0] == 0).all()
    np.testing.assert_allclose(scores[:, 1], expected[:, 1] - expected[:, 0], atol=1e-4)


def test_a_sigmoid_of_any_scale_does_not_saturate():
    model = binary(activation="sigmoid")
    kernel, bias = (1000 * one for one in model.layers[-1].get_weights())
    scores = inspect(fitted(model, kernel, bias))(images()[0])
    assert float(tf.reduce_max(tf.abs(scores))) > 500


@pytest.mark.parametrize(
    ("build", "options", "sentence"),
    [
        (lambda: network(activation="sigmoid"), {}, r"gives 10 independent probabilities \(sigmoids\); expected one softmax, or --output-kind sigmoid"),
        (lambda: network(layers.Activation("sigmoid"), layers.Reshape((10,))), {}, "10 independent probabilities"),
        (lambda: binary(activation="softmax"), {}, "gives a softmax over one class, which is always 1"),
        (lambda: binary(layers.Activation("hard_sigmoid")), {}, "may be a probability or a logit; expected --output-kind sigmoid or --output-kind logit"),
        (lambda: binary(), {"loss": "mse"}, "trained with mse, a loss of regressions"),
        (lambda: binary(), {"loss": "MeanAbsoluteError"}, "a loss of regressions"),
        (lambda: network(layers.Reshape((2, 5))), {}, r"two classes or more. Received: output of shape \(any, 2, 5\)"),
        (lambda: network(), {"output_kind": "logit"}, "--output-kind logit needs one score. Received: 10 from the model"),
        (lambda: binary(), {"output_kind": "softmax"}, "--output-kind softmax needs two scores or more. Received: 1"),
        (lambda: network(), {"output_kind": "softmax"}, r"--output-kind softmax needs probabilities within 0..1. Received: -"),
    ],
)  # fmt: skip
def test_what_gives_no_scores_of_classes_is_refused(build, options, sentence):
    loss = options.get("loss", "")
    loading = Loading(output_kind=options.get("output_kind"))
    with pytest.raises(FgsmError, match=sentence):
        inspect(build(), loading, loss=loss)


def test_a_loss_of_regressions_is_no_matter_where_there_are_several_scores():
    assert inspect(network(activation="softmax"), loss="mse").head == "softmax"


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda: network(activation="sigmoid"), "sigmoid"),
        (lambda: network(activation="softmax"), "softmax"),
        (lambda: network(activation="softmax"), "probabilities"),
        (lambda: network(), "logits"),
    ],
)
def test_what_the_user_says_of_the_head_is_believed(build, kind):
    classifier = inspect(build(), Loading(output_kind=kind))
    assert classifier.head == kind
    assert under_attack(classifier)[:1] == by_algebra()[:1]


def test_ten_sigmoids_are_attacked_by_their_logits_if_asked_to():
    sigmoids = inspect(network(activation="sigmoid"), Loading(output_kind="sigmoid"))
    assert under_attack(sigmoids) == by_algebra()


def test_a_regression_is_a_classifier_if_its_user_says_so():
    assert inspect(binary(), Loading(output_kind="logit"), loss="mse").is_binary


def outputs(structure):
    entry = keras.Input((28, 28))
    x = entry
    for layer in stack()[1:]:
        x = layer(x)
    return fitted(keras.Model(entry, structure(x, layers.Dense(1, name="big")(x))))


@pytest.mark.parametrize(
    ("structure", "names", "wanted"),
    [
        (lambda digit, big: {"digit": digit, "is_big": big}, "digit, is_big", "digit"),
        (lambda digit, big: [digit, big], "scores, big", "scores"),
    ],
)
def test_one_of_several_outputs_is_chosen_by_name(structure, names, wanted):
    with pytest.raises(FgsmError, match=f"has 2 outputs; expected --output-name with one of them. Received: {names}"):  # fmt: skip
        inspect(outputs(structure))
    with pytest.raises(FgsmError, match=f"--output-name must be one of {names}. Received: 'x'"):
        inspect(outputs(structure), Loading(output_name="x"))
    chosen = inspect(outputs(structure), Loading(output_name=wanted))
    assert under_attack(chosen) == by_algebra()


def test_a_single_output_by_name_needs_no_choice():
    assert under_attack(inspect(outputs(lambda digit, _: {"digit": digit}))) == by_algebra()


def test_one_of_several_inputs_is_attacked_and_the_others_are_zero():
    a, b = keras.Input((28, 28), name="a"), keras.Input((28, 28), name="b")
    inner = network(before=[layers.Rescaling(1 / 255)])
    model = keras.Model([a, b], inner(layers.Add()([a, b])))
    with pytest.raises(FgsmError, match="has 2 inputs; expected --input-name with one of them. Received: a, b"):  # fmt: skip
        inspect(model)
    twice = keras.Model([a, b], layers.Add()([network()(a), layers.Dense(10)(layers.Flatten()(b))]))
    classifier = inspect(twice, Loading(input_name="a"))
    assert classifier.notes == ("the model has 2 inputs: b held at zero, a attacked",)
    assert under_attack(classifier) == by_algebra()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
def test_a_softmax_in_low_precision_is_one(policy):
    assert inspect(network(activation="softmax", dtype=policy)).head == "softmax"
