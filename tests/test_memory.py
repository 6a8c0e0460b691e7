"""A set that stays in its file is never read whole: what is asked for at once is bounded."""

import numpy as np
import pytest

from fgsm_cli.cli import main
from fgsm_cli.data import StoredArray, load_images

BLOCK = 16 * 2**20
N = 10_000  # images of float32: twice a block


@pytest.fixture
def reads(monkeypatch):
    """How many bytes each look into a stored array copied out of its file."""
    sizes = []
    read = StoredArray._read

    def counted(self, rows):
        found = read(self, rows)
        sizes.append(found.nbytes)
        return found

    monkeypatch.setattr(StoredArray, "_read", counted)
    return sizes


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A folder with x.npy, 31 MB, and y.npy."""
    folder = tmp_path_factory.mktemp("large")
    images = load_images("mnist", "test")
    np.save(folder / "x.npy", images.pixels())
    np.save(folder / "y.npy", images.labels)
    return folder


def test_no_attack_reads_a_stored_set_whole(reads, large, model_file, tmp_path, capsys):
    model, data, saved = str(model_file), str(large / "x.npy"), str(tmp_path / "adv")
    for command in (
        ["attack", model, "--data", data, "--save", saved, "--save-format", "npy"],
        ["eval", model, "--data", data, "--examples", saved],
        ["eval", model, "--data", data, "--attack", "bim", "--steps", "1", "--worst"],
        ["curve", model, "--data", data, "--points", "3"],
        ["attack", model, "--data", data, "--balanced", "--offset", "5"],
    ):
        reads.clear()
        assert main(command) == 0, capsys.readouterr().err
        assert sum(reads) >= 4 * 784 * N
        assert max(reads) <= BLOCK, command


def test_a_few_images_of_many_cost_a_few():
    rows = StoredArray("absent", (10**12, 28, 28), np.dtype("uint8"), 0)
    assert rows.part(np.array([10**11, -1])).rows.tolist() == [10**11, 10**12 - 1]
    assert rows.part(slice(5, None)).part(np.array([0, 2])).rows.tolist() == [5, 7]
    with pytest.raises(IndexError):
        rows.part(np.array([10**12]))


@pytest.mark.parametrize("form", ["npy", "npz"])
def test_a_saved_set_is_the_same_from_memory_and_from_shards(form, tmp_path, monkeypatch):
    from fgsm_cli.examples import folders, formats

    monkeypatch.setattr(folders, "SHARD_BYTES", 4 * 784 * 1500)
    x = np.random.default_rng(0).random((4000, 28, 28), np.float32)
    about = formats.About(np.zeros(4000, np.int64), np.arange(4000), 0.1, None, "mnist", "test", "")
    path = str(tmp_path / f"adv.{form}")
    formats.FORMATS[form](path, x, None, about)
    with formats.read(path) as (found, _, _):
        np.testing.assert_array_equal(found[0:4000], x)
        np.testing.assert_array_equal(found[1400:3100], x[1400:3100])
    if form == "npy":
        assert [np.load(one).shape[0] for one in sorted((tmp_path / "adv.npy").glob("x_adv*"))] == [1500, 1500, 1000]  # fmt: skip
