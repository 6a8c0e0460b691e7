"""Inspection: what a Keras model is, and a sentence for each that is no image classifier.

    classifier = inspect(keras.Sequential([...]))

Nothing that a model says of itself is taken for true: it is asked about a few images of noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import keras, tf
from ..config import OutputKind
from ..errors import FgsmError, in_one_line, listed
from ..ranges import PixelRange
from .classifier import Classifier
from .heads import Head, look_at
from .preprocessing import input_range

_PROBES = 4
_PROBE_SIZE = 96  # of an image whose size is free: what the deepest convolutional networks need
_REGRESSIONS = (
    "meansquarederror", "mse", "meanabsoluteerror", "mae", "meanabsolutepercentageerror", "mape",
    "meansquaredlogarithmicerror", "msle", "huber", "logcosh",
)  # fmt: skip


@dataclass(frozen=True)
class Loading:
    """What a model does not say of itself, or says wrongly; None leaves it to the model.

    input_range: the values it takes for black and white; range_source: who says so.
    output_kind: what its head gives. output_name, input_name: which of several to use.
    endpoint: which signature of a SavedModel is called.
    allow_code: whether code inside the file may run. imports: modules that hold its own classes.
    """

    input_range: PixelRange | None = None
    range_source: str = "--input-range"
    output_kind: OutputKind | None = None
    output_name: str | None = None
    input_name: str | None = None
    endpoint: str | None = None
    allow_code: bool = False
    imports: tuple[str, ...] = ()


AS_IT_IS = Loading()


def inspect(
    model: Any, loading: Loading = AS_IT_IS, *, path: str = "", sha256: str = "", loss: str = ""
) -> Classifier:
    """What a Keras model is, by what it computes; ``compile`` is not asked.

    loss: the one it was trained with, if known. It is a reason to doubt, never to believe.
    Raises FgsmError for inputs or outputs that are several and not chosen from, an input that
    is no real number, what is not one score a class, or weights that are not finite.
    """
    name = path or "the model"
    model = _with_inputs(model, name)
    model, notes = _one_input(model, loading.input_name, name)
    model = _one_output(model, loading.output_name, name)
    entry = model.inputs[0]
    shape = tuple(entry.shape[1:])
    for weight in model.weights:
        values = np.asarray(weight.value)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise FgsmError(f"{name} holds weights that are not finite numbers, in {weight.path}")
    pixels, source = loading.input_range, loading.range_source
    if pixels is None:
        pixels, source = input_range(model)
    noise = np.random.default_rng(0).random(
        (_PROBES, *(size or _PROBE_SIZE for size in shape)), dtype=np.float32
    )
    low, high = min(pixels.low), max(pixels.high)
    head = look_at(model, tf.constant(low + noise * (high - low)), name, loading.output_kind)
    _refuse_regression(head, loading, loss, name)
    if not head.is_exact:
        notes = (*notes, _LOST[head.kind])
    return Classifier(
        model=model,
        head=head.kind,
        classes=max(head.units, 2),
        input_shape=shape,
        path=path,
        sha256=sha256,
        range=pixels,
        range_source=source,
        scores=head.scores,
        is_exact=head.is_exact,
        notes=notes,
    )


_PROBABILITIES = (
    "the model gives probabilities whose logits could not be recovered; their logarithm is used, "
    "and where one rounds to 0 its share of the gradient is lost"
)
_LOST = {
    "probabilities": _PROBABILITIES,
    "softmax": _PROBABILITIES,
    "sigmoid": _PROBABILITIES.replace("their logarithm is", "log p - log(1 - p) is"),
}


def _with_inputs(model: Any, name: str) -> Any:
    """The model as a graph from inputs to outputs, which a subclassed one becomes once built."""
    try:
        if model.inputs and model.outputs:
            return model
    except AttributeError:  # what an unbuilt Sequential raises
        pass
    shape = (getattr(model, "get_build_config", lambda: None)() or {}).get("input_shape")
    if not isinstance(shape, list | tuple) or not all(
        isinstance(size, int | None) for size in shape
    ):
        raise FgsmError(
            f"{name} was never built, so its input has no shape; expected a model with an Input, "
            "or one that has seen data before it was saved"
        )
    entry = keras.Input(tuple(shape[1:]))
    try:
        return keras.Model(entry, model(entry))
    except Exception as error:
        raise FgsmError(f"{name} cannot be called with images: {in_one_line(error)}") from None


def _one_input(model: Any, wanted: str | None, name: str) -> tuple[Any, tuple[str, ...]]:
    """The model as one of its image input, any others held at zero."""
    names = [entry.name for entry in model.inputs]
    is_alone = wanted is None and len(names) == 1
    place = 0 if is_alone else _chosen(names, wanted, "input", name)
    entry = model.inputs[place]
    dtype = str(entry.dtype)
    if "float" not in dtype:
        what = "text" if dtype == "string" else dtype
        raise FgsmError(
            f"{name} takes {what}, which has no gradient; expected floating-point images"
        )
    if not entry.shape[1:]:
        raise FgsmError(f"{name} takes single numbers; expected images")
    if len(names) == 1:
        return model, ()
    image = keras.Input(tuple(entry.shape[1:]), dtype=entry.dtype, name=entry.name)
    flat = keras.Model(list(model.inputs), model.outputs)
    fed = [image if one is entry else Zeros(one, name)(image) for one in model.inputs]
    held = ", ".join(one for one in names if one != entry.name)
    return (
        keras.Model(image, flat(fed)),
        (f"the model has {len(names)} inputs: {held} held at zero, {entry.name} attacked",),
    )


class Zeros(keras.layers.Layer):  # type: ignore[misc]
    """A constant in the place of an input, one row for each image."""

    def __init__(self, entry: Any, name: str) -> None:
        super().__init__()
        self.sizes, self.kind = tuple(entry.shape[1:]), str(entry.dtype)
        if None in self.sizes:
            raise FgsmError(f"{name} must state the shape of its input {entry.name}")

    def call(self, images: Any) -> Any:
        """The constant, as many times as there are images."""
        return tf.zeros((tf.shape(images)[0], *self.sizes), self.kind)

    def compute_output_spec(self, images: Any) -> Any:
        """Its shape and type."""
        return keras.KerasTensor((images.shape[0], *self.sizes), self.kind)


def _one_output(model: Any, wanted: str | None, name: str) -> Any:
    """The model with the one output that is asked for."""
    structure = model._outputs_struct if hasattr(model, "_outputs_struct") else None
    if isinstance(structure, dict):
        names, outputs = list(structure), list(structure.values())
    else:
        outputs = list(model.outputs)
        names = list(getattr(model, "output_names", ())) or ["output"]
    if wanted is not None or len(outputs) > 1:
        place = _chosen(names, wanted, "output", name)
    elif isinstance(structure, dict | list | tuple):
        place = 0
    else:
        return model
    return keras.Model(model.inputs[0], outputs[place])


def _chosen(names: Sequence[str], wanted: str | None, what: str, name: str) -> int:
    known = listed(names)
    if wanted is None:
        raise FgsmError(
            f"{name} has {len(names)} {what}s; expected --{what}-name with one of them. "
            f"Received: {known}"
        )
    if wanted not in names:
        raise FgsmError(f"--{what}-name must be one of {known}. Received: {wanted!r}")
    return list(names).index(wanted)


def _refuse_regression(head: Head, loading: Loading, loss: str, name: str) -> None:
    """One number may be a logit or a measurement; a loss of measurements makes it the latter."""
    plain = "".join(letter for letter in loss.lower() if letter.isalpha())
    if head.kind == "logit" and loading.output_kind is None and plain in _REGRESSIONS:
        raise FgsmError(
            f"{name} gives one number and was trained with {loss}, a loss of regressions; expected "
            "a classifier, or --output-kind logit if a number above 0 means label 1"
        )
