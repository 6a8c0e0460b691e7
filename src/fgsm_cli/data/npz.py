"""NumPy archives: arrays read when asked for, nothing in them unpickled."""

import importlib.resources
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError
from ..files import check_regular


@contextmanager
def open_arrays(source: str) -> Iterator[Any]:
    """The arrays of an .npz, each read when asked for and none of them unpickled.

    Raises FgsmError for a file that is missing, damaged, no archive or holds Python objects.
    """
    with _opened(source) as file:
        if file.read(2) != b"PK":
            raise FgsmError(f"{source} is not an .npz archive")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
        except FgsmError:
            raise
        except Exception as error:  # a damaged archive fails in every way there is
            if "allow_pickle" in str(error):
                raise FgsmError(f"{source} holds Python objects, which are not read") from None
            reason = " ".join(str(error).split()) or type(error).__name__
            raise FgsmError(f"{source} is damaged: {reason[:200]}") from None


@contextmanager
def _opened(source: str) -> Iterator[IO[bytes]]:
    if source == "mnist":
        assets = importlib.resources.files("fgsm_cli").joinpath("assets")
        with assets.joinpath("mnist.npz").open("rb") as file:
            yield file
        return
    check_regular(source, "image set")
    with Path(source).open("rb") as file:
        yield file


def find_array(arrays: Any, names: Sequence[str], source: str) -> NDArray[Any]:
    """The first of these arrays that the archive holds. Raises FgsmError if there is none."""
    for name in names:
        if name in arrays.files:
            array = arrays[name]
            if not isinstance(array, np.ndarray):  # a member that is no array comes as its bytes
                raise FgsmError(f"{source} is damaged: {name} is not an array")
            return array
    raise FgsmError(
        f"{source} must hold an array named {' or '.join(names)}. "
        f"Received: {', '.join(arrays.files) or 'none'}"
    )
