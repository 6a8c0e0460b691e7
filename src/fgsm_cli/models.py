"""The MLP; loading any Keras classifier; its logits; saving.

A softmax hides how sure a network is: in float32 its cross-entropy rounds to nothing, and the
gradient with it. So every classifier is used through its logits:

    logits(model, x)                      # of a softmax head, what went into the softmax
    load_classifier("model.keras")(x)     # the same, and checked
"""

import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .backend import keras, tf
from .errors import FgsmError
from .files import check_regular, sha256, whole_file

Model = Callable[..., Any]
Head = Literal["logits", "softmax", "probabilities"]


def logits(model: Model, x: Any, *, training: bool = False) -> Any:
    """The model's logits at x (batch, ...), by default at rest: dropout off, batch norm fixed.

    A Keras model whose last operation is a softmax gives what went into it: Keras records
    that on the output. Any other callable gives what it returns.
    """
    outputs = model(x, training=training) if isinstance(model, keras.Model) else model(x)
    return getattr(outputs, "_keras_logits", outputs)


@dataclass(frozen=True, eq=False)
class Classifier:
    """A Keras model that was looked at, and answers with logits.

    head: what the model itself gives: "logits"; "softmax", whose logits are recovered; or
        "probabilities" whose logits are not, so that their logarithm stands in.
    input_shape: the shape of one image.
    """

    model: Any
    head: Head
    classes: int
    input_shape: tuple[int, ...]
    path: str = ""
    sha256: str = ""

    def __call__(self, x: Any) -> Any:
        """Logits (batch, classes), float32, at x (batch, ...), flat or with axes of size 1, too."""
        outputs = logits(self.model, tf.reshape(x, (-1, *self.input_shape)))
        if self.head == "probabilities":
            outputs = tf.math.log(tf.maximum(outputs, np.finfo(np.float32).tiny))
        return tf.cast(outputs, tf.float32)

    def check(self, image_shape: Sequence[int]) -> None:
        """Raise FgsmError unless the model takes images of that shape."""
        given, wanted = (
            [size for size in shape if size != 1] for shape in (image_shape, self.input_shape)
        )
        is_flat = min(len(given), len(wanted)) <= 1 and np.prod(given) == np.prod(wanted)
        if given != wanted and not is_flat:
            raise FgsmError(
                f"{self.path or 'the model'} takes images of shape {self.input_shape}. "
                f"Received: {tuple(image_shape)}"
            )


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


def load_classifier(path: str) -> Classifier:
    """The Keras classifier in a file, checked: one input, one output of at least two classes.

    No code in the file is run. Raises FgsmError for a file that is missing, damaged or not a
    Keras model, for weights that are not finite, and for a model that is no classifier.
    """
    check_regular(path, "model")
    file = Path(path)
    if not file.stat().st_size:
        raise FgsmError(f"the model {path} is empty: 0 bytes")
    if file.suffix == ".keras" and not zipfile.is_zipfile(file):
        raise FgsmError(f"{path} is damaged or not a Keras model: its archive cannot be read")
    try:
        model = keras.models.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # Keras raises every kind
        raise FgsmError(f"{path} cannot be loaded as a Keras model: {_reason(error)}") from None
    return inspect(model, path=path, sha256=sha256(path))


def _reason(error: Exception) -> str:
    """Why Keras refused a file, in one sentence of ours where its own runs to ten lines."""
    text = str(error)
    if "Lambda" in text and "safe" in text:
        return "it holds a Lambda layer, and code in a file is not run"
    if found := re.search(r"Could not locate class '([^']+)'", text):
        return f"it needs the custom class {found[1]}, which is not registered"
    return text.strip().partition("\n")[0][:200]


def inspect(model: Any, *, path: str = "", sha256: str = "") -> Classifier:
    """What a Keras model is, by what it computes; ``compile`` is not asked.

    Raises FgsmError for several inputs or outputs, an input that is no real number, fewer
    than two classes, independent sigmoids, or weights that are not finite.
    """
    name = path or "the model"
    if not _has_inputs(model):
        raise FgsmError(
            f"{name} was never built, so its input has no shape; expected a model with an Input, "
            "or one that has seen data before it was saved"
        )
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        raise FgsmError(
            f"{name} must have one input and one output. "
            f"Received: {len(model.inputs)} and {len(model.outputs)}"
        )
    entry, exit_ = model.inputs[0], model.outputs[0]
    if "float" not in str(entry.dtype):
        raise FgsmError(
            f"{name} takes {entry.dtype}, which has no gradient; expected floating-point images"
        )
    if None in entry.shape[1:]:
        raise FgsmError(f"{name} must state its input's shape. Received: {entry.shape[1:]}")
    if len(exit_.shape) != 2 or exit_.shape[1] is None or exit_.shape[1] < 2:
        raise FgsmError(
            f"{name} must give one score for each of two classes or more. "
            f"Received: output of shape {tuple(exit_.shape)}"
        )
    for weight in model.weights:
        values = np.asarray(weight.value)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise FgsmError(f"{name} holds weights that are not finite numbers, in {weight.path}")
    return Classifier(
        model=model,
        head=_head(model, tuple(entry.shape[1:]), name),
        classes=int(exit_.shape[1]),
        input_shape=tuple(entry.shape[1:]),
        path=path,
        sha256=sha256,
    )


def _has_inputs(model: Any) -> bool:
    try:
        return bool(model.inputs and model.outputs)
    except AttributeError:  # what an unbuilt Sequential raises
        return False


def _head(model: Any, input_shape: tuple[int, ...], name: str) -> Head:
    """Logits or probabilities: what comes out for a few images of noise says it.

    Probabilities add up to one within what bfloat16, the coarsest of the float types, can tell.
    """
    noise = np.random.default_rng(0).random((4, *input_shape), dtype=np.float32)
    try:
        outputs = model(noise, training=False)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise FgsmError(f"{name} cannot be asked about 4 images at once: {reason}") from None
    if not tf.is_tensor(outputs) or not outputs.dtype.is_floating:
        kind = outputs.dtype.name if tf.is_tensor(outputs) else type(outputs).__name__
        raise FgsmError(f"{name} must give one tensor of floating-point scores. Received: {kind}")
    values = np.asarray(outputs, np.float64)
    sums_to_one = bool((values >= 0).all() and np.allclose(values.sum(axis=1), 1, atol=0.02))
    if hasattr(outputs, "_keras_logits"):
        if not sums_to_one:
            raise FgsmError(
                f"{name} gives independent probabilities (sigmoids); expected one softmax"
            )
        return "softmax"
    return "probabilities" if sums_to_one else "logits"
