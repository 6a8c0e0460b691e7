"""Tables in text: columns by name or place, and cells that are wrong."""

import numpy as np
import pytest

from fgsm_cli import FgsmError
from fgsm_cli.data import Reading, load_images
from image_files import KAGGLE, digits, table

X, Y = digits()
SHUFFLED = np.random.default_rng(0).permutation(785)


@pytest.fixture
def written(tmp_path):
    def write(content: str | bytes) -> str:
        path = tmp_path / "a.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


ONE_BY_ONE = ("label", *(f"{row}x{column}" for row in range(1, 29) for column in range(1, 29)))
LAST = (*range(1, 785), 0)


@pytest.mark.parametrize(
    "content",
    [
        table(X, Y, names=KAGGLE),
        table(X, Y, names=KAGGLE, order=LAST),
        table(X, Y, names=KAGGLE, order=SHUFFLED),
        table(X, Y, names=ONE_BY_ONE, order=SHUFFLED),
        table(X, Y, names=("Class", *(f"pixel{n}" for n in range(1, 785)))),
        table(X, Y),
        "\ufeff" + table(X, Y, names=KAGGLE, end="\r\n"),
        table(X, Y, names=KAGGLE).replace(",", ";"),
        table(X, Y, names=KAGGLE).replace(",", "\t"),
        table(X, Y, names=KAGGLE).replace("label", '"label"').replace(",0,", ',"0",'),
        table(X, Y, names=KAGGLE, end="\n\n"),
    ],
    ids=["kaggle", "label last", "shuffled", "1x1", "from 1", "no header", "bom crlf", "semicolons",
         "tabs", "quoted", "blank lines"],
)  # fmt: skip
def test_every_layout_gives_the_same_images(content, written):
    found = load_images(written(content), "test")
    np.testing.assert_array_equal(found.images, X)
    assert found.images.dtype == np.uint8
    np.testing.assert_array_equal(found.labels, Y)
    assert found.notes == ()


@pytest.mark.parametrize("names", [KAGGLE[1:], None])
def test_a_test_file_has_no_labels(names, written):
    found = load_images(written(table(X, names=names)), "test")
    np.testing.assert_array_equal(found.images, X)
    assert found.labels is None


def test_floats_are_pixels_in_0_to_1(written):
    found = load_images(written(table(X / 255, Y, names=KAGGLE)), "test")
    np.testing.assert_allclose(found.pixels(), X / 255, atol=1e-5)
    np.testing.assert_array_equal(found.labels, Y)


def test_an_id_is_no_pixel(written):
    content = table(X, np.arange(20), names=("id", *KAGGLE[1:]))
    found = load_images(written(content), "test")
    np.testing.assert_array_equal(found.images, X)
    assert "the columns 'id' hold no pixels" in found.notes[0]


def test_labels_may_be_names(written):
    lines = table(X, names=None).splitlines()
    content = "\n".join(
        [",".join(["kind", *KAGGLE[1:]]), *(f"{['cat', 'dog'][y % 2]},{line}" for y, line in zip(Y, lines, strict=True))]
    )  # fmt: skip
    reading = Reading(y_key="kind", classes=("cat", "dog"))
    np.testing.assert_array_equal(
        load_images(written(content), "test", reading=reading).labels, Y % 2
    )
    with pytest.raises(FgsmError, match="are names: .* --classes. Received: cat, dog"):
        load_images(written(content), "test", reading=Reading(y_key="kind"))


def test_the_column_of_the_label_may_be_told_by_its_number(written):
    content = table(X, Y, order=LAST)
    found = load_images(written(content), "test")
    assert "--y-key N says which column the labels are" in found.notes[0]
    told = load_images(written(content), "test", reading=Reading(y_key="785"))
    np.testing.assert_array_equal(told.images, X)
    np.testing.assert_array_equal(told.labels, Y)


def test_pixels_that_are_no_square_stay_in_a_row(written):
    names = [f"p{n}" for n in range(12)]
    found = load_images(written(table(X.reshape(20, -1)[:, 100:112], names=names)), "test")
    assert found.images.shape == (20, 12)


def test_numbers_beyond_255_need_a_range(written):
    from fgsm_cli.ranges import PixelRange

    content = table(X.astype(int) * 257, Y)
    with pytest.raises(FgsmError, match="must be a grey level"):
        load_images(written(content), "test")
    told = Reading(data_range=PixelRange((0.0,), (65535.0,)))
    np.testing.assert_allclose(
        load_images(written(content), "test", reading=told).pixels(), X / 255, atol=1e-6
    )


def changed(row: int, column: int, cell: str) -> str:
    lines = [line.split(",") for line in table(X, Y, names=KAGGLE).splitlines()]
    lines[row + 1][column] = cell
    return "\n".join(",".join(line) for line in lines)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (changed(5, 400, ""), "column pixel399 in row 5 (line 7) of {path} must be a grey level of 0..255 (or in the range given by --data-range). Received: ''"),
        (changed(5, 400, "x"), "column pixel399 in row 5 (line 7) of {path} must be a grey level of 0..255 (or in the range given by --data-range). Received: 'x'"),
        (changed(5, 400, "300"), "column pixel399 in row 5 (line 7) of {path} must be a grey level of 0..255 (or in the range given by --data-range). Received: '300'"),
        (changed(0, 1, "-1"), "column pixel0 in row 0 (line 2) of {path} must be a grey level of 0..255"),
        (changed(5, 0, ""), "column label in row 5 (line 7) of {path} must be a number. Received: ''"),
        (changed(5, 0, "300000"), "the labels of {path} must be below 100000. Received: 300000 in row 5"),
        (changed(5, 400, "1,2"), "row 5 (line 7) of {path} must have 785 columns. Received: 786"),
        (table(X, Y, names=KAGGLE)[:-2000], "of {path} must have 785 columns. Received: "),
        (changed(5, 400, "9" * 30), "must be a grey level of 0..255"),
        (changed(5, 400, "nan"), "column pixel399 in row 5 (line 7) of {path} must be a grey level of 0..255 (or in the range given by --data-range). Received: 'nan'"),
        (table(X / 255, Y).replace(",0,", ",nan,", 1), "must be finite. Received: nan in row 0"),
        (table(X / 255, Y).replace(",0,", ",1e300,", 1), "must be finite. Received: inf in row 0"),
        (table(X / 255, Y).replace("7,", "7.00000001,", 1), "must be whole numbers. Received: 7.00000001 in row 0"),
        (",".join(KAGGLE) + "\n", "must hold rows of pixels. Received: a header and no rows"),
        (table(X, Y, names=("label", *["pixel1"] * 784)), "must be different pixels. Received: 'pixel1' and 'pixel1'"),
        (table(X, Y, names=("digits", *KAGGLE[1:])), "(--y-key names the label's). Received: 'digits'"),
        ("1,2,3,4,5,6\n", "its columns must be the pixels of a square image, with or without a label before them"),
        ("label,id\n1,2\n", "must have columns of pixels. Received: label, id"),
        ("<html>,</html>", "is not a table of numbers separated by commas. Received: a file that begins with b'<html>,</html>'"),
        ("no cells here", "is not a table of numbers"),
        (b"a,b\n\xff\xfe1,2", "is not a table of numbers"),
        (b"label,pixel1\n" + b"1,2\n" * 2000 + b"\xff,2\n", "is not text in UTF-8"),
        (b"a,\0\n", "is not a table of numbers"),
    ],
)  # fmt: skip
def test_a_table_that_is_wrong_is_told_by_row_and_column(content, sentence, written):
    path = written(content)
    with pytest.raises(FgsmError) as caught:
        load_images(path, "test")
    assert sentence.format(path=path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "key", "sentence"),
    [
        (table(X, Y, names=KAGGLE), "kind", "must have the column 'kind', which --y-key names. Received: label, pixel0,"),
        (table(X, Y), "786", "--y-key must be the number of the label's column, 1 to 785. Received: 786"),
        (table(X, Y), "label", "--y-key must be the number of the label's column, 1 to 785. Received: label"),
    ],
)  # fmt: skip
def test_a_column_that_is_not_there_is_told(content, key, sentence, written):
    with pytest.raises(FgsmError) as caught:
        load_images(written(content), "test", reading=Reading(y_key=key))
    assert sentence in str(caught.value)
