"""A saved set as a folder: .npy shards in float32, or PNG files in 8 bits, and a manifest.json."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import SaveFormat
from ..data import ImageSet
from ..data.npy import stored_npy
from ..data.stored import Growing
from ..errors import FgsmError, in_one_line
from ..files import whole_folder
from .about import About, checked_epsilon
from .arrays import Shards, as_npy
from .lattice import to_grey_levels

MANIFEST_FILE = "manifest.json"
SHARD_BYTES = 256 * 2**20
_BLOCK = 1000


def write_npy(path: str, x_adv: Any, images: ImageSet, about: About) -> None:
    """A folder of shards."""
    del images
    rows = max(1, SHARD_BYTES // (4 * math.prod(x_adv.shape[1:])))
    starts = range(0, len(x_adv), rows)
    names = [f"x_adv-{place:05}.npy" for place in range(len(starts))]
    with whole_folder(path, is_saved_set) as folder:
        for name, start in zip(names, starts, strict=True):
            with (folder / name).open("wb") as file:
                file.writelines(as_npy(x_adv, start, start + rows))
        _write_manifest(folder, "npy", x_adv.shape, names, about)


def write_png(path: str, x_adv: Any, images: ImageSet, about: About) -> None:
    """A folder of pictures, a folder a label in it, rounded around the clean ones."""
    from PIL import Image  # only who wants pictures pays for the import

    arrange = as_picture(x_adv.shape[1:], path)
    names = []
    with whole_folder(path, is_saved_set) as folder:
        for start in range(0, len(x_adv), _BLOCK):
            levels = to_grey_levels(
                x_adv[start : start + _BLOCK],
                images.pixels(start, start + _BLOCK),
                epsilon=about.epsilon or 0,
                norm=about.norm,
            )
            for place, picture in enumerate(levels, start):
                within = "" if about.labels is None else f"{about.labels[place]}/"
                names.append(f"{within}{place:06}.png")
                (folder / within).mkdir(exist_ok=True)
                Image.fromarray(arrange(picture)).save(folder / names[-1])
        _write_manifest(folder, "png", x_adv.shape, names, about)


def _write_manifest(
    folder: Path, form: SaveFormat, shape: tuple[int, ...], names: list[str], about: About
) -> None:
    for name, numbers in (("y.npy", about.labels), ("indices.npy", about.indices)):
        if numbers is not None:
            np.save(folder / name, numbers)
    document = {
        "format": form,
        "shape": list(shape),
        "epsilon": about.epsilon,
        "attack": about.attack,
        "data": about.data,
        "split": about.split,
        "model_sha256": about.model_sha256,
        "files": names,
    }
    (folder / MANIFEST_FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def is_picture(shape: tuple[int, ...]) -> bool:
    """Whether images of this shape can be shown as pictures."""
    try:
        as_picture(shape, "a set")
    except FgsmError:
        return False
    return True


def as_picture(shape: tuple[int, ...], path: str) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """How an image of this shape becomes (height, width) or (height, width, 3).

    path: what should hold it, for the message. Raises FgsmError for a shape that is no picture.
    """
    if len(shape) == 3 and shape[0] == 3 != shape[2]:
        return lambda image: np.ascontiguousarray(image.transpose(1, 2, 0))
    sides = list(shape) if len(shape) == 2 else [side for side in shape if side != 1]
    if len(sides) == 1 and math.isqrt(sides[0]) ** 2 == sides[0]:
        sides = [math.isqrt(sides[0])] * 2
    if len(sides) == 2 or (len(sides) == 3 and sides[2] == 3):
        return lambda image: image.reshape(sides)
    raise FgsmError(
        f"{path} cannot hold these images as pictures: expected grey or RGB. "
        f"Received: shape {shape}"
    )


def _from_picture(shape: tuple[int, ...]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """The way back."""
    if len(shape) == 3 and shape[0] == 3 != shape[2]:
        return lambda picture: picture.transpose(2, 0, 1)
    return lambda picture: picture.reshape(shape)


def is_saved_set(folder: Path) -> bool:
    """Whether a folder holds a saved set, and not a single file beside."""
    try:
        document = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        known = {MANIFEST_FILE, "y.npy", "indices.npy", *document["files"]}
        assert document["format"] in ("npy", "png")
    except (OSError, ValueError, KeyError, TypeError, AssertionError):
        return False
    found = (one for one in folder.rglob("*") if not one.is_dir())
    return all(one.relative_to(folder).as_posix() in known for one in found)


def check_form(form: SaveFormat, shape: tuple[int, ...], path: str) -> None:
    """Raise FgsmError for images that the form cannot hold."""
    if form == "png":
        as_picture(shape, path)


def read_folder(folder: Path) -> tuple[Any, About, None]:
    """What a folder of either kind holds. Raises FgsmError where that is no saved set."""
    try:
        document = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        shape, names = tuple(document["shape"]), list(document["files"])
        read_images = {"npy": _read_npy, "png": _read_png}[document["format"]]
        labels = folder / "y.npy"
        return (
            read_images(folder, names, shape),
            About(
                labels=np.load(labels) if labels.exists() else None,
                indices=np.load(folder / "indices.npy"),
                epsilon=checked_epsilon(document["epsilon"], str(folder)),
                attack=document["attack"] if isinstance(document["attack"], dict) else None,
                data=str(document["data"]),
                split=str(document.get("split", "")),
                model_sha256=str(document["model_sha256"]),
            ),
            None,
        )
    except FileNotFoundError as error:
        missing = Path(error.filename or "").name
        raise FgsmError(f"{folder} is no saved adversarial set: it holds no {missing}") from None
    except FgsmError:
        raise
    except Exception as error:  # what was edited by hand fails in every way there is
        raise FgsmError(f"the saved set {folder} is damaged: {in_one_line(error)}") from None


def _read_npy(folder: Path, names: list[str], shape: tuple[int, ...]) -> Any:
    shards = [stored_npy(str(folder / name)) for name in names]
    found = shards[0] if len(shards) == 1 else Shards(tuple(shards))
    _check_shape(found, shape)
    return found


def _check_shape(images: Any, shape: tuple[int, ...]) -> None:
    if images is None or images.shape != shape:
        found = () if images is None else images.shape
        raise ValueError(f"expected images of shape {shape}, found {found}")


def _read_png(folder: Path, names: list[str], shape: tuple[int, ...]) -> Any:
    from PIL import Image

    arrange = _from_picture(shape[1:])
    if len(names) != shape[0]:
        raise ValueError(f"expected {shape[0]} files, found {len(names)}")
    mode = "RGB" if len(shape) == 4 and 3 in (shape[1], shape[-1]) else "L"
    images = Growing(str(folder))
    for name in names:
        with Image.open(folder / name) as picture:
            if picture.mode.startswith(("I", "F")):
                raise ValueError(f"{name} has more than 8 bits")
            images.grow(arrange(np.asarray(picture.convert(mode)))[None])
    found = images.done()
    _check_shape(found, shape)
    return found
