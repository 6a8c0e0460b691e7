"""Saved sets: what is written is read back, whole, and matched with its clean images."""

import numpy as np
import pytest

from fgsm_cli import FgsmError, attack_named
from fgsm_cli.data import load_images
from fgsm_cli.examples import load_examples, made_from, save_examples


@pytest.fixture
def few(images):
    return images.take(np.arange(6))


def test_a_set_comes_back_with_all_it_is(few, images, tmp_path):
    path, attack = str(tmp_path / "adv.npz"), attack_named("bim", epsilon=8 / 255)
    x_adv = few.pixels() * np.float32(0.5)
    save_examples(path, x_adv, few, attack, "abc")
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


def test_a_set_from_elsewhere_brings_its_own_clean_images(few, images, tmp_path):
    path = str(tmp_path / "foreign.npz")
    np.savez(path, x_adv=few.pixels(), x_clean=few.pixels(), y=few.labels, epsilon=0.1)
    examples = load_examples(path, images)
    np.testing.assert_array_equal(examples.clean, few.pixels())
    assert (examples.epsilon, examples.attack) == (0.1, None)


def test_the_image_set_it_was_made_from_is_named(few, tmp_path):
    path = str(tmp_path / "adv.npz")
    save_examples(path, few.pixels(), few, attack_named(), "abc")
    assert made_from(path) == "mnist"
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
        save_examples(str(tmp_path / "file" / "adv.npz"), few.pixels(), few, attack_named(), "")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
