"""Pictures: PNG, JPEG and what else Pillow reads, as arrays of one shape and type.

load_images("three.png", "test", reading=Reading(label=3))
"""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError
from ..files import check_regular
from ..ranges import PixelRange
from .reading import Found, Reading, Split
from .stored import Growing

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm")
SIGNATURES = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"BM",
    b"RIFF",
    b"II*\0",
    b"MM\0*",
    b"P5",
    b"P6",
)
SIXTEEN_BITS = PixelRange((0.0,), (65535.0,))
DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I")
GREY = ("1", "L", "LA", "La")


class Decoded(NamedTuple):
    """Pictures (n, height, width) or (n, height, width, 3), and the files that they are."""

    images: Any
    paths: tuple[Path, ...]
    range: PixelRange | None
    notes: tuple[str, ...]


def is_picture(head: bytes) -> bool:
    """Whether a file that begins so is a picture."""
    return head.startswith(SIGNATURES)


def read_picture(source: str, split: Split, reading: Reading) -> Found:  # noqa: ARG001 - as all readers
    """One picture as a set of one image."""
    check_regular(source, "image set")
    decoded = decode([Path(source)], source)
    return Found(decoded.images, None, (source,), decoded.range, notes=decoded.notes)


def decode(paths: Sequence[Path], source: str) -> Decoded:
    """The pictures of these files, grey if all of them are, else in colour.

    Files that are no pictures at all are left out of ``paths``. Raises FgsmError for one that is
    damaged, of another size or depth than the first, or if no picture is left.
    """
    kinds = {path: kind for path in paths if (kind := _kind(path)) is not None}
    if not kinds:
        raise FgsmError(f"{source} must hold pictures. Received: {paths[0].name}, which is none")
    first = next(iter(kinds))
    for path, kind in kinds.items():
        if kind.size != kinds[first].size:
            raise FgsmError(
                f"the pictures of {source} must be of one size. Received: {first} with "
                f"{_by(kinds[first].size)} and {path} with {_by(kind.size)}"
            )
        if (kind.mode in DEEP) != (kinds[first].mode in DEEP):
            raise FgsmError(
                f"the pictures of {source} must be of one depth. Received: {first} with "
                f"{_bits(kinds[first].mode)} bits a pixel and {path} with {_bits(kind.mode)}"
            )
    deep = kinds[first].mode in DEEP
    looks_grey = [path for path, kind in kinds.items() if kind.mode not in (*GREY, *DEEP)]
    grey = deep or all(_is_grey(_pixels(path).array) for path in looks_grey)
    images, clear, borders = Growing(source), 0, 0.0
    for path in kinds:
        array, is_clear = _pixels(path, "deep" if deep else "grey" if grey else "colour")
        images.grow(array[None])
        clear += is_clear
        borders += _border(array) if grey else 0
    white = 65535 if deep else 255
    notes = []
    if clear:
        notes.append(f"{clear} of the pictures of {source} are transparent: laid on white")
    if grey and looks_grey:
        notes.append(f"the pictures of {source} are grey in colour files: read as one channel")
    if grey and borders / len(kinds) > white / 2:
        notes.append(
            f"the borders of the pictures of {source} are mostly white; digits such as MNIST's "
            "are white on black: a model of those takes them inverted"
        )
    return Decoded(images.done(), tuple(kinds), SIXTEEN_BITS if deep else None, tuple(notes))


def decode_bytes(content: bytes, what: str) -> NDArray[Any]:
    """One encoded picture as an array, (height, width) or (height, width, 3)."""
    kind = _kind(io.BytesIO(content))
    if kind is None:
        raise FgsmError(f"{what} is damaged: it is no picture")
    form = "deep" if kind.mode in DEEP else "grey" if kind.mode in GREY else "colour"
    return _pixels(io.BytesIO(content), form, what).array


class Kind(NamedTuple):
    """What the head of a picture tells: (width, height), and Pillow's name of its pixels."""

    size: tuple[int, int]
    mode: str


def _kind(file: Any) -> Kind | None:
    """What a picture is like; None if it is none."""
    from PIL import Image

    try:
        with _only_bombs(), Image.open(file) as picture:
            return Kind(picture.size, picture.mode)
    except Image.DecompressionBombError as error:
        raise FgsmError(f"the picture {file} is too large: {error}") from None
    except Exception:  # Pillow's readers fail in every way there is
        return None


class Pixels(NamedTuple):
    """A picture's array, and whether a part of it was transparent."""

    array: NDArray[Any]
    is_clear: bool


def _pixels(file: Any, form: str = "colour", what: str = "") -> Pixels:
    """A picture as uint16 (deep) or uint8. Raises FgsmError for one that is damaged."""
    from PIL import Image

    try:
        with _only_bombs(), Image.open(file) as picture:
            picture.load()
            if form == "deep":
                return Pixels(_deep(np.asarray(picture)), False)
            is_clear = False
            if picture.mode in ("RGBA", "RGBa", "LA", "La", "PA") or "transparency" in picture.info:
                above = picture.convert("RGBA")
                is_clear = above.getextrema()[3][0] < 255
                below = Image.new("RGBA", above.size, "white")
                flat = Image.alpha_composite(below, above)
            else:
                flat = picture
            return Pixels(np.asarray(flat.convert("L" if form == "grey" else "RGB")), is_clear)
    except Exception as error:  # Pillow's readers fail in every way there is
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FgsmError(f"the picture {what or file} is damaged: {reason}") from None


def _deep(array: NDArray[Any]) -> NDArray[np.uint16]:
    if array.min() < 0 or array.max() > 65535:
        raise ValueError("more than 16 bits a pixel")
    return array.astype(np.uint16)


@contextmanager
def _only_bombs() -> Iterator[None]:
    """No warnings but that a picture is suspiciously large, which is an error."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def _is_grey(array: NDArray[Any]) -> bool:
    return bool((array[..., :1] == array).all())


def _border(array: NDArray[Any]) -> float:
    """The mean of the outermost pixels."""
    sides = (array[0], array[-1], array[:, 0], array[:, -1])
    return float(np.concatenate(sides).mean())


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]} by {size[1]} pixels"


def _bits(mode: str) -> int:
    return 16 if mode in DEEP else 8
