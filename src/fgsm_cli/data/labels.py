"""Labels in every form that people keep them in, as int64.

labels = check_labels(one_hot, len(images), "x.npz")
labels = check_labels(np.array(["cat", "dog"]), 2, "x.npz", classes=("cat", "dog"))
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError, listed

MOST_CLASSES = 100_000


def check_labels(
    labels: NDArray[Any], n: int, source: str, classes: tuple[str, ...] = ()
) -> NDArray[np.int64]:
    """The labels as int64, (n,).

    Taken are integers, 0 or more, of any type, also as whole floats, truth values or text, also
    as one column (n, 1); one-hot rows (n, k); names, if ``classes`` says their order.
    Raises FgsmError for anything else, naming the row.
    """
    if labels.ndim == 2 and labels.shape[1] == 1:  # as keras.datasets.cifar10 has them
        labels = labels[:, 0]
    if labels.ndim == 2 and len(labels) == n:
        labels = _positions_of_one(labels, source)
    if labels.shape != (n,):
        raise FgsmError(
            f"{source} must hold a label for each of {n} images. Received: shape {labels.shape}"
        )
    if labels.dtype.kind in "US":
        labels = _numbers_of_names(labels, source, classes)
    if labels.dtype.kind == "f":
        labels = labels.astype(np.float64)  # in half precision the bounds below overflow
        _refuse(~(labels == np.trunc(labels)), labels, source, "whole numbers")  # NaN fails
    elif labels.dtype.kind not in "biu":
        raise FgsmError(
            f"the labels of {source} must be integers, one-hot rows or names. "
            f"Received: {labels.dtype}"
        )
    top = len(classes) or MOST_CLASSES
    _refuse(labels < 0, labels, source, "at least 0")
    _refuse(labels >= top, labels, source, f"below {top}" + (", the classes" if classes else ""))
    return labels.astype(np.int64)


def _refuse(wrong: NDArray[np.bool_], labels: NDArray[Any], source: str, bound: str) -> None:
    """Raise FgsmError for the first label that is wrong."""
    if wrong.any():
        row = int(wrong.argmax())
        raise FgsmError(
            f"the labels of {source} must be {bound}. Received: {labels[row]} in row {row}"
        )


def _positions_of_one(labels: NDArray[Any], source: str) -> NDArray[np.int64]:
    """One-hot rows as the position of their 1."""
    if labels.dtype.kind not in "biuf" or not labels.shape[1]:
        raise FgsmError(
            f"the labels of {source} must be integers, one-hot rows or names. "
            f"Received: shape {labels.shape} of {labels.dtype}"
        )
    wrong = ~(((labels == 0) | (labels == 1)).all(axis=1) & ((labels == 1).sum(axis=1) == 1))
    if wrong.any():
        row = int(wrong.argmax())
        shown = " ".join(f"{value:g}" for value in labels[row, :10].astype(float))
        more = " ..." if labels.shape[1] > 10 else ""
        raise FgsmError(
            f"the labels of {source} must be one-hot, a single 1 in a row of 0. "
            f"Received: {shown}{more} in row {row}"
        )
    return np.asarray(labels.argmax(axis=1), np.int64)


def _numbers_of_names(
    labels: NDArray[Any], source: str, classes: tuple[str, ...]
) -> NDArray[np.int64]:
    """Names as their positions among the classes; numbers in text as themselves."""
    if labels.dtype.kind == "S":
        labels = np.char.decode(labels, "utf-8", "replace")
    names, positions = np.unique(labels, return_inverse=True)
    known = {name: number for number, name in enumerate(classes)}
    if known.keys().isdisjoint(names.tolist()):
        try:
            return np.array([int(name) for name in names], np.int64)[positions]
        except (ValueError, OverflowError):
            pass
    if not classes:
        raise FgsmError(
            f"the labels of {source} are names: give all of them in the order of the model's "
            f"outputs by --classes. Received: {listed(names, 3)}"
        )
    unknown = [name for name in names if name not in known]
    if unknown:
        row = int((labels == unknown[0]).argmax())
        raise FgsmError(
            f"the labels of {source} must be among the classes {listed(classes)}. "
            f"Received: {listed(unknown, 1)} in row {row}"
        )
    return np.array([known[name] for name in names], np.int64)[positions]
