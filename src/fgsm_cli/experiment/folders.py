"""What a command writes: its resolved options, its results, what it made."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..config import (
    CONFIG_FILE,
    OUTCOMES_FILE,
    RESULTS_FILE,
    Options,
    SaveFormat,
    dump_experiment,
)
from ..errors import FgsmError
from ..evaluation import Judged
from ..examples import MANIFEST_FILE
from ..files import check_replaceable, make_folder, same_file, whole_file


def write_run(folder: str, sections: Mapping[str, Options], document: Mapping[str, Any]) -> None:
    """Keep a whole experiment: its resolved config.yaml and its results.json."""
    write(make_folder(folder), sections, document)


def output_folder(path: str | None, command: str) -> Path | None:
    """The output folder, made; one that holds another command's results is refused."""
    if path is None:
        return None
    folder = make_folder(path)
    try:
        holds = json.loads((folder / RESULTS_FILE).read_text(encoding="utf-8")).get("command")
    except (OSError, ValueError, AttributeError):
        return folder
    if holds not in (command, None):
        raise FgsmError(f"{path} holds the results of {holds}; expected a folder for {command}")
    return folder


def check_target(path: str, form: SaveFormat, inputs: tuple[str, ...]) -> None:
    """Refuse, before the work, a target that could not be written after it."""
    for one in inputs:
        if same_file(path, one):
            raise FgsmError(f"--save must not overwrite an input. Received: {path}")
    if form != "npz":
        check_replaceable(path, MANIFEST_FILE)
    elif Path(path).is_dir():
        raise FgsmError(f"--save must name a file. Received: the folder {path}")
    make_folder(Path(path).parent)


def _config_text(sections: Mapping[str, Options]) -> str:
    return f"# fgsm {__version__}; run again with: fgsm run FILE\n{dump_experiment(sections)}"


def write_outcomes(folder: Path, judged: Judged) -> None:
    """Keep the answers image by image, for ``fgsm compare``."""
    with whole_file(folder / OUTCOMES_FILE) as temporary, temporary.open("wb") as file:
        np.savez(file, right=judged.right, still=judged.still)


def write(folder: Path, sections: Mapping[str, Options], document: Mapping[str, Any]) -> None:
    """Keep the resolved config.yaml and the results.json of a command."""
    with whole_file(folder / CONFIG_FILE) as temporary:
        temporary.write_text(_config_text(sections), encoding="utf-8")
    with whole_file(folder / RESULTS_FILE) as temporary:
        temporary.write_text(
            json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8"
        )
