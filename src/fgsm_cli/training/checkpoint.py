"""A training that was cut short goes on where its last epoch ended, to the very same weights.

    save(path, variables, state)
    state = restore(path, variables, asked)

One .npz holds every variable (weights, optimizer, seeds), the order generator and the
epochs so far. It appears whole or not at all, so that a kill leaves the old one or the new.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import open_arrays
from ..errors import FgsmError
from ..files import whole_file
from ..results import Epoch


@dataclass(frozen=True)
class State:
    """Where a training stands, besides its variables.

    asked: the options it was started with. order: the state of the generator that
    shuffles. epochs: what they saw.
    """

    asked: Mapping[str, Any]
    order: Mapping[str, Any]
    epochs: tuple[Epoch, ...]


def save(path: Path, variables: Sequence[Any], state: State) -> None:
    """Write a checkpoint, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {
        f"variable_{place}": np.asarray(variable) for place, variable in enumerate(variables)
    }
    told = {
        "asked": state.asked,
        "order": state.order,
        "epochs": [asdict(epoch) for epoch in state.epochs],
    }
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, state=np.str_(json.dumps(told)), **arrays)  # type: ignore[arg-type]


def restore(path: Path, variables: Sequence[Any], asked: Mapping[str, Any]) -> State:
    """Put a checkpoint's values into the variables, and tell where it stood.

    Raises FgsmError if it is damaged or was made with other options.
    """
    with open_arrays(str(path)) as arrays:
        try:
            told = json.loads(str(arrays["state"]))
            epochs = tuple(Epoch.from_dict(epoch) for epoch in told["epochs"])
            np.random.PCG64().state = told["order"]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise FgsmError(f"{path} is damaged: not the checkpoint of a training") from None
        differing = [
            name
            for name in sorted({*told["asked"], *asked})
            if told["asked"].get(name) != asked.get(name)
        ]
        if differing:
            raise FgsmError(
                f"{path} was made with other options: {', '.join(differing)}; expected those it "
                "was started with, or --retrain"
            )
        for place, variable in enumerate(variables):
            variable.assign(arrays[f"variable_{place}"])
    return State(told["asked"], told["order"], epochs)
