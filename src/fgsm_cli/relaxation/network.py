"""A Keras classifier as linear maps and rectifiers, which is what can be bounded.

    network = network_of(load_classifier("model.keras"), (28, 28))
    network(x)                            # the logits once more, step by step

A network is a list of steps from the pixels to the logits. A linear step is whatever Keras layer
computes an affine function at rest; nothing is written per layer, since a layer's transpose is
its vector-Jacobian product. A rectifier is max(z, slope z). Max pooling is both: max(a, b) is
b + max(a - b, 0), in rounds. Whether a layer is linear or a rectifier is found out by asking it
numbers; its kind only says whether it is asked. Only Keras's own layers and activations are: what
somebody's code does between the numbers that were asked, nobody knows.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

import numpy as np

from ..backend import keras, tf
from ..errors import FgsmError, in_one_line
from ..models import Classifier, is_of_keras

Map = Callable[..., Any]
Shape = tuple[int, ...]

# Layers whose weights are one kernel and a bias; those that only move numbers; and those that
# have no negative weights, or one weight a number, so that |W| v = |f(v) - f(0)| for v >= 0.
_KERNELS = {"Conv1D", "Conv2D", "Conv3D", "Dense", "DepthwiseConv2D"}
_MOVERS = {
    "Concatenate", "Cropping2D", "Dropout", "Flatten", "GaussianDropout", "GaussianNoise",
    "Identity", "Permute", "Reshape", "SpatialDropout2D", "Transpose", "UpSampling2D",
    "ZeroPadding2D",
}  # fmt: skip
_SCALERS = {
    "BatchNormalization", "Divide", "Multiply", "Normalization", "Rescaling", "Subtract",
    "TrueDivide",
}  # fmt: skip
_MIXERS = {"Add", "Average", "AveragePooling2D", "GlobalAveragePooling2D"}
_RECTIFIERS = {"Activation", "LeakyReLU", "LeakyRelu", "ReLU", "Relu"}
_HEADS = {"log_softmax", "softmax", "sigmoid"}
_KNOWN = (
    "Dense, Conv2D, average and max pooling, BatchNormalization, Rescaling, Normalization, Add, "
    "Flatten, Reshape, Dropout, ReLU and LeakyReLU"
)

# Roundings of one number that is scaled and shifted, such as gamma (x - mean) / std + beta.
_SCALER_TERMS = 8
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Linear:
    """An affine step, f(x) = W x + b, of one value before it or of several.

    inputs: these values' places. map: f. spread: v -> |W| v for v >= 0.
    terms: how many numbers f adds up for one of its own; 0 where it only moves them.
    mixes: whether a number of f depends on several of x.
    within: of the ends of intervals of the inputs, those of f, where f alone would say too much.
    centre: where f is a number of its own, if b is a difference of such that may nearly cancel.
    """

    inputs: tuple[int, ...]
    map: Map
    spread: Map
    terms: int
    mixes: bool
    within: Map | None = None
    centre: Any = None


@dataclass(frozen=True, eq=False)
class Rectifier:
    """max(z, slope z) of each number of the value at a place; 0 <= slope < 1."""

    inputs: tuple[int]
    slope: float


@dataclass(frozen=True, eq=False)
class Network:
    """Steps from pixels in 0..1, the value at place 0, to the logits, the last.

    steps: the one at position p gives the value at place p + 1. shapes: of one image's values.
    """

    steps: tuple[Linear | Rectifier, ...]
    shapes: tuple[Shape, ...]

    @property
    def classes(self) -> int:
        """How many logits there are."""
        return self.shapes[-1][0]

    @property
    def rectifiers(self) -> tuple[int, ...]:
        """The positions of the steps that are rectifiers."""
        return tuple(i for i, step in enumerate(self.steps) if isinstance(step, Rectifier))

    def __call__(self, x: Any) -> Any:
        """Logits (batch, classes) at pixels x (batch, ...), in the type of x."""
        values = [x]
        for step in self.steps:
            given = [values[place] for place in step.inputs]
            if isinstance(step, Linear):
                values.append(step.map(*given))
            else:
                values.append(tf.maximum(given[0], step.slope * given[0]))
        return values[-1]


def network_of(classifier: Classifier, image_shape: Sequence[int]) -> Network:
    """The steps of a classifier for images of this shape.

    Raises FgsmError, one sentence, for a layer that is neither linear nor a rectifier, and for
    a model whose logits are only known as probabilities.
    """
    name = classifier.path or "the model"
    if not classifier.is_exact or not isinstance(classifier.model, keras.Model):
        raise FgsmError(
            f"{name} gives probabilities without the logits behind them; expected a network whose "
            "bounds can be computed"
        )
    builder = _Builder(name, tuple(image_shape))
    is_moved_only = classifier.range.is_unit
    entry = builder.linear(
        (0,),
        classifier.taken,
        terms=0 if is_moved_only else _SCALER_TERMS,
        mixes=False,
        told="the range of its input",
    )
    output = builder.walk(classifier.model, entry)
    if builder.heads and builder.heads[-1][0] != output:
        builder.refuse(builder.heads[-1][1], "a softmax or sigmoid")
    units = prod(builder.shapes[output])
    output = builder.linear(
        (output,), lambda z: tf.reshape(z, (-1, units)), terms=0, mixes=False, told="the output"
    )
    if units == 1:
        output = builder.linear(
            (output,),
            lambda z: tf.concat([tf.zeros_like(z), z], axis=1),
            terms=0,
            mixes=False,
            told="the output",
        )
    network = Network(tuple(builder.steps), tuple(builder.shapes))
    _check_equal(network, classifier, image_shape, name)
    return network


def _check_equal(
    network: Network, classifier: Classifier, image_shape: Sequence[int], name: str
) -> None:
    """Nothing is taken on trust: the steps must give the margins that the classifier gives."""
    noise = np.random.default_rng(0).random((4, *image_shape), dtype=np.float32)
    own, theirs = (np.asarray(f(tf.constant(noise)), np.float64) for f in (network, classifier))
    own, theirs = (scores - scores[:, :1] for scores in (own, theirs))
    if not np.allclose(own, theirs, rtol=_TOLERANCE, atol=_TOLERANCE * (1 + np.abs(theirs).max())):
        raise FgsmError(
            f"{name} does not compute what its layers say, so that bounds on these would mean "
            "nothing; expected a network that is deterministic and all layers"
        )


class _Seen:
    """A layer as its own ``call`` sees it, but for what is changed: its weights, its type."""

    def __init__(self, layer: Any, **changes: Any) -> None:
        self.__dict__.update(changes, _layer=layer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_layer"], name)


class _Builder:
    """Steps and shapes as far as a model has been walked."""

    def __init__(self, name: str, image_shape: Shape) -> None:
        self.name = name
        self.steps: list[Linear | Rectifier] = []
        self.shapes: list[Shape] = [image_shape]
        self.heads: list[tuple[int, Any]] = []

    def refuse(self, operation: Any, why: str) -> NoReturn:
        raise FgsmError(
            f"{self.name} has the layer {operation.name} ({type(operation).__name__}), {why}, for "
            f"which there are no bounds; expected {_KNOWN}"
        )

    def walk(self, model: Any, entry: int) -> int:
        """Add a Keras model's layers from its input to its output; the place of the output."""
        graph = getattr(model, "_functional", None) or model
        if not hasattr(graph, "_nodes_by_depth") or not is_of_keras(type(model).call):
            self.refuse(model, "whose layers are hidden in its code")
        places = {id(graph.inputs[0]): entry}
        for depth in sorted(graph._nodes_by_depth, reverse=True):
            for node in graph._nodes_by_depth[depth]:
                if node.is_input:
                    continue
                given = tuple(places[id(one)] for one in node.input_tensors)
                if len(node.output_tensors) != 1:
                    self.refuse(node.operation, "which gives several outputs")
                places[id(node.output_tensors[0])] = self.add(node, given)
        return places[id(graph.outputs[0])]

    def add(self, node: Any, given: tuple[int, ...]) -> int:
        """Add one layer; the place of what it gives."""
        operation = node.operation
        kind = type(operation).__name__
        if isinstance(operation, keras.Model):
            if len(given) != 1 or len(operation.inputs) != 1:
                self.refuse(operation, "which takes several inputs")
            return self.walk(operation, given[0])
        if not is_of_keras(type(operation)):
            self.refuse(operation, "which is not one of Keras's own")
        if getattr(operation, "interpolation", "nearest") != "nearest":
            self.refuse(operation, f"which interpolates ({operation.interpolation})")
        if kind in _KERNELS:
            return self.activated(operation, self.kernel(operation, given))
        if kind in _RECTIFIERS:
            function = getattr(operation, "activation", None) or operation
            return self.activated(operation, given[0], function)
        if kind == "Softmax":
            return self.head(operation, given[0])
        if kind == "MaxPooling2D":
            return self.largest(operation, given[0])
        is_alone = len(given) == 1
        if kind in _MOVERS | _MIXERS or (kind in _SCALERS and is_alone):
            terms = len(given)
            if kind in _SCALERS or (kind == "Add" and is_alone):
                terms = _SCALER_TERMS
            elif kind in _MOVERS:
                terms = 0
            elif "Pooling" in kind:
                sizes = self.shapes[given[0]][:-1]
                terms = prod(getattr(operation, "pool_size", sizes)) + 1
            return self.linear(
                given,
                _called(node),
                terms=terms,
                mixes=kind in _MIXERS and not (kind == "Add" and is_alone),
                told=operation,
                centre=self.mean(operation, given[0]) if kind == "BatchNormalization" else None,
            )
        return self.refuse(operation, "neither linear nor a rectifier")

    def linear(
        self,
        given: tuple[int, ...],
        function: Map,
        *,
        terms: int,
        mixes: bool,
        told: Any,
        spread: Map | None = None,
        within: Map | None = None,
        centre: Any = None,
    ) -> int:
        """Add an affine step, having asked it whether it is one."""

        def by_difference(*sizes: Any) -> Any:
            zeros = [tf.zeros_like(one[:1]) for one in sizes]
            return tf.abs(function(*sizes) - function(*zeros))

        rng = np.random.default_rng(1)
        shapes = [self.shapes[place] for place in given]
        a, b = ([tf.constant(rng.normal(size=(2, *shape))) for shape in shapes] for _ in range(2))
        try:
            zero = function(*(tf.zeros_like(one) for one in a))
            together = function(*(one + other for one, other in zip(a, b, strict=True)))
            apart = function(*a) + function(*b)
            is_affine = np.allclose(apart - zero, together, rtol=1e-6, atol=1e-6)
        except Exception as error:
            if not hasattr(told, "name"):
                raise
            self.refuse(told, f"which cannot be asked by itself: {in_one_line(error)}")
        if not is_affine:
            self.refuse(told, "which is not linear")
        spread = spread or by_difference
        self.steps.append(Linear(given, function, spread, terms, mixes, within, centre))
        self.shapes.append(tuple(zero.shape[1:]))
        return len(self.steps)

    def kernel(self, layer: Any, given: tuple[int, ...]) -> int:
        """Add what a layer does before its activation."""
        call = type(layer).call
        bias = layer.bias

        def weight(one: Any, x: Any) -> Any:
            return None if one is None else tf.cast(keras.ops.convert_to_tensor(one), x.dtype)

        def function(x: Any) -> Any:
            own = {"kernel": weight(layer.kernel, x), "bias": weight(bias, x)}
            return call(_Seen(layer, activation=None, **own), x)

        def spread(sizes: Any) -> Any:
            own = {"kernel": tf.abs(weight(layer.kernel, sizes)), "bias": None, "use_bias": False}
            return call(_Seen(layer, activation=None, **own), sizes)

        sizes = tuple(layer.kernel.shape)
        terms = prod(sizes[:2] if type(layer).__name__ == "DepthwiseConv2D" else sizes[:-1]) + 1
        return self.linear(given, function, terms=terms, mixes=True, told=layer, spread=spread)

    def mean(self, layer: Any, place: int) -> Any:
        """What a BatchNormalization subtracts, as one value of its input."""
        shape, axis = self.shapes[place], layer.axis - 1 if layer.axis > 0 else layer.axis
        sides = np.ones(len(shape), int)
        sides[axis] = shape[axis]
        return np.broadcast_to(np.reshape(layer.moving_mean, sides), shape)[None]

    def activated(self, layer: Any, place: int, function: Any = None) -> int:
        """Add an activation, known by what it makes of numbers small and large."""
        function = function or layer.activation
        if function is None:
            return place
        if getattr(function, "__name__", "") in _HEADS:
            return self.head(layer, place)
        z = np.array([-1e30, -1e4, -100, -6.5, -1, -1e-3, 0, 1e-3, 1, 6.5, 100, 1e4, 1e30])
        z = z.astype(np.float32)
        values = np.asarray(function(tf.constant(z[None])), np.float64)[0]
        slope = -float(values[4])
        is_bent = 0 <= slope <= 1 and np.allclose(values, np.where(z < 0, slope * z, z))
        known = is_of_keras(function if inspect.isfunction(function) else type(function))
        is_cut = getattr(function, "max_value", None) or getattr(function, "threshold", 0)
        if not is_bent or not known or is_cut:
            self.refuse(layer, f"whose activation {_title(function)} is not a rectifier of Keras")
        if slope == 1:
            return place
        self.steps.append(Rectifier((place,), slope))
        self.shapes.append(self.shapes[place])
        return len(self.steps)

    def head(self, layer: Any, place: int) -> int:
        """Pass over a softmax or sigmoid, which must be the last step."""
        self.heads.append((place, layer))
        return place

    def largest(self, layer: Any, place: int) -> int:
        """Add max pooling: the numbers of a window side by side, then halved in rounds."""
        shape, out = self.shapes[place], layer.compute_output_shape((1, *self.shapes[place]))[1:3]
        size, strides = tuple(layer.pool_size), tuple(layer.strides or layer.pool_size)
        reach = [(n - 1) * step + width for n, step, width in zip(out, strides, size, strict=True)]
        if layer.data_format != "channels_last" or reach[0] > shape[0] or reach[1] > shape[1]:
            self.refuse(layer, "whose windows overhang the image or come after the channels")

        def side_by_side(x: Any) -> Any:
            return tf.stack(
                [
                    x[:, i : i + reach[0] - size[0] + 1 : strides[0],
                      j : j + reach[1] - size[1] + 1 : strides[1]]
                    for i in range(size[0])
                    for j in range(size[1])
                ],
                axis=-1,
            )  # fmt: skip

        moved: dict[str, Any] = {"terms": 0, "mixes": False, "told": layer}
        place = self.linear((place,), side_by_side, **moved)
        while (width := self.shapes[place][-1]) > 1:
            half = width // 2

            def ahead(x: Any, half: int = half) -> Any:
                return x[..., :half] - x[..., half : 2 * half]

            def sum_of(x: Any, half: int = half) -> Any:
                return x[..., :half] + x[..., half : 2 * half]

            def merged(x: Any, lead: Any, half: int = half) -> Any:
                return tf.concat([x[..., half : 2 * half] + lead, x[..., 2 * half :]], axis=-1)

            def larger(x: Any, _: Any, half: int = half) -> Any:
                pairs = tf.maximum(x[..., :half], x[..., half : 2 * half])
                return tf.concat([pairs, x[..., 2 * half :]], axis=-1)

            mixed = {**moved, "mixes": True}
            lead = self.linear((place,), ahead, spread=sum_of, **mixed)
            self.steps.append(Rectifier((lead,), 0.0))
            self.shapes.append(self.shapes[lead])
            place = self.linear((place, len(self.steps)), merged, within=larger, **mixed)
        return self.linear((place,), lambda x: x[..., 0], **moved)


def _called(node: Any) -> Map:
    """What a layer makes of its inputs, in their own type."""
    operation = node.operation
    call, tensors = type(operation).call, [id(one) for one in node.input_tensors]

    def function(*inputs: Any) -> Any:
        args, kwargs = node.arguments.fill_in(dict(zip(tensors, inputs, strict=True)))
        return call(_Seen(operation, compute_dtype=inputs[0].dtype.name), *args, **kwargs)

    return function


def _title(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
