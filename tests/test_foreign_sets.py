"""Image sets as others publish them, read from their own files and attacked."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from fgsm_cli.cli import main
from fgsm_cli.data import Reading, load_images
from fgsm_cli.ranges import PixelRange

FASHION = Path("/usr/share/datasets/fashion-mnist")
has_fashion = pytest.mark.skipif(
    not FASHION.is_dir(), reason="needs Debian's package dataset-fashion-mnist, as CI has it"
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(capsys, *arguments):
    """What a command says in JSON."""
    code = main([*map(str, arguments), "--format", "json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out)


# --- Fashion-MNIST, from Debian ------------------------------------------------------------


@has_fashion
def test_fashion_mnist_is_read_as_it_was_published():
    test, train = (load_images(str(FASHION), split) for split in ("test", "train"))
    assert (test.images.shape, train.images.shape) == ((10_000, 28, 28), (60_000, 28, 28))
    assert np.bincount(test.known_labels).tolist() == [1000] * 10
    assert np.bincount(train.known_labels).tolist() == [6000] * 10
    assert test.notes == train.notes == ()
    for name, found in (("t10k", test), ("train", train)):
        packed = FASHION / f"{name}-images-idx3-ubyte.gz"
        assert gzip.decompress(packed.read_bytes())[16:] == found.images.tobytes()


@has_fashion
def test_fashion_mnist_is_trained_on_and_attacked(here, capsys):
    model = ("--hidden", 32, "--epochs", 1, "--limit", 5000, "--batch-size", 32, "--output", "run")
    trained = record(capsys, "train", "--data", FASHION, *model)
    assert trained["clean_accuracy"] > 0.7
    attacked = record(capsys, "attack", "run/model.keras", "--data", FASHION)
    assert attacked["n"] == 10_000
    assert attacked["clean_accuracy"] > 0.7 > 0.3 > attacked["adversarial_accuracy"]
    assert attacked["linf_max"] == pytest.approx(0.1, abs=1e-6)


# --- the digits of scikit-learn ------------------------------------------------------------


@pytest.fixture(scope="module")
def sklearn_digits():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn comes with [peers]")
    return datasets.load_digits(), Path(datasets.__file__).parent / "data" / "digits.csv.gz"


@pytest.fixture
def tables(sklearn_digits, here):
    """The table that scikit-learn ships, unpacked; and one with the names that it gives."""
    digits, packed = sklearn_digits
    Path("shipped.csv").write_bytes(gzip.decompress(packed.read_bytes()))
    named = np.column_stack([digits.data, digits.target])
    header = ",".join([*digits.feature_names, "target"])
    np.savetxt("named.csv", named, fmt="%g", delimiter=",", header=header, comments="")
    return {"shipped.csv": ("--y-key", "65"), "named.csv": ()}


@pytest.mark.parametrize("name", ["shipped.csv", "named.csv"])
def test_the_digits_of_scikit_learn_are_a_table(name, tables, sklearn_digits):
    keys = {"y_key": "65"} if tables[name] else {}
    reading = Reading(data_range=PixelRange((0.0,), (16.0,)), **keys)
    found = load_images(name, "test", reading=reading)
    np.testing.assert_array_equal(found.pixels(), sklearn_digits[0].images / 16)
    np.testing.assert_array_equal(found.labels, sklearn_digits[0].target)


@pytest.mark.parametrize("name", ["shipped.csv", "named.csv"])
def test_the_digits_of_scikit_learn_are_trained_on_and_attacked(name, tables, capsys):
    data = ("--data", name, "--data-range", 0, 16, *tables[name])
    model = ("--hidden", 32, "--epochs", 5, "--batch-size", 32, "--output", "run")
    assert record(capsys, "train", *data, *model)["clean_accuracy"] > 0.8
    attacked = record(capsys, "attack", "run/model.keras", *data, "--epsilon", 0.2)
    assert attacked["n"] == 1797
    assert attacked["clean_accuracy"] > 0.8 > 0.3 > attacked["adversarial_accuracy"]
