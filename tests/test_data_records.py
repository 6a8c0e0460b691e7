"""TFRecords and saved datasets: the features people use, and records that are none."""

import io

import numpy as np
import pytest
from PIL import Image

from fgsm_cli import FgsmError
from fgsm_cli.backend import tf
from fgsm_cli.data import Reading, load_images
from image_files import digits

X, Y = digits()


def feature(value):
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    values = np.ravel(value)
    if values.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def write(path, rows, packed="") -> str:
    with tf.io.TFRecordWriter(str(path), packed) as writer:
        for row in rows:
            features = tf.train.Features(feature={key: feature(one) for key, one in row.items()})
            writer.write(tf.train.Example(features=features).SerializeToString())
    return str(path)


def png(array) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "png")
    return buffer.getvalue()


@pytest.mark.parametrize(
    "row",
    [
        lambda x, y: {"image": png(x), "label": y},
        lambda x, y: {"image/encoded": png(x), "image/class/label": y},
        lambda x, y: {"image_raw": x.tobytes(), "label": y},
        lambda x, y: {"image_raw": x.tobytes(), "label": y, "height": 28, "width": 28},
        lambda x, y: {"x": x, "y": y},
        lambda x, y: {"image": x.tobytes(), "label": str(y).encode()},
    ],
    ids=["png", "imagenet", "raw", "raw with sizes", "numbers", "label in text"],
)
@pytest.mark.parametrize("packed", ["", "GZIP"])
def test_examples_in_the_usual_features(row, packed, tmp_path):
    rows = [row(x, y) for x, y in zip(X, Y, strict=True)]
    found = load_images(write(tmp_path / "a.tfrecord", rows, packed), "test")
    np.testing.assert_array_equal(found.images, X)
    np.testing.assert_array_equal(found.labels, Y)


def test_floats_in_records(tmp_path):
    unit = (X / 255).astype(np.float32)
    rows = [
        {"x": x, "y": y, "height": 28, "width": 28, "depth": 1}
        for x, y in zip(unit, Y, strict=True)
    ]
    found = load_images(write(tmp_path / "a", rows), "test")
    np.testing.assert_array_equal(found.images, unit[..., None])
    rows = [{"image_raw": x.tobytes(), "height": 28, "width": 28} for x in unit]
    np.testing.assert_array_equal(load_images(write(tmp_path / "b", rows), "test").images, unit)


def test_other_features_are_named(tmp_path):
    path = write(tmp_path / "a", [{"digit": X[0], "kind": 3}])
    found = load_images(path, "test", reading=Reading(x_key="digit", y_key="kind"))
    assert (found.images.shape, found.labels.tolist()) == ((1, 28, 28), [3])
    with pytest.raises(
        FgsmError, match="must have a feature named image or image_raw .*Received: digit, kind"
    ):
        load_images(path, "test")
    with pytest.raises(
        FgsmError,
        match="must have a feature named wrong, which --y-key names. Received: digit, kind",
    ):
        load_images(path, "test", reading=Reading(x_key="digit", y_key="wrong"))


def test_a_folder_holds_the_shards_of_both_halves(tmp_path):
    for split, start in (("train", 0), ("test", 10)):
        for shard in range(2):
            rows = [
                {"image": X[i].tobytes(), "label": Y[i]}
                for i in range(start + shard * 3, start + shard * 3 + 3)
            ]
            write(tmp_path / f"mnist-{split}.tfrecord-0000{shard}-of-00002", rows)
    np.testing.assert_array_equal(load_images(str(tmp_path), "test").images, X[10:16])
    np.testing.assert_array_equal(load_images(str(tmp_path), "train").images, X[:6])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content[:-5], "is damaged"),
        (lambda content: content[:300] + bytes([content[300] ^ 1]) + content[301:], "is damaged: corrupted record"),
        (lambda content: content[:8] + b"0000" + content[12:], "is damaged: corrupted record at 0"),
    ],
)  # fmt: skip
def test_damaged_records_are_told(change, sentence, tmp_path):
    rows = [{"image": x.tobytes(), "label": y} for x, y in zip(X, Y, strict=True)]
    path = tmp_path / "a.tfrecord"
    write(path, rows)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FgsmError, match=sentence):
        load_images(str(path), "test")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"image": X[0].tobytes()[:-1], "height": 28, "width": 28}], r"must be a picture, or raw pixels of shape \(28, 28\). Received: 783 values"),
        ([{"image": X[0].tobytes()}, {"image": X[0, :14].tobytes()}], r"must be of one shape and type. Received: \(28, 28\) of uint8, and \(392,\) of uint8 in row 1"),
        ([{"image": X[0].tobytes(), "label": 1}, {"image": X[0].tobytes()}], "must have a label, or none. Received: none in record 1"),
        ([{"image": b"\x89PNG and nothing more"}], "record 0 of .* is damaged: it is no picture"),
    ],
)  # fmt: skip
def test_records_that_do_not_fit_are_told(rows, sentence, tmp_path):
    with pytest.raises(FgsmError, match=sentence):
        load_images(write(tmp_path / "a.tfrecord", rows), "test")


def test_records_of_something_else_are_told(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        writer.write(b"\x0a\xff\xff\xff")
    with pytest.raises(FgsmError, match=r"must hold records of tf.train.Example"):
        load_images(str(tmp_path / "a"), "test")


@pytest.mark.parametrize(
    "dataset",
    [
        lambda: tf.data.Dataset.from_tensor_slices((X, Y)),
        lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(7),
        lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(5, drop_remainder=True),
        lambda: tf.data.Dataset.from_tensor_slices({"image": X, "label": Y}),
        lambda: tf.data.Dataset.from_tensor_slices((X, np.eye(10)[Y])),
    ],
    ids=["pairs", "batches", "equal batches", "names", "one-hot"],
)
def test_a_saved_dataset_is_read_as_it_was(dataset, tmp_path):
    dataset().save(str(tmp_path / "saved"))
    found = load_images(str(tmp_path / "saved"), "test")
    np.testing.assert_array_equal(found.images, X)
    np.testing.assert_array_equal(found.labels, Y)


def test_a_saved_dataset_without_labels_has_none(tmp_path):
    tf.data.Dataset.from_tensor_slices(X).save(str(tmp_path / "saved"))
    found = load_images(str(tmp_path / "saved"), "test")
    np.testing.assert_array_equal(found.images, X)
    assert found.labels is None


def test_a_saved_dataset_of_something_else_is_told(tmp_path):
    tf.data.Dataset.from_tensor_slices((X, Y, Y)).save(str(tmp_path / "saved"))
    with pytest.raises(FgsmError, match=r"must hold elements \(image, label\)"):
        load_images(str(tmp_path / "saved"), "test")


def test_a_damaged_saved_dataset_is_told(tmp_path):
    tf.data.Dataset.from_tensor_slices((X, Y)).save(str(tmp_path / "saved"))
    for path in (tmp_path / "saved").rglob("*.snapshot"):
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FgsmError, match="is damaged"):
        load_images(str(tmp_path / "saved"), "test")
    (tmp_path / "saved" / "dataset_spec.pb").write_bytes(b"\xff\xff")
    with pytest.raises(FgsmError, match="is damaged|must hold records"):
        load_images(str(tmp_path / "saved"), "test")
