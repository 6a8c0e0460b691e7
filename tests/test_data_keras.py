"""Image sets of keras.datasets: from its cache; and a network that does not answer."""

import gzip
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from image_files import digits, idx_bytes

X, Y = digits()
READ = """
from fgsm_cli import FgsmError
from fgsm_cli.data import keras_sets, load_images
keras_sets.SECONDS = 2
try:
    for split in ("test", "train"):
        found = load_images("fashion-mnist", split)
        print(found.images.shape, found.labels.tolist(), len(found.digest()))
except FgsmError as error:
    print(error)
"""


def read(tmp_path, **environment):
    return subprocess.run(
        [sys.executable, "-c", READ],
        env={**os.environ, "KERAS_HOME": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )


def test_a_set_in_the_cache_is_read_without_a_network(tmp_path):
    folder = tmp_path / "datasets" / "fashion-mnist"
    folder.mkdir(parents=True)
    for prefix, n in (("train", 9), ("t10k", 7)):
        for kind, array in (("images-idx3", X[:n]), ("labels-idx1", Y[:n].astype(np.uint8))):
            path = folder / f"{prefix}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(idx_bytes(array)))
    shown = [f"({n}, 28, 28) {Y[:n].tolist()} 64" for n in (7, 9)]
    assert read(tmp_path).stdout.splitlines() == shown


@pytest.mark.parametrize("answers", [False, True])
def test_a_network_that_is_not_there_or_silent_is_told_in_one_sentence(answers, tmp_path):
    """A proxy that refuses, or one that accepts and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if answers:
            server.listen()
        proxy = f"http://127.0.0.1:{server.getsockname()[1]}"
        result = read(tmp_path, https_proxy=proxy, HTTPS_PROXY=proxy, no_proxy="", NO_PROXY="")
    assert len(result.stdout.splitlines()) == 1
    assert result.stdout.startswith("cannot get fashion-mnist, which Keras has to download")
    assert "--data PATH" in result.stdout
    assert "Downloading" in result.stderr
