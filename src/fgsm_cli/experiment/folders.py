"""What a command writes: its resolved options, its results, what it made."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..config import (
    CERTIFICATES_FILE,
    CHECKPOINT_FILE,
    CONFIG_FILE,
    CURVE_FILE,
    EXAMPLES_FILE,
    MODEL_FILE,
    OUTCOMES_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    Options,
    SaveFormat,
    dump_experiment,
)
from ..errors import FgsmError
from ..evaluation import Judged
from ..examples import is_saved_set
from ..files import check_replaceable, make_folder, same_file, whole_file, within

_SIGNATURE = "# fgsm "
_WRITTEN = (
    MODEL_FILE,
    CONFIG_FILE,
    RESULTS_FILE,
    CHECKPOINT_FILE,
    CURVE_FILE,
    EXAMPLES_FILE,
    OUTCOMES_FILE,
    REPORT_FILE,
    CERTIFICATES_FILE,
)


def write_run(folder: str, sections: Mapping[str, Options], document: Mapping[str, Any]) -> None:
    """Keep a whole experiment: its resolved config.yaml and its results.json."""
    write(make_folder(folder), sections, document)


def output_folder(path: str | None, command: str, inputs: Sequence[str] = ()) -> Path | None:
    """The output folder, made.

    Raises FgsmError for one that holds another command's results, a config.yaml of somebody's
    own, or an input under a name that the command writes.
    """
    if path is None:
        return None
    folder = make_folder(path)
    config = folder / CONFIG_FILE
    if config.is_file() and not config.read_bytes().startswith(_SIGNATURE.encode()):
        raise FgsmError(f"{config} was not written by fgsm; expected another --output")
    try:
        holds = json.loads((folder / RESULTS_FILE).read_text(encoding="utf-8"))
        holds = holds.get("command", "run")
    except (OSError, ValueError, AttributeError):
        holds = command
    if holds != command:
        raise FgsmError(f"{path} holds the results of {holds}; expected a folder for {command}")
    for name in _WRITTEN:
        for one in inputs:
            if same_file(folder / name, one):
                raise FgsmError(f"--output must not overwrite an input. Received: {folder / name}")
    return folder


def check_target(path: str, form: SaveFormat, inputs: Sequence[str]) -> None:
    """Refuse, before the work, a target that could not be written after it."""
    check_apart("--save", path, inputs)
    if form != "npz":
        check_replaceable(path, is_saved_set)
    elif Path(path).is_dir():
        raise FgsmError(f"--save must name a file. Received: the folder {path}")
    make_folder(Path(path).parent)


def check_apart(flag: str, path: str, inputs: Sequence[str]) -> None:
    """Raise FgsmError if a target is an input, lies in one or holds one."""
    for one in inputs:
        if one and Path(one).exists() and (within(path, one) or within(one, path)):
            raise FgsmError(f"{flag} must not overwrite an input. Received: {path}")


def check_figure(flag: str, path: str, inputs: Sequence[str]) -> None:
    """Refuse, before the work, a figure that could not be written after it."""
    check_apart(flag, path, inputs)
    if Path(path).is_dir():
        raise FgsmError(f"{flag} must name a file. Received: the folder {path}")
    make_folder(Path(path).parent)


def config_text(sections: Mapping[str, Options]) -> str:
    """The resolved options as config.yaml has them."""
    return f"{_SIGNATURE}{__version__}; run again with: fgsm run FILE\n{dump_experiment(sections)}"


def write_outcomes(folder: Path, judged: Judged) -> None:
    """Keep the answers image by image, for ``fgsm compare``."""
    with whole_file(folder / OUTCOMES_FILE) as temporary, temporary.open("wb") as file:
        np.savez(file, right=judged.right, still=judged.still)


def write(folder: Path, sections: Mapping[str, Options], document: Mapping[str, Any]) -> None:
    """Keep the resolved config.yaml and the results.json of a command."""
    with whole_file(folder / CONFIG_FILE) as temporary:
        temporary.write_text(config_text(sections), encoding="utf-8")
    with whole_file(folder / RESULTS_FILE) as temporary:
        temporary.write_text(
            json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8"
        )
