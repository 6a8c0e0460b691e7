"""Files of Keras 2, made by Keras 2 itself in a process of its own."""

import subprocess
import sys

import numpy as np
import pytest

from fgsm_cli import FgsmError, load_classifier
from fgsm_cli.files import sha256
from linear import by_algebra, under_attack, weights

SCRIPT = """
import sys
import numpy as np
import tf_keras as keras

folder = sys.argv[1]
with np.load(folder + "/weights.npz") as arrays:
    fit = [arrays["kernel"], arrays["bias"]]

def model(loss):
    layers = keras.layers
    made = keras.Sequential([
        layers.Reshape((28, 28, 1), input_shape=(28, 28)),
        layers.AveragePooling2D(4),
        layers.Flatten(),
        layers.Dense(10, activation="softmax", name="scores"),
    ])
    made.layers[-1].set_weights(fit)
    made.compile(loss=loss, metrics=["mae"])
    return made

def own_loss(y, p):
    return keras.losses.mse(y, p)

model("mse").save(folder + "/model.h5")
model(own_loss).save(folder + "/own_loss.h5")
model("categorical_crossentropy").save(folder + "/saved_model", save_format="tf")
model("mse").save(folder + "/model.keras")
model("mse").save_weights(folder + "/weights.h5")
"""


@pytest.fixture(scope="module")
def keras2(tmp_path_factory):
    """A folder of one classifier in every format of Keras 2."""
    folder = tmp_path_factory.mktemp("keras2")
    kernel, bias = weights()
    np.savez(folder / "weights.npz", kernel=kernel, bias=bias)
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)], check=True, capture_output=True, timeout=240
    )
    return folder


@pytest.mark.parametrize("name", ["model.h5", "own_loss.h5", "saved_model"])
def test_a_classifier_of_keras_2_is_the_same_classifier(name, keras2):
    path = keras2 / name
    before = sha256(path)
    classifier = load_classifier(str(path))
    assert classifier.head == "softmax"
    assert classifier.notes == ()
    assert under_attack(classifier) == by_algebra()
    assert sha256(path) == before == classifier.sha256


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("model.keras", "was made by Keras 2, whose .keras files Keras 3 cannot read; expected the same model saved by Keras 2 as .h5 or as a SavedModel folder"),
        ("weights.h5", "holds weights only, without the network that they belong to"),
    ],
)  # fmt: skip
def test_what_keras_3_cannot_read_is_told_with_the_way_out(name, sentence, keras2):
    with pytest.raises(FgsmError, match=sentence) as caught:
        load_classifier(str(keras2 / name))
    assert "\n" not in str(caught.value)
