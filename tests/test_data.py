"""Image sets: the whole MNIST, .npz files, and a sentence for each that is wrong."""

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fgsm_cli
from fgsm_cli import FgsmError
from fgsm_cli.data import MNIST_SHA256, load_images
from fgsm_cli.ranges import GREY_LEVELS, UNIT


def archive(path: Path, **arrays) -> str:
    np.savez(path, **arrays)
    return str(path)


def test_the_embedded_mnist_is_the_published_one():
    asset = Path(fgsm_cli.__file__).with_name("assets") / "mnist.npz"
    assert hashlib.sha256(asset.read_bytes()).hexdigest() == MNIST_SHA256
    train, test = load_images("mnist", "train"), load_images("mnist", "test")
    assert train.images.shape == (60_000, 28, 28)
    assert test.images.shape == (10_000, 28, 28)
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(train.labels).tolist() == counts
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(test.labels).tolist() == counts
    assert train.images.mean() == pytest.approx(33.3184, abs=1e-4)


def test_mnist_is_attributed():
    notice = (Path(__file__).parent.parent / "NOTICE").read_text()
    for word in ("Yann LeCun", "Corinna Cortes", "CC BY-SA 3.0"):
        assert word in notice


def test_the_test_split_leaves_the_training_split_compressed(monkeypatch):
    opened = []
    original = zipfile.ZipFile.open

    def spy(self, name, *arguments, **keywords):
        opened.append(name if isinstance(name, str) else name.filename)
        return original(self, name, *arguments, **keywords)

    monkeypatch.setattr(zipfile.ZipFile, "open", spy)
    load_images("mnist", "test")
    assert {name.removesuffix(".npy") for name in opened} == {"x_test", "y_test"}


def test_integers_are_grey_levels_and_floats_are_pixels():
    np.testing.assert_array_equal(
        GREY_LEVELS.unit(np.array([0, 51, 255], np.uint8)), np.array([0, 0.2, 1], np.float32)
    )
    np.testing.assert_array_equal(
        UNIT.unit(np.array([0, 0.2, 1])), np.array([0, 0.2, 1], np.float32)
    )


@pytest.mark.parametrize("size", [1, 7, 13, 50, 64])
def test_batches_cover_the_set_in_order(size):
    images = load_images("mnist", "test", limit=50)
    batches = list(images.batches(size))
    np.testing.assert_array_equal(np.concatenate([x for x, _ in batches]), images.pixels())
    np.testing.assert_array_equal(np.concatenate([y for _, y in batches]), images.labels)
    assert all(x.dtype == np.float32 and y.dtype == np.int64 for x, y in batches)


@pytest.mark.parametrize("names", [("x_test", "y_test"), ("x", "y")])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64, ">f4", np.int64])
def test_an_npz_in_the_usual_names_and_types(names, dtype, tmp_path):
    pixels = (np.arange(12).reshape(3, 2, 2) % 2).astype(dtype)
    path = archive(
        tmp_path / "a.npz", **dict(zip(names, (pixels, np.array([0, 1, 2])), strict=True))
    )
    images = load_images(path, "test", limit=2)
    assert len(images) == 2
    assert images.classes == 3
    np.testing.assert_allclose(images.pixels(), images.range.unit(pixels[:2]))


def test_labels_in_a_column_are_labels(tmp_path):
    path = archive(tmp_path / "a.npz", x=np.zeros((3, 2, 2), np.uint8), y=np.array([[0], [2], [1]]))
    assert load_images(path, "test").labels.tolist() == [0, 2, 1]


def test_rounding_beyond_the_range_is_brought_back(tmp_path):
    path = archive(tmp_path / "a.npz", x=np.full((1, 2, 2), 1 + 1e-7), y=np.array([0]))
    assert load_images(path, "test").pixels().max() == 1


@pytest.mark.parametrize("limit", [0, -5])
def test_a_limit_is_at_least_one(limit):
    with pytest.raises(FgsmError, match="limit must be at least 1"):
        load_images("mnist", "test", limit)


X, Y = np.zeros((3, 2, 2), np.uint8), np.array([0, 1, 2])


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"a": X}, "must hold an array named x_test or x (or another, named by --x-key). Received: a"),
        ({}, "must hold an array named x_test or x (or another, named by --x-key). Received: none"),
        ({"x": X[:0], "y": Y[:0]}, "must hold images (n, ...). Received: shape (0, 2, 2)"),
        ({"x": np.uint8(3), "y": Y}, "must hold images (n, ...). Received: shape ()"),
        ({"x": X, "y": Y[:2]}, "must hold a label for each of 3 images. Received: shape (2,)"),
        ({"x": X, "y": np.zeros((3, 2, 1))}, "must hold a label for each of 3 images. Received: shape (3, 2, 1)"),
        ({"x": X, "y": Y / 2}, "must be whole numbers. Received: 0.5 in row 1"),
        ({"x": X, "y": [0, np.nan, 1]}, "must be whole numbers. Received: nan in row 1"),
        ({"x": X, "y": [0, 1, np.inf]}, "must be below 100000. Received: inf in row 2"),
        ({"x": X, "y": Y - 1}, "must be at least 0. Received: -1 in row 0"),
        ({"x": X, "y": np.array([0, 1, 2**63], np.uint64)}, "must be below 100000. Received: 9223372036854775808 in row 2"),
        ({"x": X, "y": np.array([[0, 1], [1, 1], [1, 0]])}, "must be one-hot, a single 1 in a row of 0. Received: 1 1 in row 1"),
        ({"x": X, "y": np.array([[0.1, 0.9]] * 3)}, "must be one-hot, a single 1 in a row of 0. Received: 0.1 0.9 in row 0"),
        ({"x": X, "y": np.array(["cat", "dog", "cat"])}, "are names: give all of them in the order of the model's outputs by --classes. Received: cat, dog"),
        ({"x": X, "y": Y + 1j}, "must be integers, one-hot rows or names. Received: complex128"),
        ({"x": X + 1j, "y": Y}, "must be real numbers. Received: complex128"),
        ({"x": X.astype(str), "y": Y}, "must be real numbers. Received: <U"),
        ({"x": X + 255.0, "y": Y}, "(float64) must lie in 0..1 (--data-range 0 255 reads them on another scale). Received: 255..255"),
        ({"x": X + 16.0, "y": Y}, "(--data-range 0 16 reads them on another scale). Received: 16..16"),
        ({"x": X - 0.5, "y": Y}, "must lie in 0..1 (--data-range -1 1 reads them on another scale). Received: -0.5..-0.5"),
        ({"x": X - 3.0, "y": Y}, "must lie in 0..1 (--data-range LOW HIGH reads them on another scale). Received: -3..-3"),
        ({"x": X + np.nan, "y": Y}, "must be finite. Received: nan in row 0"),
        ({"x": X + np.array([[[0.0]], [[0.0]], [[np.inf]]]), "y": Y}, "must be finite. Received: inf in row 2"),
        ({"x": X.astype(int) + 256, "y": Y}, "(int64) must lie in 0..255 (--data-range 0 65535 reads them on another scale). Received: 256..256"),
        ({"x": X.astype(int) - 1, "y": Y}, "(int64) must lie in 0..255 (--data-range -1 1 reads them on another scale). Received: -1..-1"),
        ({"x": X.astype(object), "y": Y}, "holds Python objects, which are not read"),
    ],
)  # fmt: skip
def test_a_set_that_is_wrong_is_told_in_one_sentence(arrays, sentence, tmp_path):
    path = archive(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(FgsmError) as caught:
        load_images(path, "test")
    assert sentence in str(caught.value)
    assert path in str(caught.value)


def test_a_pickle_is_never_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path(tmp_path, "ran").touch, ())

    path = archive(tmp_path / "trap.npz", x=np.array([Trap()] * 3, object), y=Y)
    (tmp_path / "ran").unlink(missing_ok=True)
    with pytest.raises(FgsmError, match="holds Python objects, which are not read"):
        load_images(path, "test")
    assert not (tmp_path / "ran").exists()


def valid_bytes() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, x=np.random.default_rng(0).integers(0, 255, (9, 8, 8), np.uint8), y=np.arange(9)
    )
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not an .npz archive"),
        (b"<html>404</html>", "is not an .npz archive"),
        (b"PK\x03\x04", "is damaged"),
        (valid_bytes()[:-200], "is damaged"),
        (
            valid_bytes()[:200] + bytes([valid_bytes()[200] ^ 0x40]) + valid_bytes()[201:],
            "is damaged",
        ),
    ],
    ids=["empty", "html", "stub", "truncated", "bitflip"],
)
def test_a_damaged_archive_is_called_damaged(content, sentence, tmp_path):
    path = tmp_path / "damaged.npz"
    path.write_bytes(content)
    with pytest.raises(FgsmError, match=sentence):
        load_images(str(path), "test")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FgsmError, match=r"no image set at .*absent.npz"):
        load_images(str(tmp_path / "absent.npz"), "test")


@given(st.binary(max_size=300), st.booleans(), st.integers(0, 2000))
def test_any_bytes_are_a_set_or_one_sentence(tail, magic, cut):
    import tempfile

    whole = valid_bytes()
    content = (whole[: cut % len(whole)] if magic else b"") + tail
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.npz")
        path.write_bytes(content)
        try:
            load_images(str(path), "test")
        except FgsmError as error:
            assert len(str(error).splitlines()) == 1
