"""Adversarial examples for Keras classifiers: gradients, attacks, and numbers to trust.

    from fgsm_cli import attack_named, get_grads, perturb

    gradient = get_grads(model, x, y)
    x_adv = perturb(model, x, y, attack_named("fgsm", epsilon=0.1))

    attack(load_model("model.keras"), load_data("mnist"), epsilon=0.1)  # the record of fgsm attack

Importing the package loads no TensorFlow; the first use of a name that needs it does.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "Attack",
    "FgsmError",
    "attack",
    "attack_named",
    "evaluate",
    "get_grads",
    "load_classifier",
    "load_data",
    "load_model",
    "perturb",
]

_HOME = {
    "Attack": "family",
    "FgsmError": "errors",
    "attack": "notebook",
    "attack_named": "family",
    "evaluate": "notebook",
    "get_grads": "gradients",
    "load_data": "notebook",
    "load_model": "notebook",
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
    from .notebook import attack as attack
    from .notebook import evaluate as evaluate
    from .notebook import load_data as load_data
    from .notebook import load_model as load_model


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
