"""The forms of a saved set: .npz of plain arrays, a folder of .npy shards, a folder of PNG files.

    FORMATS["png"]("adv/", x_adv, images, about)
    with read("adv/") as (x_adv, about, clean):
        ...

A folder says what it is in its manifest.json; the sums of its files are not needed to read it.
"""

import io
import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import SaveFormat
from ..data import ImageSet, find_array, open_arrays
from ..data.npy import stored_npy
from ..data.stored import Growing
from ..errors import FgsmError, in_one_line
from ..family import Norm
from ..files import whole_file, whole_folder
from .lattice import to_grey_levels

MANIFEST_FILE = "manifest.json"
SHARD_BYTES = 256 * 2**20
_BLOCK = 1000


@dataclass(frozen=True, eq=False)
class About:
    """What a saved set says of itself.

    labels, indices: (n,), integers, or None. epsilon: on the 0..1 pixel scale. attack: its
    settings. data, split: the name or path of the image set it was made from, and which half.
    """

    labels: NDArray[Any] | None
    indices: NDArray[Any] | None
    epsilon: float | None
    attack: Mapping[str, Any] | None
    data: str
    split: str
    model_sha256: str

    @property
    def norm(self) -> Norm:
        """The norm that the attack was measured in."""
        norm: Norm = (self.attack or {}).get("norm", "linf")
        return norm


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
                for part in _as_npy(array):
                    member.write(part)


def _as_npy(array: Any, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Rows of an array in the .npy format, part by part, so that they need not be in memory."""
    shape = array.shape
    stop = min(stop or shape[0], shape[0]) if shape else 0
    header = io.BytesIO()
    description = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False}
    rows = (stop - start, *shape[1:]) if shape else ()
    np.lib.format.write_array_header_1_0(header, {**description, "shape": rows})
    yield header.getvalue()
    if not shape:
        yield np.asarray(array).tobytes()
    for first in range(start, stop, _BLOCK):
        yield np.ascontiguousarray(array[first : min(first + _BLOCK, stop)]).tobytes()


def _write_npy(path: str, x_adv: Any, images: ImageSet, about: About) -> None:
    del images
    rows = max(1, SHARD_BYTES // (4 * math.prod(x_adv.shape[1:])))
    starts = range(0, len(x_adv), rows)
    names = [f"x_adv-{place:05}.npy" for place in range(len(starts))]
    with whole_folder(path, is_saved_set) as folder:
        for name, start in zip(names, starts, strict=True):
            with (folder / name).open("wb") as file:
                file.writelines(_as_npy(x_adv, start, start + rows))
        _write_manifest(folder, "npy", x_adv.shape, names, about)


def _write_png(path: str, x_adv: Any, images: ImageSet, about: About) -> None:
    from PIL import Image  # only who wants pictures pays for the import

    arrange = _as_picture(x_adv.shape[1:], path)
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


FORMATS: Mapping[SaveFormat, Callable[[str, Any, ImageSet, About], None]] = {
    "npz": _write_npz,
    "npy": _write_npy,
    "png": _write_png,
}


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


def _as_picture(shape: tuple[int, ...], path: str) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """How an image of this shape becomes (height, width) or (height, width, 3)."""
    if len(shape) == 3 and shape[0] == 3 != shape[2]:
        return lambda image: np.ascontiguousarray(image.transpose(1, 2, 0))
    sides = list(shape) if len(shape) == 2 else [side for side in shape if side != 1]
    if len(sides) == 1 and math.isqrt(sides[0]) ** 2 == sides[0]:
        sides = [math.isqrt(sides[0])] * 2
    if len(sides) == 2 or (len(sides) == 3 and sides[2] == 3):
        return lambda image: image.reshape(sides)
    raise FgsmError(
        f"{path} cannot hold these images as PNG: expected grey or RGB. Received: shape {shape}"
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
        _as_picture(shape, path)


@contextmanager
def read(path: str) -> Iterator[tuple[Any, About, Any]]:
    """A saved set in any of the forms: its images, what it says, its own clean images.

    Raises FgsmError for what is damaged or holds no such set.
    """
    if Path(path).is_dir():
        yield _read_folder(Path(path))
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
                epsilon=_epsilon(maybe("epsilon"), path),
                attack=_settings(maybe("attack")),
                data="" if maybe("data") is None else str(maybe("data")),
                split="" if maybe("split") is None else str(maybe("split")),
                model_sha256=str(maybe("model_sha256") or ""),
            ),
            arrays.stored("x_clean") if "x_clean" in known else None,
        )


def _read_folder(folder: Path) -> tuple[Any, About, None]:
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
                epsilon=_epsilon(document["epsilon"], str(folder)),
                attack=document["attack"],
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


@dataclass(frozen=True, eq=False)
class Shards:
    """Several arrays as one, along their first axis; sliced in stretches."""

    parts: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole."""
        return (len(self), *self.parts[0].shape[1:])

    @property
    def dtype(self) -> Any:
        """The type of all parts."""
        return self.parts[0].dtype

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def __getitem__(self, key: slice) -> NDArray[Any]:
        start, stop, _ = key.indices(len(self))
        taken, begin = [], 0
        for part in self.parts:
            low, high = max(start - begin, 0), min(stop - begin, len(part))
            if low < high:
                taken.append(np.asarray(part[low:high]))
            begin += len(part)
        return np.concatenate(taken) if taken else np.asarray(self.parts[0][:0])


def _epsilon(epsilon: Any, path: str) -> float | None:
    if epsilon is None:
        return None
    epsilon = np.asarray(epsilon)
    if epsilon.shape != () or epsilon.dtype.kind not in "iuf" or not math.isfinite(epsilon):
        raise FgsmError(f"the epsilon of {path} must be one finite number. Received: {epsilon}")
    return float(epsilon)


def _settings(attack: Any) -> Any:
    try:
        return None if attack is None else json.loads(str(attack))
    except ValueError:
        return None
