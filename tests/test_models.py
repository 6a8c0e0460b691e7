"""Models: the MLP, saving, and what is no classifier."""

import numpy as np
import pytest

from fgsm_cli import FgsmError, attack_named, load_classifier, perturb
from fgsm_cli.backend import keras
from fgsm_cli.models import Classifier, build_mlp, inspect, save_model


def network(*head, entry=(28, 28)):
    """A small classifier with a head of choice; the weights before it are always the same."""
    layers = [keras.Input(entry), keras.layers.Flatten()]
    layers.append(keras.layers.Dense(10, kernel_initializer=keras.initializers.GlorotUniform(3)))
    return keras.Sequential([*layers, *head])


def test_what_compile_claims_is_not_asked():
    model = network(keras.layers.Softmax())
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    assert inspect(model).head == "softmax"


def test_a_saved_model_comes_back_as_it_was(tmp_path, images):
    model = build_mlp((32, 16), head="softmax", seed=5)
    save_model(model, tmp_path / "a" / "model.keras")
    classifier = load_classifier(str(tmp_path / "a" / "model.keras"))
    assert classifier.head == "softmax"
    assert classifier.classes == 10
    x = images.pixels(0, 3)
    np.testing.assert_array_equal(classifier(x), inspect(model)(x))
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["model.keras"]


def test_the_seed_settles_the_weights():
    def weights(seed):
        return b"".join(weight.numpy().tobytes() for weight in build_mlp((8,), seed=seed).weights)

    assert weights(1) == weights(1)
    assert weights(1) != weights(2)


def test_no_hidden_layer_is_softmax_regression():
    assert [weight.shape for weight in build_mlp(()).weights] == [(784, 10), (10,)]


def functional(inputs, outputs):
    return keras.Model(inputs, outputs)


def broken_weights():
    model = network()
    model.weights[0].assign(np.full((784, 10), np.nan, np.float32))
    return model


def tokens():
    a = keras.Input((4,), dtype="int32")
    return functional(
        a, keras.layers.Dense(3)(keras.layers.Flatten()(keras.layers.Embedding(9, 2)(a)))
    )


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (tokens, "takes int32, which has no gradient; expected floating-point images"),
        (lambda: keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)]), "was never built"),
        (broken_weights, "weights that are not finite numbers"),
        (lambda: keras.Sequential([keras.Input((None, 2)), keras.layers.Dense(3)]), r"two classes or more. Received: output of shape \(any, 96, 3\)"),
        (lambda: functional(a := keras.Input((1,), dtype="string"), keras.layers.Dense(3)(keras.layers.Hashing(9, output_mode="one_hot")(a))), "takes text, which has no gradient"),
    ],
)  # fmt: skip
def test_what_is_no_classifier_is_refused_with_the_reason(build, sentence):
    with pytest.raises(FgsmError, match=sentence):
        inspect(build())


def test_an_attack_leaves_the_weights_as_they_were(classifier: Classifier, images):
    before = [weight.numpy().tobytes() for weight in classifier.model.weights]
    perturb(classifier, images.pixels(0, 50), images.labels[:50], attack_named("bim"))
    assert [weight.numpy().tobytes() for weight in classifier.model.weights] == before
