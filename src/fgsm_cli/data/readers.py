"""The table of image sets: how each kind is recognised, and who reads it.

A kind is recognised by what is in the file or folder, not by its name. A new one is a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import FgsmError
from ..files import check_regular
from .folders import read_picture_folder
from .idx import holds_idx, is_gzipped, is_idx, read_idx, read_idx_folder, unpacked_head
from .keras_sets import SETS, read_keras_set
from .npy import holds_npy, read_npy, read_npy_folder
from .npz import MAGIC, read_npz
from .pictures import is_picture, read_picture
from .reading import Found, Reading, Split
from .records import (
    holds_records,
    holds_saved_dataset,
    is_records,
    read_record_folder,
    read_records,
    read_saved_dataset,
)
from .table import is_table, read_table

Reader = Callable[[str, Split, Reading], Found]


@dataclass(frozen=True)
class FileKind:
    """A kind of file. takes: the options of ``Reading`` that name something in it."""

    name: str
    recognises: Callable[[bytes], bool]
    read: Reader
    takes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder; the last one takes whatever is left."""

    name: str
    recognises: Callable[[Path], bool]
    read: Reader
    takes: tuple[str, ...] = ()


KEYS = ("x_key", "y_key")
NPZ = FileKind("a NumPy archive", lambda head: head.startswith(b"PK"), read_npz, KEYS)
NPY = FileKind("a NumPy array", lambda head: head.startswith(MAGIC), read_npy, ("y_key",))
IDX = FileKind("an IDX file", is_idx, read_idx, ("y_key",))
PICTURE = FileKind("a picture", is_picture, read_picture)
RECORDS = FileKind("TFRecords", is_records, read_records, KEYS)
TABLE = FileKind("a table", is_table, read_table, ("y_key",))
FILES = (NPZ, NPY, IDX, PICTURE, RECORDS, TABLE)

FOLDERS = (
    FolderKind("a saved dataset", holds_saved_dataset, read_saved_dataset, KEYS),
    FolderKind("a folder of arrays", holds_npy, read_npy_folder, KEYS),
    FolderKind("a folder of IDX files", holds_idx, read_idx_folder, ("y_key",)),
    FolderKind("a folder of TFRecords", holds_records, read_record_folder, KEYS),
    FolderKind("a folder of pictures", lambda _: True, read_picture_folder),
)
# A name that promises one kind must not hold another: it was renamed, or fetched wrongly.
PROMISES = {
    ".npz": (NPZ, "an .npz archive"),
    ".npy": (NPY, "a .npy array"),
    ".csv": (TABLE, "a table of numbers separated by commas"),
}
NAMED = {"mnist": FileKind("mnist", lambda _: False, read_npz)} | {
    name: FileKind(name, lambda _: False, read_keras_set) for name in SETS
}


def is_named(source: str) -> bool:
    """Whether this is the name of an image set, and no path."""
    return source in NAMED


def check_source(source: str) -> None:
    """Raise FgsmError unless this is a name that is known, a folder, or a file to be read."""
    if not is_named(source) and not Path(source).is_dir():
        if not Path(source).exists() and not {"/", "\\", "."} & set(source):
            raise FgsmError(f"no image set at {source}, and none is named so: {', '.join(NAMED)}")
        check_regular(source, "image set")


def kind_of(source: str) -> FileKind | FolderKind:
    """What kind of image set a name or a path is.

    Raises FgsmError for a path that leads nowhere, or to nothing that is read.
    """
    check_source(source)
    if source in NAMED:
        return NAMED[source]
    path = Path(source)
    if path.is_dir():
        return next(kind for kind in FOLDERS if kind.recognises(path))
    head = unpacked_head(path, 4096)
    kind = next((kind for kind in FILES if kind.recognises(head)), None)
    promised, called = PROMISES.get(path.suffix.lower(), (kind, ""))
    if kind is not promised:
        raise FgsmError(f"{source} is not {called}{_received(kind, head)}")
    if kind is None and "ubyte" in path.name:
        return IDX  # whose reader says what is wrong with it
    if kind is None or (kind not in (IDX, RECORDS) and is_gzipped(path)):
        raise FgsmError(
            f"{source} is no image set: expected .npz, .npy, IDX, CSV, a picture, TFRecords or a "
            f"folder{_received(kind, head)}"
        )
    return kind


def _received(kind: FileKind | None, head: bytes) -> str:
    """What a file is instead."""
    if kind is not None:
        return f". Received: {kind.name}"
    return (
        f". Received: a file that begins with {head[:20]!r}" if head else ". Received: no content"
    )
