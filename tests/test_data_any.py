"""Whatever bytes a file holds: an image set, or one sentence, and nothing else."""

import gzip
import io
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from fgsm_cli import FgsmError
from fgsm_cli.data import Reading, load_images
from fgsm_cli.data.labels import check_labels
from image_files import KAGGLE, digits, idx_bytes, table

X, Y = digits(3)


def buffered(write) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


WHOLE = {
    "a.npz": buffered(lambda file: np.savez(file, x=X, y=Y)),
    "b.npz": buffered(lambda file: np.savez_compressed(file, x=X / 255, y=Y)),
    "a.npy": buffered(lambda file: np.save(file, X)),
    "a-idx3-ubyte": idx_bytes(X),
    "a-idx3-ubyte.gz": gzip.compress(idx_bytes(X), mtime=0),
    "a.csv": table(X[:, 10:14, 10:14], Y, names=KAGGLE[:17]).encode(),
    "b.csv": table(X[:, 10:14, 10:14] / 255, Y).encode(),
    "a.png": buffered(lambda file: Image.fromarray(X[0]).save(file, "png")),
    "b.png": buffered(lambda file: Image.fromarray(np.stack([X[0]] * 3, -1)).convert("P").save(file, "png")),
    "a.jpg": buffered(lambda file: Image.fromarray(X[0]).save(file, "jpeg")),
    "a.gif": buffered(lambda file: Image.fromarray(X[0]).save(file, "gif")),
    "a.tiff": buffered(lambda file: Image.fromarray(X[0]).save(file, "tiff")),
    "a": b"",
}  # fmt: skip

EDITS = st.lists(
    st.tuples(st.integers(0, 30_000), st.integers(0, 20), st.binary(max_size=8)), max_size=4
)


def edited(content: bytes, edits) -> bytes:
    """Stretches of the content replaced."""
    for place, length, new in edits:
        place %= len(content) + 1
        content = content[:place] + new + content[place + length :]
    return content


def judged(name: str, content: bytes, reading: Reading) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        for source in (str(path), folder):
            try:
                found = load_images(source, "test", reading=reading)
                pixels = found.pixels()
                assert pixels.dtype == np.float32
                assert 0 <= pixels.min() <= pixels.max() <= 1
                assert found.labels is None or found.labels.shape == (len(found),)
                assert len(found.digest()) == 64
            except FgsmError as error:
                assert len(str(error).splitlines()) == 1


READINGS = st.builds(Reading, transpose=st.booleans(), y_key=st.none() | st.just("label"))


@pytest.mark.parametrize("name", list(WHOLE))
@settings(max_examples=60)
@given(edits=EDITS, reading=READINGS)
def test_a_file_with_any_bytes_changed_is_a_set_or_one_sentence(name, edits, reading):
    judged(name, edited(WHOLE[name], edits), reading)


@pytest.mark.parametrize("name", list(WHOLE))
@settings(max_examples=30)
@given(content=st.binary(max_size=300))
def test_any_bytes_are_a_set_or_one_sentence(name, content):
    judged(name, content, Reading())


@pytest.mark.parametrize("name", ["a.csv", "b.csv", "a"])
@settings(max_examples=60)
@given(content=st.text(st.sampled_from('0123456789.,;\t\n-+e "label,pixel'), max_size=80))
def test_any_text_is_a_set_or_one_sentence(name, content):
    judged(name, content.encode(), Reading())


DTYPES = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.unsigned_integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?"),
    arrays.complex_number_dtypes(),
    arrays.unicode_string_dtypes(max_len=3),
    arrays.byte_string_dtypes(max_len=3),
    arrays.datetime64_dtypes(),
)
ANY = arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))


@settings(max_examples=200)
@given(x=ANY, y=st.none() | ANY)
def test_any_arrays_are_a_set_or_one_sentence(x, y):
    named = {"x": x} if y is None else {"x": x, "y": y}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged("a.npz", buffered(lambda file: np.savez(file, **named)), Reading())


@settings(max_examples=300)
@given(labels=ANY, n=st.integers(0, 4), classes=st.sampled_from([(), ("cat", "dog"), ("0",)]))
def test_labels_of_any_form_are_numbers_or_one_sentence(labels, n, classes):
    try:
        found = check_labels(labels, n, "a.npz", classes)
        assert (found.dtype, found.shape) == (np.int64, (n,))
        assert n == 0 or found.min() >= 0
    except FgsmError as error:
        assert len(str(error).splitlines()) == 1
