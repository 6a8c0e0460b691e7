"""Saved sets: what is written is read back, whole, and matched with its clean images."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fgsm_cli import FgsmError, attack_named
from fgsm_cli.data import ImageSet, load_images
from fgsm_cli.examples import folders, load_examples, made_from, room, save_examples
from fgsm_cli.ranges import GREY_LEVELS


@pytest.fixture
def few(images):
    return images.take(np.arange(6))


def test_a_set_comes_back_with_all_it_is(few, images, tmp_path):
    path, attack = str(tmp_path / "adv.npz"), attack_named("bim", epsilon=8 / 255)
    x_adv = few.pixels() * np.float32(0.5)
    save_examples(path, "npz", x_adv, few, attack, "abc")
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["x_adv"].dtype == np.float32
        assert arrays["indices"].tolist() == [0, 1, 2, 3, 4, 5]
        assert arrays["model_sha256"] == "abc"
        assert arrays["epsilon"] == 8 / 255
    examples = load_examples(path, load_images("mnist", "test"))
    np.testing.assert_array_equal(examples.images, x_adv)
    np.testing.assert_array_equal(examples.labels, few.labels)
    np.testing.assert_array_equal(examples.clean, few.images)
    assert examples.attack == attack
    assert len(load_examples(path, images, limit=2)) == 2


@pytest.mark.parametrize("form", ["npz", "npy", "png"])
@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 1), (784,), (1, 28, 28)])
def test_every_form_comes_back(form, shape, images, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "SHARD_BYTES", 28 * 28 * 4 * 4)  # several shards of four images
    chosen = np.array([17, 3, 42, 8, 99, 5])
    some = images.take(chosen)
    some = replace(some, images=some.images.reshape(-1, *shape))
    whole = replace(images, images=images.images.reshape(-1, *shape))
    attack = attack_named(epsilon=25 / 255)
    x_adv = np.clip(some.pixels() + np.float32(25 / 255), 0, 1)
    path = str(tmp_path / ("adv.npz" if form == "npz" else "adv"))
    for _ in range(2):  # a second time over the first
        save_examples(path, form, x_adv, some, attack, "abc")
    found = load_examples(path, whole)
    assert found.images.shape == x_adv.shape
    np.testing.assert_allclose(found.pixels(slice(None)), x_adv, atol=1e-6)
    np.testing.assert_array_equal(found.clean_pixels(slice(None)), some.pixels())
    np.testing.assert_array_equal(found.labels, some.labels)
    np.testing.assert_array_equal(found.pixels(slice(2, 5)), found.pixels(slice(None))[2:5])
    assert (found.attack, found.epsilon) == (attack, 25 / 255)
    assert made_from(path) == ("mnist", "test")
    assert len(load_examples(path, whole, limit=2)) == 2
    assert list(tmp_path.iterdir()) == [Path(path)], "nothing half-written beside it"


@pytest.mark.parametrize("shape", [(5, 4, 3), (3, 5, 4)])
def test_colour_comes_back_from_png(shape, tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (4, *shape)).astype(np.uint8)
    colour = ImageSet("made", "test", x, np.array([0, 1, 1, 0]), 2, GREY_LEVELS)
    save_examples(str(tmp_path / "adv"), "png", colour.pixels(), colour, attack_named(), "")
    found = load_examples(str(tmp_path / "adv"), colour)
    np.testing.assert_array_equal(found.images, x)


def test_a_folder_of_other_things_is_not_replaced(few, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FgsmError, match="it holds other things"):
        save_examples(str(tmp_path), "png", few.pixels(), few, attack_named(), "")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "it holds no manifest.json"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "is damaged"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "is damaged"),
        (lambda folder: (folder / "7/000000.png").unlink(), "it holds no 000000.png"),
        (lambda folder: (folder / "7/000000.png").write_bytes(b"x"), "is damaged"),
        (lambda folder: (folder / "y.npy").write_bytes(b"x"), "is damaged"),
    ],
)
def test_a_damaged_folder_is_told_in_one_sentence(spoil, sentence, few, images, tmp_path):
    folder = tmp_path / "adv"
    save_examples(str(folder), "png", few.pixels(), few, attack_named(), "")
    spoil(folder)
    with pytest.raises(FgsmError, match=sentence) as caught:
        load_examples(str(folder), images)
    assert "\n" not in str(caught.value)


def test_a_set_from_elsewhere_brings_its_own_clean_images(few, images, tmp_path):
    path = str(tmp_path / "foreign.npz")
    np.savez(path, x_adv=few.pixels(), x_clean=few.pixels(), y=few.labels, epsilon=0.1)
    examples = load_examples(path, images)
    np.testing.assert_array_equal(examples.clean, few.pixels())
    assert (examples.epsilon, examples.attack) == (0.1, None)


def test_the_image_set_it_was_made_from_is_named(few, tmp_path):
    path = str(tmp_path / "adv.npz")
    save_examples(path, "npz", few.pixels(), few, attack_named(), "abc")
    assert made_from(path) == ("mnist", "test")
    assert load_examples(path, None).clean is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"x_adv": np.zeros((2, 3))}, "must hold a label for each of 2 images. Received: shape"),
        ({"indices": np.array([0, 1, 2, 3, 4, 10_000])}, "the indices of .* do not fit"),
        ({"indices": np.arange(6) - 1}, "the indices of .* do not fit"),
        ({"indices": np.arange(6)[::-1]}, "are not those of mnist at its indices"),
        ({"indices": np.int64(3)}, "the indices of .* do not fit"),
        ({"indices": np.arange(5)}, "the indices of .* do not fit"),
        ({"x_clean": np.zeros((6, 2, 2))}, "must have shape"),
        ({"epsilon": np.zeros(3)}, "must be one finite number"),
        ({"epsilon": np.nan}, "must be one finite number"),
    ],
)
def test_a_set_that_does_not_fit_is_refused(changes, sentence, few, images, tmp_path):
    path = str(tmp_path / "wrong.npz")
    arrays = {"x_adv": few.pixels(), "y": few.labels, "indices": np.arange(6), "data": "mnist"}
    np.savez(path, **{**arrays, **changes})
    with pytest.raises(FgsmError, match=sentence):
        load_examples(path, images)


def test_a_set_that_cannot_be_written_leaves_nothing(few, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FgsmError, match="cannot make the folder"):
        save_examples(
            str(tmp_path / "file" / "adv.npz"), "npz", few.pixels(), few, attack_named(), ""
        )
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_room_on_disk_is_an_array_like_any_other(monkeypatch):
    monkeypatch.setitem(room.__globals__, "IN_MEMORY", 0)
    kept, plain = room((7, 2, 3), "adv.npz"), np.zeros((7, 2, 3), np.float32)
    assert (kept.shape, kept.dtype, len(kept), kept.ndim, kept.size) == ((7, 2, 3), "f4", 7, 3, 42)
    values = np.random.default_rng(0).random((7, 2, 3), dtype=np.float32)
    for indices in (np.array([6, 0, 3]), np.array([3, 5])):
        kept[indices] = plain[indices] = values[indices]
    np.testing.assert_array_equal(kept[0:7], plain)
    np.testing.assert_array_equal(kept[2:4], plain[2:4])
    path = Path(kept.spool.path)
    assert path.exists()
    del kept
    assert not path.exists(), "a temporary file goes with what it held"
