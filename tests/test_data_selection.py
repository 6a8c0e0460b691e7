"""What is read of a set: scale, labels in every form, which images, the right way up."""

import numpy as np
import pytest

from fgsm_cli import FgsmError
from fgsm_cli.config import AttackOptions, TrainOptions, build
from fgsm_cli.data import Reading, load_images
from fgsm_cli.data.labels import check_labels
from fgsm_cli.ranges import GREY_LEVELS, UNIT, PixelRange
from image_files import digits

X, Y = digits()
UP_AND_DOWN = PixelRange((-1.0,), (1.0,))


@pytest.fixture
def saved(tmp_path):
    def save(x=X, y=Y) -> str:
        np.savez(tmp_path / "a.npz", **({"x": x} if y is None else {"x": x, "y": y}))
        return str(tmp_path / "a.npz")

    return save


# --- scale ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int64", ">i4"])
def test_integers_are_grey_levels(dtype, saved):
    found = load_images(saved(X.astype(dtype)), "test")
    assert (found.range, found.notes) == (GREY_LEVELS, ())
    np.testing.assert_array_equal(found.pixels(), X.astype(np.float32) / 255)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4"])
def test_floats_lie_in_0_to_1(dtype, saved):
    found = load_images(saved((X / 255).astype(dtype)), "test")
    assert (found.range, found.notes) == (UNIT, ())
    np.testing.assert_allclose(found.pixels(), X / 255, atol=1e-3)


def test_truth_values_are_black_and_white(saved):
    found = load_images(saved(X > 99), "test")
    assert found.range == UNIT
    np.testing.assert_array_equal(found.pixels(), (X > 99).astype(np.float32))


@pytest.mark.parametrize(("top", "white"), [(1, "1"), (16, "16"), (7, "7")])
def test_integers_that_hardly_differ_from_black_are_asked_about(top, white, saved):
    path = saved((X > 99).astype(np.uint8) * top)
    found = load_images(path, "test")
    assert found.range == GREY_LEVELS
    assert f"--data-range 0 {white} reads {white} as white" in found.notes[0]
    told = load_images(path, "test", reading=Reading(data_range=PixelRange((0.0,), (float(top),))))
    assert told.notes == ()
    np.testing.assert_array_equal(told.pixels(), (X > 99).astype(np.float32))


def test_a_set_that_is_all_black_is_said_to_be(saved):
    assert "is 0" in load_images(saved(X * 0), "test").notes[0]


def test_the_scale_does_not_depend_on_how_many_images_are_used(saved):
    pixels = X.astype(float)
    pixels[0] = 0  # would pass for 0..1 alone
    with pytest.raises(FgsmError, match="--data-range 0 255"):
        load_images(saved(pixels), "test", limit=1)


def test_a_range_that_is_given_beats_every_guess(saved):
    ends = PixelRange((0.0,), (255.0,))
    found = load_images(saved(X.astype(float)), "test", reading=Reading(data_range=ends))
    assert found.range == ends
    np.testing.assert_allclose(found.pixels(), X / 255, rtol=1e-6)
    with pytest.raises(FgsmError, match=r"must lie in --data-range -1..1. Received: 0..255"):
        load_images(saved(X.astype(float)), "test", reading=Reading(data_range=UP_AND_DOWN))


def test_ends_that_were_rounded_when_typed_are_close_enough(saved):
    pixels = (X / 255 - 0.1307) / 0.3081
    ends = PixelRange((-0.4242,), (2.8215,))
    found = load_images(saved(pixels), "test", reading=Reading(data_range=ends))
    np.testing.assert_allclose(found.pixels(), X / 255, atol=1e-4)
    assert 0 <= found.pixels().min() <= found.pixels().max() <= 1


def test_floats_beyond_0_to_1_are_taken_to_be_on_the_models_scale_if_they_fit(saved):
    pixels = X / 255 * 2 - 1
    found = load_images(saved(pixels), "test", reading=Reading(input_range=UP_AND_DOWN))
    assert found.range == UP_AND_DOWN
    assert "taken to be on the model's own scale, -1..1" in found.notes[0]
    np.testing.assert_allclose(found.pixels(), X / 255, atol=1e-6)
    with pytest.raises(FgsmError, match="must lie in 0..1"):
        load_images(saved(pixels * 3), "test", reading=Reading(input_range=UP_AND_DOWN))


def test_the_models_scale_may_differ_from_channel_to_channel(saved):
    colour = np.stack([X, X, X], axis=-1) / 255
    imagenet = PixelRange.standardised((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    scaled = (colour - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    found = load_images(saved(scaled), "test", reading=Reading(input_range=imagenet))
    np.testing.assert_allclose(found.pixels(), colour, atol=1e-6)
    with pytest.raises(FgsmError, match="must lie in 0..1"):
        load_images(saved(scaled[..., :2]), "test", reading=Reading(input_range=imagenet))


def test_floats_in_0_to_1_and_integers_do_not_take_the_models_scale(saved):
    reading = Reading(input_range=UP_AND_DOWN)
    assert load_images(saved(X / 255), "test", reading=reading).range == UNIT
    assert load_images(saved(), "test", reading=reading).range == GREY_LEVELS


# --- labels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        *[Y.astype(dtype) for dtype in ("uint8", "int8", ">i8", "uint64", "float16", "float64")],
        Y[:, None],
        np.eye(10)[Y],
        np.eye(10, dtype=np.uint8)[Y],
        np.eye(10, dtype=bool)[Y],
        Y.astype(str),
        Y.astype("S"),
    ],
    ids=lambda labels: f"{labels.dtype} {labels.shape}",
)
def test_labels_of_every_form_are_the_same_labels(labels, saved):
    np.testing.assert_array_equal(load_images(saved(X, labels), "test").labels, Y)


def test_truth_values_are_two_classes(saved):
    assert load_images(saved(X, Y > 4), "test").labels.tolist() == (Y > 4).astype(int).tolist()


def test_names_are_numbered_in_the_order_given(saved):
    names = np.array(["dog", "cat"])[Y % 2]
    found = load_images(saved(X, names), "test", reading=Reading(classes=("dog", "cat", "eel")))
    np.testing.assert_array_equal(found.labels, Y % 2)
    assert (found.classes, found.class_names) == (3, ("dog", "cat", "eel"))
    with pytest.raises(FgsmError, match="must be among the classes eel, cat. Received: dog in row"):
        load_images(saved(X, names), "test", reading=Reading(classes=("eel", "cat")))


def test_a_label_beyond_the_names_is_refused():
    with pytest.raises(FgsmError, match="must be below 2, the classes. Received: 2 in row 1"):
        check_labels(np.array([0, 2]), 2, "a.npz", ("cat", "dog"))


def test_one_label_is_given_to_images_without_any(saved):
    found = load_images(saved(y=None), "test", reading=Reading(label=3))
    assert found.labels.tolist() == [3] * 20
    with pytest.raises(FgsmError, match="--label is for images without labels"):
        load_images(saved(), "test", reading=Reading(label=3))


# --- which images ---------------------------------------------------------------------------


def test_offset_and_limit_cut_a_stretch_out(saved):
    found = load_images(saved(), "test", 5, Reading(offset=7))
    np.testing.assert_array_equal(found.images, X[7:12])
    np.testing.assert_array_equal(found.labels, Y[7:12])
    assert found.indices.tolist() == [7, 8, 9, 10, 11]
    assert found.take(np.array([2, 0])).indices.tolist() == [9, 7]
    with pytest.raises(FgsmError, match="--offset must be below 20, .* Received: 20"):
        load_images(saved(), "test", reading=Reading(offset=20))


def test_balanced_takes_the_first_of_each_class_in_order():
    found = load_images("mnist", "test", 30, Reading(balanced=True))
    assert np.bincount(found.labels).tolist() == [3] * 10
    whole = load_images("mnist", "test")
    np.testing.assert_array_equal(found.indices, np.sort(found.indices))
    for digit in range(10):
        first = np.flatnonzero(whole.labels == digit)[:3]
        np.testing.assert_array_equal(found.indices[found.labels == digit], first)
    later = load_images("mnist", "test", 30, Reading(balanced=True, offset=5000))
    assert later.indices.min() >= 5000


def test_balanced_without_a_limit_takes_as_many_as_the_rarest_class_has():
    found = load_images("mnist", "test", reading=Reading(balanced=True))
    assert np.bincount(found.labels).tolist() == [892] * 10


@pytest.mark.parametrize("limit", [9, 8930])
def test_a_limit_that_cannot_be_shared_out_is_refused(limit):
    with pytest.raises(FgsmError, match="--limit must be from 10 to 8920. Received"):
        load_images("mnist", "test", limit, Reading(balanced=True))


def test_balanced_needs_labels(saved):
    with pytest.raises(FgsmError, match="--balanced needs labels"):
        load_images(saved(y=None), "test", reading=Reading(balanced=True))


def test_a_beginning_of_one_class_is_told_of(saved):
    order = np.argsort(Y, kind="stable")
    path = saved(X[order], Y[order])
    assert "are all of class 0; --balanced" in load_images(path, "test", 2).notes[0]
    assert load_images(path, "test").notes == ()
    assert load_images(path, "test", 10, Reading(balanced=True)).notes == ()


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((5, 2, 3), (1, 2)), ((5, 2, 3, 1), (1, 2)), ((5, 2, 3, 3), (1, 2)), ((5, 3, 4, 5), (2, 3))],
)
def test_transpose_exchanges_height_and_width(shape, axes, saved):
    x = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    found = load_images(saved(x, None), "test", reading=Reading(transpose=True))
    np.testing.assert_array_equal(found.images, x.swapaxes(*axes))


def test_transpose_needs_two_axes(saved):
    with pytest.raises(FgsmError, match=r"needs images with height and width. .* \(20, 784\)"):
        load_images(saved(X.reshape(20, 784)), "test", reading=Reading(transpose=True))


# --- options --------------------------------------------------------------------------------


def test_the_options_say_what_to_read():
    assert build(AttackOptions, {}).reading() == Reading()
    given = {
        "offset": "3", "balanced": "true", "x_key": "a", "y_key": "b", "transpose": "true",
        "data_range": "-1,1", "classes": "cat, dog", "label": "1",
    }  # fmt: skip
    expected = Reading(3, True, "a", "b", True, UP_AND_DOWN, None, ("cat", "dog"), 1)
    assert build(TrainOptions, given).reading() == expected
    assert build(AttackOptions, {"classes": ["cat", "dog"]}).classes == ("cat", "dog")


def test_training_knows_no_half_and_judging_does():
    assert build(AttackOptions, {"split": "train"}).split == "train"
    with pytest.raises(FgsmError, match="unknown option 'split'"):
        build(TrainOptions, {"split": "train"})


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("offset", "-1", "offset must be a whole number, at least 0"),
        ("label", "-1", "label must be a whole number, at least 0"),
        (
            "classes",
            "cat,cat",
            "classes must be text without control characters (or a list of such)",
        ),
        ("split", "all", "split must be one of train, test. Received: 'all'"),
    ],
)
def test_an_option_that_does_not_fit_is_told(key, value, sentence):
    with pytest.raises(FgsmError) as caught:
        build(AttackOptions, {key: value})
    assert sentence in str(caught.value)


@pytest.mark.parametrize("key", ["x_key", "y_key"])
def test_a_name_that_nothing_in_the_set_can_have_is_refused(key, tmp_path):
    from PIL import Image

    Image.fromarray(X[0]).save(tmp_path / "a.png")
    with pytest.raises(FgsmError, match=f"--{key[0]}-key does not fit .*a.png: a picture"):
        load_images(str(tmp_path / "a.png"), "test", reading=Reading(**{key: "a"}))


def test_only_some_labels_are_kept_and_counted_anew():
    whole = load_images("mnist", "test")
    images = load_images("mnist", "test", 40, Reading(only=(7, 3), offset=5))
    assert (len(images), images.classes) == (40, 2)
    kept = np.flatnonzero(np.isin(whole.labels, (3, 7)))[5:45]
    np.testing.assert_array_equal(images.indices, kept)
    np.testing.assert_array_equal(images.images, whole.images[kept])
    np.testing.assert_array_equal(images.labels == 0, whole.labels[kept] == 7)


@pytest.mark.parametrize(
    ("only", "sentence"), [((3, 12), "--only must name labels of mnist. Received: 12")]
)
def test_a_label_that_none_has_is_refused(only, sentence):
    with pytest.raises(FgsmError, match=sentence):
        load_images("mnist", "test", reading=Reading(only=only))
