"""Pictures: folders of classes, depths and colours, and files that are none."""

import numpy as np
import pytest
from PIL import Image

from fgsm_cli import FgsmError
from fgsm_cli.data import Reading, StoredArray, load_images
from fgsm_cli.ranges import GREY_LEVELS, PixelRange
from image_files import digits

X, Y = digits()


def colour(array):
    return np.stack([array] * 3, axis=-1)


def see_through(array, alpha=255):
    return np.dstack([colour(array), np.full(array.shape, alpha, np.uint8)])


def save(folder, forms=lambda array: array, names=str, ending="png", x=X, y=Y):
    """Digits as pictures, in a folder a label; the folder."""
    for number, (array, label) in enumerate(zip(x, y, strict=True)):
        (folder / names(label)).mkdir(exist_ok=True, parents=True)
        Image.fromarray(forms(array)).save(folder / names(label) / f"{number}.{ending}")
    return str(folder)


ORDER = np.argsort(Y, kind="stable")


@pytest.mark.parametrize(
    ("forms", "note"),
    [
        (lambda array: array, None),
        (colour, "are grey in colour files: read as one channel"),
        (see_through, "are grey in colour files: read as one channel"),
    ],
    ids=["grey", "rgb", "rgba"],
)
def test_grey_pictures_are_grey_whatever_they_are_kept_in(forms, note, tmp_path):
    found = load_images(save(tmp_path, forms), "test")
    np.testing.assert_array_equal(found.images, X[ORDER])
    np.testing.assert_array_equal(found.labels, Y[ORDER])
    assert found.range == GREY_LEVELS
    assert [note in one for one in found.notes] == [True] * (note is not None)


def test_sixteen_bits_have_their_own_range(tmp_path):
    found = load_images(save(tmp_path, lambda array: array.astype(np.uint16) * 257), "test")
    assert (found.images.dtype, found.range) == (np.uint16, PixelRange((0.0,), (65535.0,)))
    np.testing.assert_allclose(found.pixels(), X[ORDER] / 255, atol=1e-6)


def test_black_and_white_pictures_are_black_and_white(tmp_path):
    found = load_images(save(tmp_path, lambda array: array > 99), "test")
    np.testing.assert_array_equal(found.pixels(), (X > 99)[ORDER].astype(np.float32))


def test_colour_stays_colour(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 5, 6, 3), np.uint8)
    found = load_images(save(tmp_path, x=pixels, y=[0, 0, 1, 1]), "test")
    np.testing.assert_array_equal(found.images, pixels)


@pytest.mark.parametrize("ending", ["png", "bmp", "gif", "tiff", "pgm", "webp"])
def test_formats_that_lose_nothing(ending, tmp_path):
    if ending == "webp":
        for number in range(3):
            (tmp_path / "0").mkdir(exist_ok=True)
            Image.fromarray(X[number]).save(tmp_path / "0" / f"{number}.webp", lossless=True)
        found = load_images(str(tmp_path), "test")
    else:
        found = load_images(save(tmp_path, ending=ending, x=X[:3], y=[0] * 3), "test")
    np.testing.assert_array_equal(found.images, X[:3])


def test_jpeg_is_near(tmp_path):
    found = load_images(save(tmp_path, ending="jpg", x=X[:3], y=[0] * 3), "test")
    assert np.abs(found.images.astype(int) - X[:3]).mean() < 5


def test_what_is_transparent_is_laid_on_white(tmp_path):
    found = load_images(save(tmp_path, lambda array: see_through(array, 0), y=Y * 0), "test")
    assert (found.images == 255).all()
    assert "20 of the pictures of" in found.notes[0]
    assert "are transparent: laid on white" in found.notes[0]


def test_folders_named_by_numbers_are_the_labels(tmp_path):
    found = load_images(save(tmp_path, x=X[:5], y=[0, 1, 2, 10, 11]), "test")
    assert found.labels.tolist() == [0, 1, 2, 10, 11]
    assert (found.classes, found.class_names) == (12, ())


def test_folders_named_otherwise_are_classes_in_alphabetical_order_or_that_given(tmp_path):
    path = save(tmp_path, x=X[:3], y=["eel", "cat", "dog"])
    found = load_images(path, "test")
    assert (found.labels.tolist(), found.class_names) == ([0, 1, 2], ("cat", "dog", "eel"))
    np.testing.assert_array_equal(found.images, X[[1, 2, 0]])
    found = load_images(path, "test", reading=Reading(classes=("eel", "ape", "dog", "cat")))
    assert (found.labels.tolist(), found.classes) == ([0, 2, 3], 4)
    np.testing.assert_array_equal(found.images, X[[0, 2, 1]])
    with pytest.raises(FgsmError, match="must be among the classes cat, dog. Received: eel"):
        load_images(path, "test", reading=Reading(classes=("cat", "dog")))


def test_classes_are_those_of_both_halves(tmp_path):
    save(tmp_path / "train", x=X[:3], y=["eel", "cat", "dog"])
    save(tmp_path / "test", x=X[3:5], y=["eel", "cat"])
    assert load_images(str(tmp_path), "train").labels.tolist() == [0, 1, 2]
    assert load_images(str(tmp_path), "test").labels.tolist() == [0, 2]


def test_a_half_that_is_not_there_is_not_replaced_by_the_other(tmp_path):
    save(tmp_path / "training")
    with pytest.raises(
        FgsmError, match="must have a folder named test or testing. Received: training"
    ):
        load_images(str(tmp_path), "test")
    assert len(load_images(str(tmp_path), "train")) == 20


def test_pictures_in_no_folder_have_no_labels_and_come_in_natural_order(tmp_path):
    for number in range(12):
        Image.fromarray(X[number]).save(tmp_path / f"{number}.png")
    found = load_images(str(tmp_path), "test")
    assert found.labels is None
    np.testing.assert_array_equal(found.images, X[:12])


def test_one_picture_is_a_set_of_one(tmp_path):
    path = str(tmp_path / "a.png")
    Image.fromarray(X[3]).save(path)
    found = load_images(path, "test")
    assert (found.labels, found.files) == (None, (path,))
    np.testing.assert_array_equal(found.images, X[3:4])
    assert load_images(path, "test", reading=Reading(label=7)).labels.tolist() == [7]


def test_junk_is_left_out_and_told_of(tmp_path):
    path = save(tmp_path)
    for name in (".DS_Store", "0/Thumbs.db", "readme.txt", "1/._1.png"):
        (tmp_path / name).write_bytes(b"\0" * 20)
    (tmp_path / "3" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 20)
    (tmp_path / "__MACOSX" / "0").mkdir(parents=True)
    (tmp_path / "__MACOSX" / "0" / "a.png").write_bytes(b"junk")
    (tmp_path / "empty").mkdir()
    Image.fromarray(X[0]).save(tmp_path / "stray.png")
    found = load_images(path, "test")
    np.testing.assert_array_equal(found.images, X[ORDER])
    assert found.notes[0].endswith(
        "were left out: .DS_Store, 0/Thumbs.db, 1/._1.png, 3/broken.png, readme.txt, ..."
    )


def test_a_picture_that_ends_early_is_refused_by_name(tmp_path):
    path = save(tmp_path)
    damaged = tmp_path / "7" / "0.png"
    damaged.write_bytes(damaged.read_bytes()[:-60])
    with pytest.raises(FgsmError, match=r"the picture .*7/0.png is damaged"):
        load_images(path, "test")


def test_sizes_and_depths_that_differ_are_refused_by_two_names(tmp_path):
    path = save(tmp_path)
    Image.fromarray(X[0][:20]).save(tmp_path / "9" / "99.png")
    with pytest.raises(
        FgsmError,
        match=r"of one size. Received: .*0/3.png with 28 by 28 pixels and .*9/99.png with 28 by 20 pixels",
    ):
        load_images(path, "test")
    Image.fromarray(X[0].astype(np.uint16)).save(tmp_path / "9" / "99.png")
    with pytest.raises(
        FgsmError,
        match=r"of one depth. Received: .*0/3.png with 8 bits a pixel and .*9/99.png with 16",
    ):
        load_images(path, "test")


def test_white_borders_are_hinted_at(tmp_path):
    found = load_images(save(tmp_path, lambda array: 255 - array), "test")
    assert "borders" in found.notes[0]
    assert "inverted" in found.notes[0]


def test_a_picture_too_large_to_be_one_is_refused(tmp_path):
    path = tmp_path / "a.png"
    Image.new("1", (20_000, 20_000)).save(path)
    with pytest.raises(FgsmError, match=r"a.png is too large"):
        load_images(str(path), "test")


@pytest.mark.parametrize("names", [(), ("notes.txt",)])
def test_a_folder_without_pictures_says_what_it_holds(names, tmp_path):
    for name in names:
        (tmp_path / name).write_text("nothing")
    expected = f"Received: {', '.join(names) or 'none'}"
    with pytest.raises(FgsmError, match=f"must hold pictures, arrays .* {expected}"):
        load_images(str(tmp_path), "test")


def test_a_folder_of_nothing_but_false_pictures_is_refused(tmp_path):
    (tmp_path / "a.png").write_text("not a picture")
    with pytest.raises(FgsmError, match=r"must hold pictures. Received: a.png, which is none"):
        load_images(str(tmp_path), "test")


def test_labels_that_are_one_number_in_two_folders_are_refused(tmp_path):
    with pytest.raises(FgsmError, match="must be different labels. Received: 01, 1"):
        load_images(save(tmp_path, x=X[:2], y=["1", "01"]), "test")


def test_the_digest_changes_with_any_picture_and_any_name(tmp_path):
    path = save(tmp_path)
    first = load_images(path, "test").digest()
    assert first == load_images(path, "test", limit=3).digest()
    (tmp_path / "7" / "0.png").rename(tmp_path / "7" / "zero.png")
    second = load_images(path, "test").digest()
    Image.fromarray(255 - X[0]).save(tmp_path / "7" / "zero.png")
    assert len({first, second, load_images(path, "test").digest()}) == 3


def test_many_pictures_stay_in_a_file(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (23, 1000, 1000, 3), np.uint8)
    found = load_images(save(tmp_path, ending="bmp", x=pixels, y=[0] * 23), "test")
    assert isinstance(found.images, StoredArray)
    np.testing.assert_array_equal(found.images[20:], pixels[20:])
