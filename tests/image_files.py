"""Small image sets as files, made anew for each test."""

import gzip
import struct
from pathlib import Path

import numpy as np

from fgsm_cli.data import load_images

IDX_TYPES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}


def digits(n=20):
    """The first MNIST test images (uint8) and their labels (int64)."""
    images = load_images("mnist", "test", limit=n)
    return images.images, images.labels


def idx_bytes(array):
    """An array as an IDX file."""
    head = struct.pack(
        f">HBB{array.ndim}I", 0, IDX_TYPES[array.dtype.name], array.ndim, *array.shape
    )
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_idx(path: Path, array, level=9) -> str:
    """Write an IDX file, gzipped if it is named so; its path."""
    content = idx_bytes(array)
    path.write_bytes(gzip.compress(content, level) if path.suffix == ".gz" else content)
    return str(path)


def idx_pair(
    folder: Path, images="t10k-images-idx3-ubyte.gz", labels="t10k-labels-idx1-ubyte.gz", n=20
):
    """Digits and labels as two IDX files of a folder; the path of the images."""
    x, y = digits(n)
    write_idx(folder / labels, y.astype(np.uint8))
    return write_idx(folder / images, x)


def table(x, y=None, *, names=None, order=None, end="\n"):
    """Digits as lines of text; names: those of label and pixels; order: of the columns."""
    columns = x.reshape(len(x), -1) if y is None else np.column_stack([y, x.reshape(len(x), -1)])
    columns = columns[:, order] if order is not None else columns
    lines = [",".join(f"{value:g}" for value in row) for row in columns]
    if names is not None:
        header = np.array(names)[list(order)] if order is not None else names
        lines = [",".join(header), *lines]
    return "".join(line + end for line in lines)


KAGGLE = ("label", *(f"pixel{number}" for number in range(784)))
