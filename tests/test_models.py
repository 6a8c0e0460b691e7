"""Models: their logits whatever the head, and a sentence for each that is no classifier."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import FgsmError, attack_named, load_classifier, perturb
from fgsm_cli.backend import keras
from fgsm_cli.models import Classifier, build_mlp, inspect, save_model


def network(*head, entry=(28, 28)):
    """A small classifier with a head of choice; the weights before it are always the same."""
    layers = [keras.Input(entry), keras.layers.Flatten()]
    layers.append(keras.layers.Dense(10, kernel_initializer=keras.initializers.GlorotUniform(3)))
    return keras.Sequential([*layers, *head])


def softmax_inside():
    model = network()
    model.layers[-1].activation = keras.activations.softmax
    return model


HEADS = {
    "logits": lambda: network(),
    "softmax layer": lambda: network(keras.layers.Softmax()),
    "activation layer": lambda: network(keras.layers.Activation("softmax")),
    "softmax in Dense": softmax_inside,
    "nested": lambda: keras.Sequential([keras.Input((28, 28)), network(keras.layers.Softmax())]),
    "log-softmax": lambda: network(keras.layers.Activation("log_softmax")),
    "softmax, reshaped": lambda: network(keras.layers.Softmax(), keras.layers.Reshape((10,))),
}


@pytest.mark.parametrize("head", HEADS)
def test_every_head_is_attacked_alike(head, images):
    x, y, attack = images.pixels(0, 100), images.labels[:100], attack_named(epsilon=0.1)
    expected = perturb(inspect(network()), x, y, attack).numpy()
    assert np.mean(perturb(inspect(HEADS[head]()), x, y, attack).numpy() != expected) < 1e-3


@pytest.mark.parametrize(
    ("head", "kind"),
    [("logits", "logits"), ("softmax layer", "softmax"), ("nested", "softmax"),
     ("log-softmax", "logits"), ("softmax, reshaped", "probabilities")],
)  # fmt: skip
def test_the_head_is_judged_by_what_it_computes(head, kind):
    assert inspect(HEADS[head]()).head == kind


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
def test_a_softmax_in_low_precision_is_one(policy):
    model = keras.Sequential(
        [
            keras.Input((28, 28)),
            keras.layers.Flatten(),
            keras.layers.Dense(10, activation="softmax", dtype=policy),
        ]
    )
    assert inspect(model).head == "softmax"


def test_what_compile_claims_is_not_asked():
    model = network(keras.layers.Softmax())
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    assert inspect(model).head == "softmax"


def test_softmax_logits_do_not_saturate():
    model = network(keras.layers.Rescaling(1e4), keras.layers.Softmax())
    scores = inspect(model)(tf.ones((1, 28, 28)))
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 1e3


@pytest.mark.parametrize("entry", [(784,), (28, 28), (28, 28, 1), (1, 28, 28)], ids=str)
def test_images_are_reshaped_where_sizes_agree(entry, images):
    classifier = inspect(network(entry=entry))
    classifier.check((28, 28))
    np.testing.assert_allclose(
        classifier(images.pixels(0, 5)), inspect(network())(images.pixels(0, 5)), atol=1e-5
    )


def test_images_of_another_size_are_refused():
    with pytest.raises(FgsmError, match=r"takes images of shape \(28, 28\). Received: \(32, 32\)"):
        inspect(network()).check((32, 32))


def test_colour_images_with_their_channels_elsewhere_are_not_scrambled():
    first = keras.Sequential(
        [keras.Input((3, 8, 8)), keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    with pytest.raises(
        FgsmError, match=r"takes images of shape \(3, 8, 8\). Received: \(8, 8, 3\)"
    ):
        inspect(first).check((8, 8, 3))


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


def two_inputs():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    return functional([a, b], keras.layers.Dense(3)(keras.layers.Add()([a, b])))


def two_outputs():
    a = keras.Input((4,))
    return functional(a, [keras.layers.Dense(3)(a), keras.layers.Dense(2)(a)])


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
        (two_inputs, "must have one input and one output. Received: 2 and 1"),
        (two_outputs, "must have one input and one output. Received: 1 and 2"),
        (lambda: functional(i := keras.Input((4,)), {"digit": keras.layers.Dense(3)(i)}), "must give one tensor of floating-point scores. Received: dict"),
        (tokens, "takes int32, which has no gradient; expected floating-point images"),
        (lambda: network(keras.layers.Dense(1)), r"two classes or more. Received: output of shape \(None, 1\)"),
        (lambda: network(keras.layers.Dense(1, "softmax")), "two classes or more"),
        (lambda: network(keras.layers.Activation("sigmoid")), "independent probabilities"),
        (lambda: keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)]), "was never built"),
        (broken_weights, "weights that are not finite numbers"),
        (lambda: keras.Sequential([keras.Input((None, 2)), keras.layers.Dense(3)]), "must state its input's shape"),
    ],
)  # fmt: skip
def test_what_is_no_classifier_is_refused_with_the_reason(build, sentence):
    with pytest.raises(FgsmError, match=sentence):
        inspect(build())


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.keras", b"", "is empty: 0 bytes"),
        (
            "text.keras",
            b"version https://git-lfs.github.com/spec/v1\n",
            "is damaged or not a Keras model",
        ),
        ("other.bin", b"\x00" * 100, "cannot be loaded as a Keras model"),
    ],
)
def test_a_file_that_is_no_model_is_refused(name, content, sentence, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FgsmError, match=sentence) as caught:
        load_classifier(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_a_truncated_model_is_refused(model_file: Path, tmp_path: Path):
    (tmp_path / "cut.keras").write_bytes(model_file.read_bytes()[:5000])
    with pytest.raises(FgsmError, match="is damaged or not a Keras model"):
        load_classifier(str(tmp_path / "cut.keras"))


def test_an_archive_that_is_no_model_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "zip.keras", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(FgsmError, match="cannot be loaded as a Keras model"):
        load_classifier(str(tmp_path / "zip.keras"))


def test_a_missing_model_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(FgsmError, match="no model at"):
        load_classifier(str(tmp_path / "absent.keras"))
    with pytest.raises(FgsmError, match="is a folder; expected a file"):
        load_classifier(str(tmp_path))


def test_code_in_a_model_is_not_run(tmp_path):
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Lambda(lambda x: x * 2), keras.layers.Dense(2)]
    )
    model.save(tmp_path / "lambda.keras")
    with pytest.raises(FgsmError, match="it holds a Lambda layer, and code in a file is not run"):
        load_classifier(str(tmp_path / "lambda.keras"))


class Halving(keras.layers.Layer):
    """A layer that a file can name, and that nobody registered."""

    def call(self, x):
        return x / 2


def test_a_custom_layer_is_named(tmp_path):
    keras.Sequential([keras.Input((4,)), Halving(), keras.layers.Dense(2)]).save(
        tmp_path / "c.keras"
    )
    with pytest.raises(
        FgsmError, match="it needs the custom class Halving, which is not registered"
    ):
        load_classifier(str(tmp_path / "c.keras"))


def test_an_attack_leaves_the_weights_as_they_were(classifier: Classifier, images):
    before = [weight.numpy().tobytes() for weight in classifier.model.weights]
    perturb(classifier, images.pixels(0, 50), images.labels[:50], attack_named("bim"))
    assert [weight.numpy().tobytes() for weight in classifier.model.weights] == before
