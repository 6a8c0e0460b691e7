"""Finished runs read back from their folders.

record = plot(["runs/a", "runs/b"], "curve.pdf")
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .config import RESULTS_FILE
from .errors import FgsmError
from .files import make_folder
from .plots import curves
from .results import Plot, lines_of


@contextmanager
def undamaged(*folders: str) -> Iterator[None]:
    """Tell of a folder whose files do not hold what a run writes."""
    try:
        yield
    except FgsmError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OSError) as error:
        missing = f": it lacks {error}" if isinstance(error, KeyError) else ""
        raise FgsmError(
            f"{RESULTS_FILE} of {' or '.join(folders)} is damaged, not what a run writes{missing}"
        ) from None


def document_of(folder: str) -> dict[str, Any]:
    """The results.json of a finished run. Raises FgsmError where there is none."""
    path = Path(folder) / RESULTS_FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FgsmError(f"{folder} is no finished run: {path}: {error.strerror}") from None
    except ValueError:
        raise FgsmError(f"{path} is damaged: not a JSON document") from None
    if not isinstance(document, dict):
        raise FgsmError(f"{path} is damaged: not the results of a run")
    return document


def plot(folders: Sequence[str], path: str) -> Plot:
    """The accuracies over epsilon of several finished runs, drawn into one figure.

    Folders of other commands (train, audit, transfer) are told of and left out.
    Raises FgsmError if nothing is left, or for balls of different norms.
    """
    if Path(path).is_dir():
        raise FgsmError(f"--output must name a file. Received: the folder {path}")
    lines, without = [], []
    for folder in folders:
        with undamaged(folder):
            found = lines_of(document_of(folder), Path(folder).resolve().name)
        lines += found
        without += [] if found else [f"{folder} has no accuracies over epsilon; it is left out"]
    if not lines:
        raise FgsmError(
            "a plot needs a finished attack, eval or curve of images with labels. "
            f"Received: {', '.join(folders)}"
        )
    norms = sorted({line.norm for line in lines})
    if len(norms) > 1:
        raise FgsmError(
            f"the epsilons of one plot must be of one norm. Received: {', '.join(norms)}"
        )
    make_folder(Path(path).parent)
    curves(lines, path)
    return Plot(tuple(lines), (path,), tuple(without))
