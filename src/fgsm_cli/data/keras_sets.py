"""Image sets that Keras knows by name: from its cache, or downloaded into it.

    load_images("fashion-mnist", "test")

The cache is ~/.keras/datasets (or $KERAS_HOME/datasets), as everywhere with Keras.
"""

import contextlib
import hashlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..errors import FgsmError
from .reading import Found, Reading, Split

# How the user calls a set, and how keras.datasets does.
SETS = {"fashion-mnist": "fashion_mnist", "cifar10": "cifar10", "cifar100": "cifar100"}
SECONDS = 15  # that a server may stay silent


def read_keras_set(source: str, split: Split, reading: Reading) -> Found:  # noqa: ARG001 - as all readers
    """One of ``SETS``. Raises FgsmError where it is neither in the cache nor to be had."""
    from ..backend import keras

    module = getattr(keras.datasets, SETS[source])
    with _keras_home(), _impatient(), contextlib.redirect_stdout(sys.stderr):
        try:
            train, test = module.load_data()
        except Exception as error:  # Keras raises a plain Exception where a download fails
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise FgsmError(
                f"cannot get {source}, which Keras has to download the first time: {reason}; "
                "--data PATH takes a file that is here already"
            ) from None
    images, labels = train if split == "train" else test
    digest = hashlib.sha256(np.ascontiguousarray(images).data)
    digest.update(np.ascontiguousarray(labels).data)
    return Found(images, labels, sha256=digest.hexdigest())


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    """A time limit on whatever is opened on the network meanwhile."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@contextlib.contextmanager
def _keras_home() -> Iterator[None]:
    """Keras' own folder, which was kept from it while it was imported, for its data sets only."""
    from keras.src.backend import config

    before = getattr(config, "_KERAS_DIR", None)
    config._KERAS_DIR = os.environ.get("KERAS_HOME") or str(Path("~/.keras").expanduser())
    try:
        yield
    finally:
        config._KERAS_DIR = before
