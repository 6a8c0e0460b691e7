"""Networks by name: what they are made of, and what is refused before it is trained."""

import sys
import textwrap

import numpy as np
import pytest

from fgsm_cli import FgsmError
from fgsm_cli.backend import keras
from fgsm_cli.config import TrainOptions, build
from fgsm_cli.models import build_cnn, build_network

MODULE = """
import numpy
from keras import Input, Model, Sequential, layers

def plain():
    return Sequential([Input((6, 6, 1)), layers.Flatten(), layers.Dense(3)])

def subclassed():
    class Mine(Model):
        def __init__(self):
            super().__init__()
            self.body = Sequential([layers.Flatten(), layers.Dense(3)])
        def call(self, x, training=False):
            return self.body(x)
    model = Mine()
    model(numpy.zeros((1, 6, 6), "float32"))
    return model

def half():
    return Sequential([Input((6, 6)), layers.Flatten(), layers.Dense(3, dtype="mixed_float16")])

def unbuilt():
    return Sequential([layers.Dense(3)])

def rescaled():
    return Sequential(
        [Input((6, 6)), layers.Rescaling(1 / 255), layers.Flatten(), layers.Dense(3)]
    )

def sigmoids():
    return Sequential([Input((6, 6)), layers.Flatten(), layers.Dense(3, activation="sigmoid")])

def several():
    x = Input((6, 6))
    flat = layers.Flatten()(x)
    return Model(x, {"a": layers.Dense(3)(flat), "b": layers.Dense(3)(flat)})

def wide():
    return Sequential([Input((7, 7)), layers.Flatten(), layers.Dense(3)])

def many():
    return Sequential([Input((6, 6)), layers.Flatten(), layers.Dense(4)])
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "nets.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield "nets"
    sys.modules.pop("nets", None)


def built(architecture, **changes):
    given = {
        "hidden": (8,),
        "dropout": 0.2,
        "head": "logits",
        "seed": 0,
        "input_shape": (6, 6),
        "classes": 3,
    }
    return build_network(architecture, **{**given, **changes})


@pytest.mark.parametrize(
    ("architecture", "weights"),
    [
        ("mlp", 36 * 8 + 8 + 8 * 3 + 3),
        ("softmax", 36 * 3 + 3),
        ("cnn", (25 * 32 + 32) + (25 * 32 * 64 + 64) + (64 * 1024 + 1024) + (1024 * 3 + 3)),
    ],
)
def test_a_network_is_as_large_as_its_layers_say(architecture, weights):
    assert (
        sum(np.size(one) for one in built(architecture).get_weights() if one.dtype == "f4")
        == weights
    )


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 1), (8, 9, 3)])
def test_the_cnn_takes_grey_and_colour(shape):
    model = build_cnn(input_shape=shape, classes=4)
    assert model(np.zeros((2, *shape), np.float32)).shape == (2, 4)


@pytest.mark.parametrize("shape", [(64,), (3, 8), (2, 2, 1)])
def test_the_cnn_refuses_what_it_cannot_pool(shape):
    with pytest.raises(FgsmError, match="the architecture cnn needs images"):
        build_cnn(input_shape=shape, classes=4)


@pytest.mark.parametrize("name", ["plain", "subclassed", "half"])
def test_a_function_of_ones_own_gives_the_network(name, module):
    model = built(f"{module}:{name}")
    scores = model(np.zeros((2, 6, 6), np.float32), training=True)
    assert (scores.shape, scores.dtype) == ((2, 3), "float32")
    assert isinstance(model, keras.Model)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("unbuilt", "was never built"),
        ("rescaled", "takes pixels in 0..255 by its Rescaling layer; a network to be trained"),
        ("sigmoids", "independent probabilities"),
        ("several", "has 2 outputs"),
        ("wide", r"must take images of shape \(6, 6\). Received: \(7, 7\)"),
        ("many", r"must give 3 scores. Received: \(4,\)"),
        ("absent", "has no function absent"),
    ],
)
def test_a_function_that_gives_no_such_network_is_refused_before_training(name, sentence, module):
    with pytest.raises(FgsmError, match=sentence):
        built(f"{module}:{name}")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"architecture": "resnet"}, "must be mlp, softmax, cnn or package.module:function"),
        ({"architecture": "cnn", "hidden": [64]}, "--hidden is of the architecture mlp"),
    ],
)
def test_an_unknown_name_is_refused(options, sentence):
    with pytest.raises(FgsmError, match=sentence):
        build(TrainOptions, options)
