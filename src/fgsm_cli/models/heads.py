"""Heads: what a network's last operation is, and the logits that went into it.

    head = look_at(model, images)         # Head("softmax", scores, ...)
    head.scores(x)                        # the logits, also where Keras did not record them

What a network computes decides, never what it was compiled with. Keras records on its output
what went into a softmax or a sigmoid, if that was the last operation. Otherwise the network is
traced, and its graph followed back from the output through operations that only reshape: so a
softmax is found behind a Reshape, in a subclassed model, in a SavedModel.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backend import tf, unremarked
from ..config import OutputKind
from ..errors import FgsmError, in_one_line
from .classifier import Model, logits

Values = NDArray[np.float64]

# bfloat16, the coarsest of the float types, adds up to one no better than this.
TOLERANCE = 0.02
# Operations that leave every number as it is, and those after which it may be any.
_TRANSPARENT = {
    "Cast", "CheckNumerics", "EnsureShape", "ExpandDims", "Identity", "IdentityN", "Reshape",
    "Squeeze", "Transpose",
}  # fmt: skip
_LINEAR = {"Add", "AddV2", "BiasAdd", "MatMul"}


@dataclass(frozen=True)
class Head:
    """A network's head: what it is called, how many numbers it gives, and its logits.

    scores: (batch, ...) -> (batch, units), the logits. is_exact: whether they are what went
        into the head, and not computed back from probabilities that may have rounded to 0 or 1.
    """

    kind: OutputKind
    units: int
    scores: Model
    is_exact: bool = True


def look_at(model: Any, x: Any, name: str, kind: OutputKind | None = None) -> Head:
    """What a Keras model gives for a few images x of noise, and how to have its logits.

    kind: what its user says it gives, which is believed.
    Raises FgsmError for what is not one score a class, and for sigmoids that are independent.
    """
    values = _values(asked(model, x, name), x)
    units = values.shape[1]
    is_share = bool((values >= 0).all() and (values <= 1).all())
    if kind is not None:
        return _as_told(model, x, values, name, kind)
    operation, scores = _activation(model, x, values) if is_share else ("", None)
    if units == 1:
        return _one_score(model, operation, scores, is_share, name)
    if operation == "Softmax" and scores:
        return Head("softmax", units, scores)
    if operation == "Sigmoid":
        raise FgsmError(
            f"{name} gives {units} independent probabilities (sigmoids); expected one softmax, or "
            "--output-kind sigmoid to take the largest for the answer"
        )
    if is_share and _same(values.sum(axis=1), 1):
        return _told_back(model, units, "probabilities")
    with np.errstate(over="ignore"):
        shares = np.exp(values)
    if not _same(shares.sum(axis=1), 1):
        return Head("logits", units, _outputs(model, units))
    _, scores = _traced(model, x, shares, _TRANSPARENT | {"Log"})
    return Head("log-softmax", units, scores or _outputs(model, units))


def _one_score(model: Any, operation: str, scores: Model | None, is_share: bool, name: str) -> Head:
    if operation == "Softmax":
        raise FgsmError(
            f"{name} gives a softmax over one class, which is always 1; expected one score for "
            "each of two classes or more, or one sigmoid"
        )
    if operation == "Sigmoid":
        return Head("sigmoid", 1, scores) if scores else _told_back(model, 1, "sigmoid")
    if is_share and operation not in _LINEAR:
        raise FgsmError(
            f"{name} gives one number, here within 0..1, that may be a probability or a logit; "
            "expected --output-kind sigmoid or --output-kind logit"
        )
    return Head("logit", 1, _outputs(model, 1))


def _as_told(model: Any, x: Any, values: Values, name: str, kind: OutputKind) -> Head:
    """The head that its user says it is."""
    units = values.shape[1]
    if kind != "sigmoid" and (kind == "logit") != (units == 1):
        wanted = "one score" if kind == "logit" else "two scores or more"
        raise FgsmError(f"--output-kind {kind} needs {wanted}. Received: {units} from {name}")
    if kind not in _INVERSES:
        return Head(kind, units, _outputs(model, units))
    operation, scores = _activation(model, x, values)
    if operation.lower() == kind and scores:
        return Head(kind, units, scores)
    if not ((values >= 0).all() and (values <= 1).all()):
        raise FgsmError(
            f"--output-kind {kind} needs probabilities within 0..1. "
            f"Received: {values.min():.4g}..{values.max():.4g} from {name}"
        )
    return _told_back(model, units, kind)


def asked(model: Any, x: Any, name: str) -> Any:
    """What the model gives for these images at rest, a single tensor of floats, one row each."""
    try:
        with unremarked():
            outputs = model(x, training=False)
    except Exception as error:
        reason = in_one_line(error)
        raise FgsmError(f"{name} cannot be asked about {len(x)} images at once: {reason}") from None
    if not tf.is_tensor(outputs) or not outputs.dtype.is_floating:
        kind = outputs.dtype.name if tf.is_tensor(outputs) else type(outputs).__name__
        raise FgsmError(f"{name} must give one tensor of floating-point scores. Received: {kind}")
    sizes = [size for size in outputs.shape[1:] if size != 1]
    if len(outputs.shape) < 2 or outputs.shape[0] != len(x) or len(sizes) > 1:
        shape = str((None, *outputs.shape[1:]) if outputs.shape.rank else ()).replace("None", "any")
        raise FgsmError(
            f"{name} must give one score for each of two classes or more. "
            f"Received: output of shape {shape}"
        )
    return outputs


def _values(outputs: Any, x: Any) -> Values:
    return np.asarray(outputs, np.float64).reshape(len(x), -1)


def _same(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=0, atol=TOLERANCE))


def _softmax(z: Values) -> Values:
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    shares: Values = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _sigmoid(z: Values) -> Values:
    shares: Values = (1 + np.tanh(z / 2)) / 2
    return shares


def _log(p: Any) -> Any:
    return tf.math.log(tf.maximum(p, tf.constant(np.finfo(np.float32).tiny, p.dtype)))


_ACTIVATIONS: Mapping[str, Callable[[Values], Values]] = {"Softmax": _softmax, "Sigmoid": _sigmoid}
_INVERSES: Mapping[str, Callable[[Any], Any]] = {
    "softmax": _log,
    "probabilities": _log,
    "sigmoid": lambda p: _log(p) - _log(1 - p),
}


def _outputs(model: Any, units: int) -> Model:
    """The model's outputs, as they are."""
    return lambda x: tf.reshape(model(x, training=False), (-1, units))


def _told_back(model: Any, units: int, kind: OutputKind) -> Head:
    """The head of a model that gives probabilities, by the logarithm of these."""
    outputs, inverse = _outputs(model, units), _INVERSES[kind]
    return Head(kind, units, lambda x: inverse(tf.cast(outputs(x), tf.float32)), is_exact=False)


def _activation(model: Any, x: Any, values: Values) -> tuple[str, Model | None]:
    """The operation that the model ends with, and what went into it if that is an activation.

    What Keras recorded is enough where there are several scores; else the model is traced.
    """
    units = values.shape[1]
    if units > 1 and hasattr(outputs := model(x, training=False), "_keras_logits"):
        recorded = _values(outputs._keras_logits, x)
        for operation, activation in _ACTIVATIONS.items():
            if _same(activation(recorded), values):
                return operation, lambda x: tf.reshape(logits(model, x), (-1, units))
    return _traced(model, x, values, _TRANSPARENT)


def _traced(model: Any, x: Any, values: Values, transparent: set[str]) -> tuple[str, Model | None]:
    """The same from the model's graph, followed back from its output."""
    units = values.shape[1]
    try:
        with unremarked():
            graph = tf.function(lambda x: model(x, training=False), autograph=False)
            whole = graph.get_concrete_function(tf.TensorSpec((None, *x.shape[1:]), x.dtype))
            source = _source(whole.outputs[0], transparent)
            ask = _before(model, transparent)
            if source.op.type in ("PartitionedCall", "StatefulPartitionedCall"):
                source, ask = _inlined(whole, transparent)
            operation = str(source.op.type)
            activation = _ACTIVATIONS.get(operation)
            if activation is None or not _same(activation(_values(ask(x), x)), values):
                return operation, None
    except Exception:  # a network whose graph cannot be made or taken apart keeps its outputs
        return "", None
    return operation, lambda x: tf.reshape(ask(x), (-1, units))


def _before(model: Any, transparent: set[str]) -> Model:
    """What goes into the model's last operation, in a graph of its own."""

    def before(x: Any) -> Any:
        return _source(model(x, training=False), transparent).op.inputs[0]

    ask: Model = tf.function(before, autograph=False)
    return ask


def _inlined(whole: Any, transparent: set[str]) -> tuple[Any, Model]:
    """The last operation of a graph that is a call of another one, and what goes into it.

    The called graph is put in the place of the call, its weights as constants.
    """
    from tensorflow.python.framework import convert_to_constants

    inlined = convert_to_constants.convert_variables_to_constants_v2(whole)
    source = _source(inlined.outputs[0], transparent)
    before = inlined.prune(inlined.inputs[0], source.op.inputs[0])
    return source, lambda x: before(tf.cast(x, inlined.inputs[0].dtype))


def _source(tensor: Any, transparent: set[str]) -> Any:
    """Where a symbolic tensor's numbers come from, before they were only reshaped."""
    while tensor.op.type in transparent:
        place = tensor.value_index if tensor.op.type == "IdentityN" else 0
        tensor = tensor.op.inputs[place]
    return tensor
