"""IDX files: every usual name, gzipped or not, and what is wrong with those that are damaged."""

import gzip

import numpy as np
import pytest

from fgsm_cli import FgsmError
from fgsm_cli.data import Reading, StoredArray, load_images
from image_files import digits, idx_bytes, idx_pair, write_idx


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
        ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
        ("t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte"),
        ("kmnist-test-images.idx3-ubyte.gz", "kmnist-test-labels.idx1-ubyte.gz"),
        ("test-images.bin", "test-labels.bin"),
    ],
)
@pytest.mark.parametrize("whole_folder", [True, False])
def test_the_usual_names_in_a_folder_or_one_by_one(images, labels, whole_folder, tmp_path):
    path = idx_pair(tmp_path, images, labels)
    found = load_images(str(tmp_path) if whole_folder else path, "test")
    x, y = digits()
    np.testing.assert_array_equal(found.images[:], x)
    np.testing.assert_array_equal(found.labels, y)
    assert found.files == (path, str(tmp_path / labels))
    assert found.notes == ()


def test_each_half_of_a_folder_is_found_by_its_name(tmp_path):
    idx_pair(tmp_path, n=7)
    idx_pair(tmp_path, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", n=9)
    assert len(load_images(str(tmp_path), "test")) == 7
    assert len(load_images(str(tmp_path), "train")) == 9


def test_a_half_that_is_not_there_is_not_replaced_by_the_other(tmp_path):
    idx_pair(tmp_path)
    with pytest.raises(FgsmError, match="must hold one file such as train-images-idx3-ubyte"):
        load_images(str(tmp_path), "train")


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64"])
def test_an_idx_holds_numbers_of_any_type(dtype, tmp_path):
    pixels = (np.arange(12).reshape(3, 2, 2) % 2).astype(dtype)
    found = load_images(write_idx(tmp_path / "images.idx3", pixels), "test")
    np.testing.assert_array_equal(found.images[:], pixels)
    assert found.labels is None


def test_emnist_is_hinted_at_and_put_upright(tmp_path):
    x, y = digits()
    path = write_idx(tmp_path / "emnist-digits-test-images-idx3-ubyte.gz", x.swapaxes(1, 2))
    write_idx(tmp_path / "emnist-digits-test-labels-idx1-ubyte.gz", y.astype(np.uint8))
    lying = load_images(path, "test")
    assert "--transpose puts them upright" in lying.notes[0]
    upright = load_images(path, "test", reading=Reading(transpose=True))
    assert upright.notes == ()
    np.testing.assert_array_equal(upright.images, x)


def test_labels_of_another_name_are_named(tmp_path):
    path = idx_pair(tmp_path, "images.idx3-ubyte", "answers.idx1-ubyte")
    assert load_images(path, "test").labels is None
    named = load_images(path, "test", reading=Reading(y_key="answers.idx1-ubyte"))
    np.testing.assert_array_equal(named.labels, digits()[1])
    with pytest.raises(FgsmError, match="no labels at absent, which --y-key names"):
        load_images(path, "test", reading=Reading(y_key="absent"))


X = digits()[0]
WHOLE = idx_bytes(X)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a-idx3-ubyte", WHOLE[:-1], "is damaged: its header tells of shape (20, 28, 28), 15680 bytes. Received: 15679"),
        ("a-idx3-ubyte", WHOLE + b"0", "15680 bytes. Received: more"),
        ("a-idx3-ubyte", WHOLE[:10], "is damaged: it ends within its header"),
        ("a-idx3-ubyte", b"\0\0\x08", "is not IDX: it must begin with 00 00, a type and a number of axes. Received: 00 00 08"),
        ("a-idx3-ubyte", b"", "is not IDX: it must begin with 00 00, a type and a number of axes. Received: nothing"),
        ("a-idx3-ubyte", b"\1" + WHOLE[1:], "is not IDX: it must begin with 00 00, a type and a number of axes. Received: 01 00 08 03"),
        ("a-idx3-ubyte", b"\0\0\x07" + WHOLE[3:], "Received: 00 00 07 03"),
        ("a-idx3-ubyte.gz", WHOLE, "is named .gz but is not gzipped"),
        ("a-idx3-ubyte.gz", gzip.compress(WHOLE)[:-40], "is damaged: Compressed file ended before the end-of-stream marker"),
        ("a-idx3-ubyte.gz", gzip.compress(WHOLE[:-1]), "15680 bytes. Received: 15679"),
        ("a-idx3-ubyte.gz", gzip.compress(WHOLE + b"0"), "15680 bytes. Received: more"),
        ("a-idx3-ubyte.gz", gzip.compress(WHOLE)[:-8] + b"\0" * 8, "is damaged: CRC check failed"),
        ("a-idx3-ubyte.gz", gzip.compress(b"nothing of the kind", mtime=0), "is not IDX"),
        ("a-idx1-ubyte", WHOLE, "must have as many axes as its name says, 1. Received: 3"),
        ("a-ubyte", idx_bytes(np.arange(9, dtype=np.uint8)), "must hold images, an array of 2 or 3 or 4 axes. Received: 1 axes"),
        ("a-ubyte", idx_bytes(X[:0]), "must hold images (n, ...). Received: shape (0, 28, 28)"),
        ("a-ubyte", b"\0\0\x08\x03" + b"\xff" * 12, "must hold at most 64 GB of arrays. Received:"),
        ("a-ubyte", b"\0\0\x08\x04" + b"\0" * 4 + b"\xff" * 12, "must hold images (n, ...). Received: shape (0, 4294967295, 4294967295, 4294967295)"),
    ],
)  # fmt: skip
def test_a_damaged_idx_is_told_in_one_sentence(name, content, sentence, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FgsmError) as caught:
        load_images(str(path), "test")
    assert sentence in str(caught.value)
    assert name in str(caught.value)


def test_labels_that_are_images_are_refused(tmp_path):
    path = write_idx(tmp_path / "t10k-images.bin", X)
    write_idx(tmp_path / "t10k-labels.bin", X)
    with pytest.raises(FgsmError, match=r"t10k-labels.bin must hold labels, an array of 1 axes"):
        load_images(path, "test")


@pytest.mark.parametrize("name", ["large-images.idx3-ubyte", "large-images.idx3-ubyte.gz"])
def test_a_large_idx_stays_in_a_file(name, tmp_path):
    pixels = np.zeros((90_000, 28, 28), np.uint8)
    pixels[:, 0, 0] = np.arange(90_000) % 256
    images = load_images(write_idx(tmp_path / name, pixels, level=1), "test", limit=80_000).images
    assert isinstance(images, StoredArray)
    assert images.shape == (80_000, 28, 28)
    np.testing.assert_array_equal(images[70_000:70_010], pixels[70_000:70_010])
    np.testing.assert_array_equal(images[np.array([79_999, 3])], pixels[[79_999, 3]])
