"""The networks that ``fgsm train`` trains, by name, and saving them.

save_model(build_mlp((128,), head="softmax", seed=0), "model.keras")
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..backend import keras
from ..errors import FgsmError
from ..files import whole_file
from .code import call
from .inspection import inspect
from .loading import compute_in_float32, name_for_graphs


def build_mlp(
    hidden: Sequence[int],
    *,
    dropout: float = 0.2,
    head: Literal["logits", "softmax"] = "logits",
    seed: int = 0,
    input_shape: Sequence[int] = (28, 28),
    classes: int = 10,
) -> Any:
    """A multilayer perceptron: Flatten, then Dense-ReLU-Dropout a width, then Dense.

    Without hidden widths it is softmax regression. The seed settles the initial weights
    (Glorot uniform) and the dropout, and touches no global state.
    """
    stack = [keras.Input(tuple(input_shape), dtype="float32"), keras.layers.Flatten()]
    for layer, width in enumerate(hidden):
        stack.append(_dense(width, "relu", seed, 2 * layer))
        if dropout:
            stack.append(keras.layers.Dropout(dropout, seed=_seed(seed, 2 * layer + 1)))
    stack.append(_dense(classes, _activation(head), seed, 2 * len(hidden)))
    return keras.Sequential(stack)


def build_cnn(
    *,
    dropout: float = 0.2,
    head: Literal["logits", "softmax"] = "logits",
    seed: int = 0,
    input_shape: Sequence[int] = (28, 28),
    classes: int = 10,
) -> Any:
    """The convolutional network of the MNIST literature (Madry et al. 2018, arXiv 1706.06083).

    Two convolutions of 32 and 64 filters of 5x5, each with ReLU and 2x2 max pooling, then 1024
    hidden units with dropout. input_shape: (height, width), or with channels last.
    Raises FgsmError for images too small to be pooled twice, or flat ones.
    """
    shape = (*input_shape, 1) if len(input_shape) == 2 else tuple(input_shape)
    if len(shape) != 3 or min(shape[:2]) < 4:
        raise FgsmError(
            "the architecture cnn needs images (height, width) or (height, width, channels), of 4 "
            f"pixels or more a side. Received: shape {tuple(input_shape)}"
        )
    stack = [
        keras.Input(tuple(input_shape), dtype="float32"),
        keras.layers.Reshape(shape),
    ]
    for layer, filters in enumerate((32, 64)):
        stack.append(
            keras.layers.Conv2D(
                filters,
                5,
                padding="same",
                activation="relu",
                kernel_initializer=keras.initializers.GlorotUniform(_seed(seed, layer)),
                dtype="float32",
            )
        )
        stack.append(keras.layers.MaxPooling2D())
    stack += [keras.layers.Flatten(), _dense(1024, "relu", seed, 2)]
    if dropout:
        stack.append(keras.layers.Dropout(dropout, seed=_seed(seed, 3)))
    stack.append(_dense(classes, _activation(head), seed, 4))
    return keras.Sequential(stack)


def build_network(
    architecture: str,
    *,
    hidden: Sequence[int],
    dropout: float,
    head: Literal["logits", "softmax"],
    seed: int,
    input_shape: Sequence[int],
    classes: int,
) -> Any:
    """A network by name: mlp, softmax (regression), cnn, or ``package.module:function``.

    The function takes no arguments and returns a Keras model for these images and classes;
    hidden, dropout, head and seed are its own affair.
    Raises FgsmError for one that does not fit, or is not there.
    """
    common: dict[str, Any] = {
        "dropout": dropout,
        "head": head,
        "seed": seed,
        "input_shape": input_shape,
        "classes": classes,
    }
    if architecture == "cnn":
        return build_cnn(**common)
    if architecture in ("mlp", "softmax"):
        return build_mlp(() if architecture == "softmax" else hidden, **common)
    built = call(architecture)
    compute_in_float32(built)
    name_for_graphs(built)
    found = inspect(built, path=architecture)
    model = found.model
    if not found.range.is_unit:
        raise FgsmError(
            f"{architecture} takes pixels in {found.range} by {found.range_source}; a network to "
            "be trained must take them in 0..1"
        )
    taken = tuple(size for size in model.input_shape[1:] if size != 1)
    if taken != tuple(size for size in input_shape if size != 1):
        raise FgsmError(
            f"{architecture} must take images of shape {tuple(input_shape)}. "
            f"Received: {tuple(model.input_shape[1:])}"
        )
    if model.output_shape[1:] != (classes,):
        raise FgsmError(
            f"{architecture} must give {classes} scores. Received: {model.output_shape[1:]}"
        )
    return model


def _dense(units: int, activation: str | None, seed: int, part: int) -> Any:
    return keras.layers.Dense(
        units,
        activation=activation,
        kernel_initializer=keras.initializers.GlorotUniform(_seed(seed, part)),
        dtype="float32",
    )


def _activation(head: Literal["logits", "softmax"]) -> str | None:
    return "softmax" if head == "softmax" else None


def _seed(seed: int, part: int) -> int:
    """One seed of several that share no stream."""
    return int(np.random.SeedSequence([seed, part]).generate_state(1)[0])


def save_model(model: Any, path: str | Path) -> None:
    """Save as .keras, whole or not at all. Raises FgsmError if it cannot be written."""
    with whole_file(path) as temporary:
        model.save(temporary)
