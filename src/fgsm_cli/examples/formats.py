"""The forms of a saved set: .npz of plain arrays, a folder of .npy shards, a folder of PNG files.

    FORMATS["png"]("adv/", x_adv, images, about)
    with read("adv/") as (x_adv, about, clean):
        ...

Here is the .npz, and the table of all three; the folders are in ``folders.py``.
"""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..config import SaveFormat
from ..data import ImageSet, find_array, open_arrays
from ..files import whole_file
from .about import About, checked_epsilon
from .arrays import as_npy
from .folders import read_folder, write_npy, write_png


def _write_npz(path: str, x_adv: Any, images: ImageSet, about: About) -> None:
    del images
    labels = {} if about.labels is None else {"y": about.labels}
    arrays: dict[str, Any] = {
        "x_adv": x_adv,
        **labels,
        "epsilon": np.float64(about.epsilon or 0),
        "indices": about.indices,
        "attack": np.array(json.dumps(about.attack)),
        "data": np.array(about.data),
        "split": np.array(about.split),
        "model_sha256": np.array(about.model_sha256),
    }
    with (
        whole_file(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                for part in as_npy(array):
                    member.write(part)


FORMATS: Mapping[SaveFormat, Callable[[str, Any, ImageSet, About], None]] = {
    "npz": _write_npz,
    "npy": write_npy,
    "png": write_png,
}


@contextmanager
def read(path: str) -> Iterator[tuple[Any, About, Any]]:
    """A saved set in any of the forms: its images, what it says, its own clean images.

    Raises FgsmError for what is damaged or holds no such set.
    """
    if Path(path).is_dir():
        yield read_folder(Path(path))
        return
    with open_arrays(path) as arrays:
        known = arrays.files

        def maybe(name: str) -> Any:
            return arrays[name] if name in known else None

        yield (
            find_array(arrays, ("x_adv", "x"), path),
            About(
                labels=maybe("y"),
                indices=maybe("indices"),
                epsilon=checked_epsilon(maybe("epsilon"), path),
                attack=_settings(maybe("attack")),
                data="" if maybe("data") is None else str(maybe("data")),
                split="" if maybe("split") is None else str(maybe("split")),
                model_sha256=str(maybe("model_sha256") or ""),
            ),
            arrays.stored("x_clean") if "x_clean" in known else None,
        )


def _settings(attack: Any) -> Any:
    """The settings that a set names, if it names any that can be read."""
    try:
        found = None if attack is None else json.loads(str(attack))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
