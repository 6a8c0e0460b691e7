"""Folders of pictures: one a class, or all in one; one for training and one for testing.

    load_images("digits/", "test")                     # digits/0/a.png, digits/1/b.png, …

Folders named by whole numbers are the labels; other names are classes in alphabetical order, or
in that of ``classes``. A folder that holds train and test holds two sets.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import FgsmError, listed
from .pictures import ENDINGS, decode
from .reading import Found, Reading, Split

SPLITS = {"train": ("train", "training"), "test": ("test", "testing", "val", "valid", "validation")}


def read_picture_folder(source: str, split: Split, reading: Reading) -> Found:
    """The pictures of a folder, and their classes where they lie in folders of their own."""
    root = _of_split(Path(source), split)
    paths, others = _pictures(root)
    if not paths:
        raise FgsmError(
            f"{source} must hold pictures, arrays (.npy), IDX or TFRecord files. Received: "
            f"{listed(sorted(path.name for path in Path(source).iterdir()), 5)}"
        )
    labels = _labels(source, reading)
    homes = {path: path.relative_to(root).parts[0] for path in paths if path.parent != root}
    if labels:
        others += [str(path.relative_to(root)) for path in paths if path not in homes]
        paths = sorted(homes, key=lambda path: (labels[homes[path]], _natural(path)))
    decoded = decode(paths, source)
    kept = set(decoded.paths)
    others += [str(path.relative_to(root)) for path in paths if path not in kept]
    return Found(
        decoded.images,
        np.array([labels[homes[path]] for path in decoded.paths], np.int64) if labels else None,
        files=tuple(map(str, decoded.paths)),
        range=decoded.range,
        classes=_names(labels),
        notes=(*_left_out(source, others), *decoded.notes),
    )


def _of_split(root: Path, split: Split) -> Path:
    """The folder of a split, if the root is divided into splits; else the root."""
    parts = _split_folders(root)
    if not parts:
        return root
    for name in SPLITS[split]:
        if name in parts:
            return parts[name]
    raise FgsmError(
        f"{root} must have a folder named {' or '.join(SPLITS[split][:2])}. "
        f"Received: {listed(parts)}"
    )


def _split_folders(root: Path) -> dict[str, Path]:
    known = {name for names in SPLITS.values() for name in names}
    return {
        path.name.lower(): path
        for path in sorted(root.iterdir())
        if path.is_dir() and path.name.lower() in known
    }


def _labels(source: str, reading: Reading) -> dict[str, int]:
    """The label that each folder of pictures stands for, of all splits together."""
    root = Path(source)
    names = sorted(
        {
            folder.name
            for one in list(_split_folders(root).values()) or [root]
            for folder in one.iterdir()
            if folder.is_dir() and not _is_hidden(folder.name) and _pictures(folder)[0]
        }
    )
    if reading.classes and set(names) <= set(reading.classes):
        return {name: reading.classes.index(name) for name in names}
    if all(re.fullmatch(r"\d{1,9}", name) for name in names):
        labels = {name: int(name) for name in names}
        if len(set(labels.values())) < len(names):
            raise FgsmError(
                f"the folders of {source} must be different labels. Received: {listed(names)}"
            )
        return labels
    if reading.classes:
        unknown = next(name for name in names if name not in reading.classes)
        raise FgsmError(
            f"the folders of {source} must be among the classes {listed(reading.classes)}. "
            f"Received: {listed([unknown])}"
        )
    return {name: label for label, name in enumerate(names)}


def _names(labels: dict[str, int]) -> tuple[str, ...]:
    """The folders' names in the order of their labels, unless they are numbers."""
    if all(name.isdecimal() for name in labels):
        return ()
    return tuple(sorted(labels, key=lambda name: labels[name]))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "__MACOSX"))


def _pictures(root: Path) -> tuple[list[Path], list[str]]:
    """The pictures below a folder in natural order, and the names of other files there."""
    pictures, others = [], []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in names:
            path = Path(folder, name)
            if path.suffix.lower() in ENDINGS and not name.startswith("._"):
                pictures.append(path)
            else:
                others.append(str(path.relative_to(root)))
    return sorted(pictures, key=_natural), sorted(others)


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts 2.png before 10.png."""
    return [
        (int(part), "") if part.isdecimal() else (0, part)
        for part in re.split(r"(\d{1,18})", str(path))
    ]


def _left_out(source: str, junk: Sequence[str]) -> tuple[str, ...]:
    if not junk:
        return ()
    names = listed(sorted(junk), 5)
    return (f"files of {source} that are no pictures of a class were left out: {names}",)
