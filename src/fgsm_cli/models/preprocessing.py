"""Input ranges: the pixel values that a model takes, as far as its first layers tell.

    input_range(model)                    # (0..255, "its Rescaling layer")

A network that begins with Rescaling(1/255) takes grey levels; one without says nothing, and
0..1 is assumed. Layers are followed from the input as long as they leave pixel values alone.
"""

from typing import Any

import numpy as np

from ..ranges import GREY_LEVELS, UNIT, PixelRange
from .code import is_of_keras

_LEAVES_VALUES_ALONE = {
    "CenterCrop", "Cropping2D", "Dropout", "Flatten", "GaussianNoise", "Identity", "InputLayer",
    "Permute", "Reshape", "Resizing", "ZeroPadding2D",
}  # fmt: skip
_NETWORKS = {"Functional", "Sequential"}
_OPERATIONS = {"Divide": "division", "TrueDivide": "division", "Multiply": "multiplication"}

# What the layer makes of black to white: -1..1 is 2 wide, and a division by the standard
# deviation of natural images makes 2 to 20 of 1.
_NARROWEST, _WIDEST = 0.5, 20.0


def input_range(model: Any) -> tuple[PixelRange, str]:
    """The range of a Keras model's one input, and in words how it is known."""
    node = _first_scaling(model, model.inputs[0])
    if node is not None and (found := _range_before(*_scale_and_offset(node))):
        kind = type(node.operation).__name__
        return found, f"its {_OPERATIONS.get(kind, f'{kind} layer')}"
    return UNIT, "assumed"


def _first_scaling(model: Any, tensor: Any) -> Any:
    """Where pixels are scaled first after the input, a node of the graph; None if nowhere."""
    graph = getattr(model, "_functional", None) or model  # what a Sequential is inside
    nodes = [
        node
        for row in getattr(graph, "_nodes_by_depth", {}).values()
        for node in row
        if any(one is tensor for one in node.input_tensors) and not _is_constant(node.operation)
    ]
    if len(nodes) != 1:
        return None
    [node] = nodes
    operation = node.operation
    kind = _kind(operation)
    if kind in ("Rescaling", "Normalization", *_OPERATIONS):
        return node
    if kind in _NETWORKS:
        places = [one is tensor for one in node.input_tensors]
        inside = _first_scaling(operation, operation.inputs[places.index(True)])
        if inside is not None:
            return inside
    return _first_scaling(model, node.output_tensors[0]) if _leaves_alone(operation) else None


def _kind(operation: Any) -> str:
    """What a layer is, by Keras's own name for it; of somebody's own nothing is known."""
    return type(operation).__name__ if is_of_keras(type(operation)) else ""


def _is_constant(operation: Any) -> bool:
    """Whether it only counts the images, to give one constant for each."""
    return type(operation).__name__ == "Zeros"


def _leaves_alone(operation: Any) -> bool:
    """Whether pixel values pass as they are, at rest: a reshape, an augmentation, several such."""
    kind = _kind(operation)
    if kind in _NETWORKS:
        return all(map(_leaves_alone, operation.layers))
    return kind in _LEAVES_VALUES_ALONE or kind.startswith("Random")


def _scale_and_offset(node: Any) -> tuple[Any, Any]:
    """What a node makes of x, scale * x + offset; numbers, or arrays of one a channel."""
    layer = node.operation
    kind = type(layer).__name__
    if kind in _OPERATIONS:
        return _scale(kind, *node.arguments.args), 0
    if kind == "Rescaling":
        return layer.scale, layer.offset
    if layer.invert:
        return 0, 0
    mean, variance = (np.asarray(one, np.float64) for one in (layer.mean, layer.variance))
    scale = 1 / max(float(np.sqrt(variance.mean())), 1e-7)
    return scale, -float(mean.mean()) * scale


def _scale(kind: str, left: Any = None, right: Any = None) -> float:
    """The number that x is multiplied with; 0 where there is none."""
    if kind == "Multiply":
        return next((float(one) for one in (left, right) if isinstance(one, int | float)), 0.0)
    return 1 / right if isinstance(right, int | float) and right else 0.0


def _range_before(scale: Any, offset: Any) -> PixelRange | None:
    """The pixel range that a network takes which first computes scale * x + offset."""
    scale, offset = (np.ravel(one).astype(np.float64) for one in np.broadcast_arrays(scale, offset))
    undoes = (offset > 0) & (offset < 1) & (offset >= scale / 4) & (1 - offset >= scale / 2)
    if (undoes & (scale > 0)).all():  # a standardisation: these become 0 and 1
        return PixelRange(tuple(-offset / scale), tuple((1 - offset) / scale))
    for candidate, width in ((GREY_LEVELS, 255 * scale.mean()), (UNIT, scale.mean())):
        if _NARROWEST <= width <= _WIDEST:
            return candidate
    return None
