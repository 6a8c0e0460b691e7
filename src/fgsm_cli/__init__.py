"""Adversarial examples for Keras classifiers: gradients, attacks, and numbers to trust.

    from fgsm_cli import attack_named, get_grads, perturb

    gradient = get_grads(model, x, y)
    x_adv = perturb(model, x, y, attack_named("fgsm", epsilon=0.1))

Importing the package loads no TensorFlow; the first use of a name that needs it does.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Attack", "FgsmError", "attack_named", "get_grads", "load_classifier", "perturb"]

_HOME = {
    "Attack": "family",
    "FgsmError": "errors",
    "attack_named": "family",
    "get_grads": "gradients",
    "load_classifier": "models",
    "perturb": "attacks",
}

if TYPE_CHECKING:
    from .attacks import perturb as perturb
    from .errors import FgsmError as FgsmError
    from .family import Attack as Attack
    from .family import attack_named as attack_named
    from .gradients import get_grads as get_grads
    from .models import load_classifier as load_classifier


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
