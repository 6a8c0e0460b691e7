"""Whose code a model is: modules that a user names, with its own classes or what returns it.

    custom_objects(["my.layers"])         # {"MyLayer": <class>, ...}
    call("my.models:build")               # what my.models.build() returns
    is_of_keras(type(layer))              # nobody's but Keras's own

Nothing here runs unless a name is given; modules are found from the current folder, too.
"""

import importlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..backend import keras
from ..errors import FgsmError, in_one_line


def is_of_keras(thing: Any) -> bool:
    """Whether a class or a function is Keras's own, and not somebody's by the same name."""
    return str(thing.__module__).split(".")[0] == "keras"


def custom_objects(modules: Sequence[str]) -> dict[str, Any]:
    """The layers, models and functions of these modules, by name.

    Raises FgsmError for a module that is not there or fails.
    """
    return {
        name: value
        for module in modules
        for name, value in vars(_imported(module, f"--import {module}")).items()
        if inspect.isfunction(value)
        or (isinstance(value, type) and issubclass(value, keras.layers.Layer))
    }


def call(reference: str) -> Any:
    """The Keras model that ``package.module:function`` returns.

    Raises FgsmError where there is no such function, it fails, or returns something else.
    """
    module, _, name = reference.partition(":")
    function = getattr(_imported(module, reference), name, None)
    if not callable(function):
        raise FgsmError(f"{module} has no function {name}, which {reference} names")
    try:
        model = function()
    except (Exception, SystemExit) as error:
        raise FgsmError(f"{reference} failed: {in_one_line(error)}") from error
    if not isinstance(model, keras.Model):
        raise FgsmError(f"{reference} must return a Keras model. Received: {type(model).__name__}")
    return model


def _imported(module: str, asked: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise FgsmError(f"{asked} cannot be imported: {in_one_line(error)}") from error
