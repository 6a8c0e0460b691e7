"""The multilayer perceptron that ``fgsm train`` trains, and saving it.

save_model(build_mlp((128,), head="softmax", seed=0), "model.keras")
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..backend import keras
from ..files import whole_file


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
        stack.append(
            keras.layers.Dense(
                width,
                activation="relu",
                kernel_initializer=keras.initializers.GlorotUniform(_seed(seed, 2 * layer)),
                dtype="float32",
            )
        )
        if dropout:
            stack.append(keras.layers.Dropout(dropout, seed=_seed(seed, 2 * layer + 1)))
    stack.append(
        keras.layers.Dense(
            classes,
            activation="softmax" if head == "softmax" else None,
            kernel_initializer=keras.initializers.GlorotUniform(_seed(seed, 2 * len(hidden))),
            dtype="float32",
        )
    )
    return keras.Sequential(stack)


def _seed(seed: int, part: int) -> int:
    """One seed of several that share no stream."""
    return int(np.random.SeedSequence([seed, part]).generate_state(1)[0])


def save_model(model: Any, path: str | Path) -> None:
    """Save as .keras, whole or not at all. Raises FgsmError if it cannot be written."""
    with whole_file(path) as temporary:
        model.save(temporary)
