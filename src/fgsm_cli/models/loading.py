"""Loading: from what is named on the command line to a classifier that was looked at.

load_classifier("model.keras")
load_classifier("runs/export", Loading(endpoint="serve"))
load_classifier("my.models:build", Loading(input_range=PixelRange((-1.0,), (1.0,))))
"""

import hashlib
import re
from typing import Any

import numpy as np

from ..config import names_function
from ..files import check_readable, sha256
from .classifier import Classifier
from .code import call
from .formats import Found, read_file
from .inspection import AS_IT_IS, Loading, inspect

_HALVES = ("float16", "bfloat16")

__all__ = ["Loading", "load_classifier"]


def load_classifier(path: str, loading: Loading = AS_IT_IS) -> Classifier:
    """The Keras classifier in a file or a folder, or that a function returns, checked.

    path: a .keras or .h5 file, a SavedModel folder, or ``package.module:function``.
    No code in a file is run unless ``loading`` allows it; what was trained in half precision is
    computed in float32, where gradients do not round to zero.
    Raises FgsmError for what is missing, damaged or no Keras model, and for what ``inspect``
    refuses.
    """
    if names_function(path):
        model = call(path)
        found = Found(model, _compiled_loss(model))
        digest = weights_sha256(model)
    else:
        check_readable(path, "model")
        found = read_file(path, loading)
        digest = sha256(path)
    compute_in_float32(found.model)
    name_for_graphs(found.model)
    return inspect(found.model, loading, path=path, sha256=digest, loss=found.loss)


def compute_in_float32(model: Any) -> None:
    """Let every layer of a half-precision model compute in float32; its weights stay as they are.

    A gradient of float16 underflows below 6e-8, and the steps of its logits are coarse.
    """
    for layer in model._flatten_layers():
        policy = layer.dtype_policy
        if policy.compute_dtype in _HALVES and not policy.quantization_mode:
            layer.dtype_policy = "float32"


def name_for_graphs(model: Any) -> None:
    """Give every layer a name that a TensorFlow graph accepts as a scope.

    Keras takes ``first layer`` or ``düne`` for a name, and every file of it; no graph does.
    """
    for layer in model._flatten_layers():
        layer.name = re.sub(r"^[^A-Za-z0-9.]|[^A-Za-z0-9_.\\/>-]", ".", layer.name)


def weights_sha256(model: Any) -> str:
    """The SHA-256 of a model's weights: their shapes, types and bytes, in order."""
    digest = hashlib.sha256()
    for weight in model.weights:
        values = np.asarray(weight.value)
        digest.update(f"{values.shape}{values.dtype}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def _compiled_loss(model: Any) -> str:
    """The loss that a model was compiled with, if it was and that is a name."""
    loss = getattr(model, "loss", None)
    return loss if isinstance(loss, str) else type(loss).__name__
