"""NumPy's files: names of arrays, pairs of files, and archives that mean harm."""

import io
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fgsm_cli import FgsmError
from fgsm_cli.data import Reading, StoredArray, load_images
from image_files import digits

X, Y = digits()


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("x_test", "y_test"),
        ("test_images", "test_labels"),
        ("X_test", "Y_test"),
        ("X_test", "y_test"),
        ("x", "y"),
        ("X", "y"),
        ("images", "labels"),
        ("data", "target"),
        ("image", "label"),
    ],
)
def test_the_usual_names_of_arrays(x, y, tmp_path):
    np.savez(tmp_path / "a.npz", **{x: X, y: Y})
    found = load_images(str(tmp_path / "a.npz"), "test")
    np.testing.assert_array_equal(found.images, X)
    np.testing.assert_array_equal(found.labels, Y)


def test_other_names_are_given(tmp_path):
    path = str(tmp_path / "a.npz")
    np.savez(path, digits=X, answers=Y, x=X[:3], y=Y[:3])
    found = load_images(path, "test", reading=Reading(x_key="digits", y_key="answers"))
    assert len(found) == 20
    with pytest.raises(
        FgsmError, match="must hold an array named wrong. Received: digits, answers"
    ):
        load_images(path, "test", reading=Reading(x_key="wrong"))
    with pytest.raises(
        FgsmError, match="must hold an array named wrong. Received: digits, answers"
    ):
        load_images(path, "test", reading=Reading(y_key="wrong"))


def test_a_set_without_labels_has_none(tmp_path):
    np.savez(tmp_path / "a.npz", x_test=X)
    found = load_images(str(tmp_path / "a.npz"), "test", limit=5)
    assert (found.labels, found.classes, len(found)) == (None, 0, 5)


def test_the_half_that_is_not_there_is_not_replaced_by_the_other(tmp_path):
    np.savez(tmp_path / "a.npz", x_test=X, y_test=Y)
    with pytest.raises(FgsmError, match="must hold an array named x_train or x"):
        load_images(str(tmp_path / "a.npz"), "train")


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        ("x.npy", "y.npy"),
        ("X_test.npy", "y_test.npy"),
        ("x_test.npy", "y_test.npy"),
        ("test_images.npy", "test_labels.npy"),
        ("mine.npy", "mine_labels.npy"),
        ("mine.npy", "labels.npy"),
        ("mine.npy", "y.npy"),
    ],
)
def test_labels_are_found_beside_the_images(images, labels, tmp_path):
    np.save(tmp_path / images, X)
    np.save(tmp_path / labels, Y)
    found = load_images(str(tmp_path / images), "test")
    np.testing.assert_array_equal(found.images[:], X)
    np.testing.assert_array_equal(found.labels, Y)
    assert found.files == (str(tmp_path / images), str(tmp_path / labels))


def test_labels_elsewhere_are_named_by_their_file(tmp_path):
    (tmp_path / "there").mkdir()
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "there" / "b.npy", Y)
    path = str(tmp_path / "a.npy")
    assert load_images(path, "test").labels is None
    for name in (str(tmp_path / "there" / "b.npy"), "there/b.npy"):
        found = load_images(path, "test", reading=Reading(y_key=name))
        np.testing.assert_array_equal(found.labels, Y)


def test_a_folder_of_arrays_holds_both_halves(tmp_path):
    for split, n in (("train", 9), ("test", 7)):
        np.save(tmp_path / f"x_{split}.npy", X[:n])
        np.save(tmp_path / f"y_{split}.npy", Y[:n])
    for split, n in (("train", 9), ("test", 7)):
        found = load_images(str(tmp_path), split)
        assert (len(found), found.labels.tolist()) == (n, Y[:n].tolist())


def test_the_digest_of_a_pair_changes_with_either_file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    first = load_images(str(tmp_path), "test").digest()
    assert first == load_images(str(tmp_path / "x.npy"), "test").digest()
    np.save(tmp_path / "y.npy", Y[::-1])
    second = load_images(str(tmp_path), "test").digest()
    np.save(tmp_path / "x.npy", X[::-1])
    assert len({first, second, load_images(str(tmp_path), "test").digest()}) == 3


def test_an_archive_has_the_digest_of_its_file(tmp_path):
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    import hashlib

    expected = hashlib.sha256((tmp_path / "a.npz").read_bytes()).hexdigest()
    assert load_images(str(tmp_path / "a.npz"), "test", limit=3).digest() == expected


# --- in their file --------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["uint8", ">f4", "float64", "bool"])
def test_a_stored_array_is_the_array(order, dtype, tmp_path):
    array = np.asarray((np.arange(120).reshape(10, 3, 4) % 2), dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    stored = load_images(str(tmp_path / "a.npy"), "test").images
    assert isinstance(stored, StoredArray)
    assert (stored.shape, stored.dtype, stored.ndim, stored.size, len(stored)) == (
        (10, 3, 4), array.dtype, 3, 120, 10,
    )  # fmt: skip
    few = np.array([7, 0, 7])
    for key in (slice(None), slice(2, 5), slice(None, None, -2), few, few % 2 == 0, 3, -1):
        if isinstance(key, np.ndarray) and key.dtype == bool:
            key = np.arange(10) % 3 == 0
        np.testing.assert_array_equal(stored[key], array[key])
    np.testing.assert_array_equal(np.asarray(stored), array)
    np.testing.assert_array_equal(stored.part(few)[1:], array[few][1:])
    np.testing.assert_array_equal(stored.part(slice(2, 9)).part(slice(1, 3))[:], array[3:5])
    turned = stored.swapaxes(1, 2)
    assert turned.shape == (10, 4, 3)
    np.testing.assert_array_equal(turned[few], array.swapaxes(1, 2)[few])


def test_memory_is_bounded_by_the_batch_and_not_by_the_file(tmp_path):
    path = tmp_path / "large.npy"
    with path.open("wb") as file:  # 400 MB of zeros, most of them a hole in the file
        head = {"descr": "|u1", "fortran_order": False, "shape": (500_000, 28, 28)}
        np.lib.format.write_array_header_1_0(file, head)
        file.truncate(file.tell() + 500_000 * 784)
    program = (
        "import resource, sys; from fgsm_cli.data import load_images\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); images = load_images(sys.argv[1], 'test')\n"
        "assert sum(images.pixels(i, i + 1000).shape[0] for i in range(0, 500_000, 1000)) == 500_000\n"
        "print((peak() - before) // 1024)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) < 150


def test_a_large_member_of_an_archive_stays_in_a_file_that_goes_with_it(tmp_path):
    pixels = np.zeros((90_000, 28, 28), np.uint8)
    pixels[:, 3, 3] = np.arange(90_000) % 251
    np.savez_compressed(tmp_path / "a.npz", x=pixels, y=np.arange(90_000) % 10)
    found = load_images(str(tmp_path / "a.npz"), "test")
    assert isinstance(found.images, StoredArray)
    np.testing.assert_array_equal(found.images[88_000:88_100], pixels[88_000:88_100])
    spooled = Path(found.images.path)
    assert spooled.exists()
    del found
    assert not spooled.exists()


# --- archives that are damaged, or mean harm ------------------------------------------------


def npy_bytes(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def headed(shape) -> bytes:
    """Bytes that claim to be an array of this shape, as many as that would take."""
    buffer = io.BytesIO()
    head = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, head)
    return buffer.getvalue() + bytes(abs(int(np.prod(shape, dtype=object))))


LYING = npy_bytes(X).replace(b"(20, 28, 28)", b"(90, 28, 28)")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (npy_bytes(X)[:-1], "is damaged: shape (20, 28, 28) of uint8 takes 15808 bytes. Received: 15807"),
        (npy_bytes(X) + b"0", "takes 15808 bytes. Received: 15809"),
        (LYING, "is damaged: shape (90, 28, 28) of uint8 takes 70688 bytes. Received: 15808"),
        (headed((3, -4, -2)), "is damaged: it tells of shape (3, -4, -2)"),
        (headed((True, 24)), "is damaged: it tells of shape (True, 24)"),
        (headed((0, 10**30)), "is damaged: it tells of shape (0, 1"),
        (headed((0, 2**62, 2**62)), "must hold images (n, ...). Received: shape (0, "),
        (npy_bytes(X)[:50], "is damaged"),
        (npy_bytes(X)[:8], "is damaged"),
        (npy_bytes(X).replace(b"|u1", b"|V1"), "must be real numbers. Received: |V1"),
        (npy_bytes(X).replace(b"'|u1'", b"'|O' "), "holds Python objects, which are not read"),
        (npy_bytes(np.zeros(3, [("a", "u1")])), "must be real numbers"),
        (npy_bytes(np.uint8(3)), "must hold images (n, ...). Received: shape ()"),
        (npy_bytes(X[:0]), "must hold images (n, ...). Received: shape (0, 28, 28)"),
        (b"PK", "is not a .npy array. Received: a NumPy archive"),
        (b"text", "is not a .npy array. Received: a file that begins with b'text'"),
        (b"", "is not a .npy array. Received: no content"),
    ],
)  # fmt: skip
def test_a_damaged_npy_is_told_in_one_sentence(content, sentence, tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(FgsmError) as caught:
        load_images(str(path), "test")
    assert sentence in str(caught.value)


def test_an_array_renamed_to_an_archive_is_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(npy_bytes(X))
    with pytest.raises(FgsmError, match="is not an .npz archive. Received: a NumPy array"):
        load_images(str(tmp_path / "a.npz"), "test")


@pytest.mark.parametrize(
    ("member", "sentence"),
    [
        (
            LYING,
            "x of .* is damaged: shape .90, 28, 28. of uint8 takes 70688 bytes. Received: 15808",
        ),
        (b"not an array", "is damaged: x is not an array"),
        (b"", "is damaged: x is not an array"),
    ],
)
def test_a_member_that_lies_of_its_size_is_refused(member, sentence, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", member)
    with pytest.raises(FgsmError, match=sentence):
        load_images(str(tmp_path / "a.npz"), "test")


def test_an_archive_that_unpacks_beyond_every_disk_is_refused_unread(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(17):
            archive.writestr(f"x{number}.npy", b"0")
    content = bytearray(path.read_bytes())
    place = content.find(b"PK\x01\x02")
    while place >= 0:  # the directory's word for how large a member is
        content[place + 24 : place + 28] = struct.pack("<I", 0xFFFFFFFE)
        place = content.find(b"PK\x01\x02", place + 1)
    path.write_bytes(content)
    with pytest.raises(FgsmError, match="must hold at most 64 GB of arrays. Received: 68 GB"):
        load_images(str(path), "test")
