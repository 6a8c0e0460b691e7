"""Coverage-guided fuzzing of whatever reads a file: any bytes are a result or one sentence.

    python -m pip install atheris                            # a tool, no dependency
    python tests/fuzz.py experiment -max_total_time=300      # further flags are libFuzzer's
    python tests/fuzz.py csv tests-found/ -runs=100000       # a folder keeps what was found

The targets are the keys of ``TARGETS``. What crashes is written to the current folder as
``crash-…``; ``python tests/fuzz.py csv crash-…`` runs it again. A finding becomes a test.
"""

import io
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import atheris

with atheris.instrument_imports(include=["fgsm_cli", "yaml", "csv", "zipfile", "numpy.lib"]):
    import numpy as np

    from fgsm_cli import FgsmError
    from fgsm_cli.config import read_experiment
    from fgsm_cli.data import Reading, load_images
    from image_files import KAGGLE, digits, idx_bytes, table

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm"))
X, Y = digits(3)


class Target(NamedTuple):
    """What is done with the bytes in a file of this name, and what to begin with."""

    name: str
    read: Callable[[str], object]
    seeds: Callable[[], list[bytes]]
    wrapped: Callable[[bytes], bytes] = bytes


def image_set(path):
    for source in (path, str(Path(path).parent)):
        for reading in (Reading(), Reading(y_key="label", transpose=True)):
            one_sentence(lambda source=source, reading=reading: pixels(source, reading))


def pixels(source, reading):
    found = load_images(source, "test", reading=reading)
    values = found.pixels()
    assert values.dtype == np.float32
    assert values.size == 0 or 0 <= values.min() <= values.max() <= 1
    assert found.labels is None or found.labels.shape == (len(found),)
    found.digest()


def classifier(path):
    from fgsm_cli.models import load_classifier  # which brings TensorFlow

    return load_classifier(path)


def one_sentence(action):
    try:
        action()
    except FgsmError as error:
        assert len(str(error).splitlines()) == 1, str(error)


def saved(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def pictures():
    from PIL import Image

    forms = ("png", "gif", "tiff", "jpeg", "bmp", "ppm")
    return [saved(lambda file, form=form: Image.fromarray(X[0]).save(file, form)) for form in forms]


def tables():
    small = X[:, 10:14, 10:14]
    return [
        table(small, Y, names=KAGGLE[:17]).encode(),
        table(small / 255).encode(),
        table(small, Y).replace(",", ";").encode(),
        b"label,1x1,1x2\ncat,0,1\ndog,2,3\n",
    ]


def experiments():
    folder = Path(__file__).parents[1] / "configs"
    return [one.read_bytes() for one in sorted(folder.glob("*.yaml"))]


def zipped(content):
    """The bytes as the array x of an archive that is whole."""
    return saved(lambda file: _archive(file, {"x.npy": content}))


def _archive(file, members):
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def network(name):
    from fgsm_cli.backend import keras

    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((4, 4)), layers.Flatten(), layers.Dense(3, activation="softmax")]
    )
    model.save(FOLDER / name)
    return (FOLDER / name).read_bytes()


def members():
    with zipfile.ZipFile(io.BytesIO(network("seed.keras"))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


KEPT: dict[str, bytes] = {}


def with_config(content):
    """The bytes as the config.json of a .keras file that is whole."""
    KEPT.update(KEPT or members())
    return saved(lambda file: _archive(file, {**KEPT, "config.json": content}))


NPY = [saved(lambda file, one=one: np.save(file, one)) for one in (X, X / 255, X > 9, Y)]
TARGETS = {
    "experiment": Target("a.yaml", read_experiment, experiments),
    "npz": Target(
        "a.npz",
        image_set,
        lambda: [
            saved(lambda file: np.savez(file, x=X, y=Y)),
            saved(lambda file: np.savez_compressed(file, images=X / 255)),
        ],
    ),
    "array": Target("a.npz", image_set, lambda: NPY, zipped),
    "npy": Target("a.npy", image_set, lambda: NPY),
    "idx": Target("a-idx3-ubyte", image_set, lambda: [idx_bytes(X), idx_bytes(X / 255)]),
    "csv": Target("a.csv", image_set, tables),
    "picture": Target("a.png", image_set, pictures),
    "unnamed": Target("a", image_set, lambda: [*NPY, *tables(), *pictures()]),
    "keras": Target("a.keras", classifier, lambda: [network("seed.keras")]),
    "config": Target("a.keras", classifier, lambda: [members()["config.json"]], with_config),
    "h5": Target("a.h5", classifier, lambda: [network("seed.h5")]),
}


def main() -> None:
    """Fuzz one target; what libFuzzer says goes to standard error."""
    target = TARGETS[sys.argv[1]]
    corpus, home = FOLDER / "corpus", FOLDER / "home"
    corpus.mkdir()
    home.mkdir()
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed{number}").write_bytes(seed)
    path = home / target.name

    def one(content: bytes) -> None:
        path.write_bytes(target.wrapped(content))
        with warnings.catch_warnings():
            warnings.simplefilter("error" if target.read is not classifier else "ignore")
            one_sentence(lambda: target.read(str(path)))

    atheris.Setup([sys.argv[0], *sys.argv[2:], str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
