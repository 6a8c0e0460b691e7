"""The commands as functions of a model and images in memory, for notebooks and scripts.

    from fgsm_cli import attack, evaluate, load_data, load_model

    model = load_model("model.keras")
    attack(model, load_data("mnist", limit=1000), epsilon=0.1)

The records are those of the commands, and show themselves in a notebook. Options are the commands'
own: what a flag is called, with underscores.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import report  # noqa: F401 - it teaches the records to show themselves
from .config import AttackOptions, EvalOptions, LoadingOptions, build, keys
from .data import ImageSet, check_images, check_labels, load_images, natural_range
from .errors import FgsmError
from .experiment import Watch, judgement_of, loaded
from .models import Classifier, inspect
from .results import Judgement

# The panels of the options that decide the numbers; and what else of a record may be asked for.
_GROUPS = ("Attack", "Computation")
_OF_RECORDS = ("show", "pictures", "fail_under")

Images = ImageSet | tuple[Any, Any]

__all__ = ["attack", "evaluate", "load_data", "load_model"]


def load_model(path: str, **options: Any) -> Classifier:
    """Any Keras classifier by its path or ``package.module:function``; options as of the flags.

    Raises FgsmError for what is no classifier.
    """
    return loaded(path, build(LoadingOptions, options))


def load_data(source: str = "mnist", limit: int | None = None, **options: Any) -> ImageSet:
    """An image set by name or path, its first ``limit`` test images; options as of the flags.

    Raises FgsmError for whatever is damaged, empty or out of range.
    """
    given = build(LoadingOptions, {"data": source, "limit": limit, **options})
    return load_images(given.data, given.split, given.limit, given.reading())


def attack(
    model: Any, data: Images, attack: str = "fgsm", epsilon: float | str = 0.1, **options: Any
) -> Judgement:
    """One attack on a model: what ``fgsm attack`` finds, with its first images.

    model: of ``load_model``, or a Keras model. data: of ``load_data``, or (x, y), whose x are
    grey levels 0..255 if integers and in 0..1 if floats.
    Raises FgsmError for options that the command would refuse, too.
    """
    given = {"attack": attack, "epsilon": epsilon, "show": True, **options}
    return _judged("attack", AttackOptions, given, model, data)


def evaluate(
    model: Any,
    data: Images,
    attack: str | Sequence[str] = "fgsm",
    epsilon: float | str | Sequence[float | str] = 0.1,
    **options: Any,
) -> Judgement:
    """A model under attacks at several epsilons: what ``fgsm eval`` finds. As ``attack``."""
    given = {"attack": attack, "epsilon": epsilon, **options}
    return _judged("eval", EvalOptions, given, model, data)


def _judged(
    command: str,
    of: type[AttackOptions] | type[EvalOptions],
    given: dict[str, Any],
    model: Any,
    data: Images,
) -> Judgement:
    """The record; an option that would have no effect here is refused."""
    for name, field in keys(of).items():
        extra: Any = field.json_schema_extra
        if name in given and extra["group"] not in _GROUPS and name not in _OF_RECORDS:
            raise FgsmError(
                f"{name} is no option here, where a record is given back; those of the model and "
                f"of its images go to load_model and load_data. Received: {given[name]!r}"
            )
    options = build(of, given)
    classifier = model if isinstance(model, Classifier) else inspect(model, path=_name(model))
    images = data if isinstance(data, ImageSet) else _image_set(*data)
    return judgement_of(command, options, classifier, images, Watch())[0]


def _name(model: Any) -> str:
    return str(getattr(model, "name", type(model).__name__))


def _image_set(x: Any, y: Any) -> ImageSet:
    x, y = np.asarray(x), np.asarray(y)
    check_images(x, "x")
    labels = check_labels(y, len(x), "y")
    return ImageSet(
        name="arrays",
        split="test",
        images=x,
        labels=labels,
        classes=int(labels.max()) + 1,
        range=natural_range(x.dtype),
        sha256=hashlib.sha256(x.tobytes() + labels.tobytes()).hexdigest(),
    )
