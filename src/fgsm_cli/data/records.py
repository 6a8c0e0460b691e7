"""TensorFlow's own files: TFRecords of tf.train.Example, and what tf.data.Dataset.save wrote.

    load_images("mnist-test.tfrecord", "test")
    load_images("saved_dataset/", "test")

They are read once, a record at a time; what is large goes to a temporary file.
"""

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError, listed
from .idx import is_gzipped, unpacked_head
from .pictures import decode_bytes, is_picture
from .reading import Found, Reading, Split
from .stored import Growing

IMAGES = ("image", "image_raw", "image/encoded", "images", "x", "img", "pixels")
LABELS = ("label", "labels", "image/class/label", "y", "class", "target")
SIDES = (
    ("height", "image/height"),
    ("width", "image/width"),
    ("depth", "channels", "image/channels"),
)
_SAVED = ("dataset_spec.pb", "snapshot.metadata")


def is_records(head: bytes) -> bool:
    """Whether a file that begins so holds records: a length, its checksum, then an Example."""
    if len(head) < 13:
        return False
    (length,) = struct.unpack("<Q", head[:8])
    return 2 <= length < 2**31 and head[12] == 0x0A


def holds_saved_dataset(folder: Path) -> bool:
    """Whether tf.data.Dataset.save wrote this folder."""
    return all((folder / name).is_file() for name in _SAVED)


def holds_records(folder: Path) -> bool:
    """Whether a folder holds TFRecord files."""
    return bool(_record_files(folder))


def read_records(source: str, split: Split, reading: Reading) -> Found:  # noqa: ARG001 - as all readers
    """Images and labels of one TFRecord file."""
    return _examples([source], source, reading)


def read_record_folder(source: str, split: Split, reading: Reading) -> Found:
    """Images and labels of all TFRecord files of a split: those named so, or else of neither."""
    files = _record_files(Path(source))
    chosen = [path for path in files if split in path.name.lower()]
    other = "test" if split == "train" else "train"
    chosen = chosen or [path for path in files if other not in path.name.lower()]
    if not chosen:
        raise FgsmError(
            f"{source} must hold TFRecord files for {split}. "
            f"Received: {listed((path.name for path in files), 5)}"
        )
    return _examples([str(path) for path in chosen], source, reading)


def _record_files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and "tfrecord" in path.name.lower() and is_records(unpacked_head(path))
    ]


def _examples(files: list[str], source: str, reading: Reading) -> Found:
    from ..backend import tf

    images, labels = Growing(source), []
    with _told(source):
        for file in files:
            packed = "GZIP" if is_gzipped(Path(file)) else ""
            for record in tf.data.TFRecordDataset(file, packed).as_numpy_iterator():
                where = f"record {images.n} of {source}"
                features = tf.train.Example.FromString(record).features.feature
                images.grow(_image(features, where, reading)[None])
                labels.append(_label(features, where, reading))
    return _found(images, labels, source, tuple(files))


def _found(images: Growing, labels: list[Any], source: str, files: tuple[str, ...]) -> Found:
    found = images.done()
    if found is None:
        raise FgsmError(f"{source} must hold records. Received: none")
    known = [label for label in labels if label is not None]
    if known and len(known) < len(labels):
        raise FgsmError(
            f"every record of {source} must have a label, or none. "
            f"Received: none in record {next(i for i, one in enumerate(labels) if one is None)}"
        )
    return Found(found, np.array(known) if known else None, files=files)


@contextmanager
def _told(source: str) -> Iterator[None]:
    """What TensorFlow has to say of a damaged file, in one sentence."""
    from ..backend import tf

    try:
        yield
    except FgsmError:
        raise
    except (tf.errors.OpError, ValueError, TypeError, OSError, zlib.error) as error:
        reason = re.sub(r"{{.*?}}|\[Op:.*", "", str(getattr(error, "message", error)))
        reason = reason.strip().partition("\n")[0]
        raise FgsmError(f"{source} is damaged: {reason[:200]}") from None
    except Exception as error:
        if type(error).__name__ != "DecodeError":  # protobuf's, whose module is its own affair
            raise
        raise FgsmError(f"{source} must hold records of tf.train.Example") from None


def _feature(features: Any, names: tuple[str, ...]) -> Any:
    """The values of the first of these features that there is, in whatever list they are."""
    for name in names:
        if name in features:
            kind = features[name].WhichOneof("kind")
            values = getattr(features[name], kind).value if kind else ()
            if len(values):
                return values
    return None


def _image(features: Any, where: str, reading: Reading) -> NDArray[Any]:
    names = (reading.x_key,) if reading.x_key else IMAGES
    values = _feature(features, names)
    if values is None:
        raise FgsmError(
            f"{where} must have a feature named {' or '.join(names[:2])} (--x-key names another). "
            f"Received: {listed(sorted(features))}"
        )
    if not isinstance(values[0], bytes):
        array = np.array(values)
        return _shaped(
            array.astype(np.float32 if array.dtype.kind == "f" else np.int64), features, where
        )
    if len(values) > 1:
        raise FgsmError(f"{where} must hold one image. Received: {len(values)}")
    if is_picture(values[0]):
        return decode_bytes(values[0], where)
    return _shaped(np.frombuffer(values[0], np.uint8), features, where)


def _shaped(pixels: NDArray[Any], features: Any, where: str) -> NDArray[Any]:
    """Pixels in a row as an image, by the features that tell its size, or as a square."""
    sides = [_feature(features, names) for names in SIDES]
    shape = tuple(int(side[0]) for side in sides if side is not None)
    if sides[0] is None or sides[1] is None:
        side = isqrt(len(pixels))
        shape = (side, side) if side * side == len(pixels) else (len(pixels),)
    size = int(np.prod(shape, dtype=object))
    if pixels.dtype == np.uint8 and len(pixels) == 4 * size and size:
        pixels = pixels.view("<f4")
    if len(pixels) != size or not size:
        raise FgsmError(
            f"the image in {where} must be a picture, or raw pixels of shape {shape}. "
            f"Received: {len(pixels)} values"
        )
    return pixels.reshape(shape)


def _label(features: Any, where: str, reading: Reading) -> Any:
    values = _feature(features, (reading.y_key,) if reading.y_key else LABELS)
    if values is None:
        if reading.y_key:
            raise FgsmError(
                f"{where} must have a feature named {reading.y_key}, which --y-key names. "
                f"Received: {listed(sorted(features))}"
            )
        return None
    if isinstance(values[0], bytes):
        return values[0].decode("utf-8", "replace")
    return values[0] if len(values) == 1 else list(values)


def read_saved_dataset(source: str, split: Split, reading: Reading) -> Found:  # noqa: ARG001
    """Images and labels of a saved dataset: of (image, label) or named so, batched or not."""
    from ..backend import tf

    images, labels = Growing(source), []
    with _told(source):
        dataset = tf.data.Dataset.load(source)
        x, y = _parts(dataset.element_spec, source, reading)
        if _is_batched(x, y):
            dataset = dataset.unbatch()
        for element in dataset.as_numpy_iterator():
            image, label = _parts(element, source, reading)
            images.grow(np.asarray(image)[None])
            labels.append(label.decode("utf-8", "replace") if isinstance(label, bytes) else label)
    files = tuple(sorted(str(path) for path in Path(source).rglob("*") if path.is_file()))
    return _found(images, labels, source, files)


def _parts(element: Any, source: str, reading: Reading) -> tuple[Any, Any]:
    """The image and the label of an element, or of what tells of elements; None for no label."""
    if isinstance(element, Mapping):
        x, y = (
            next((name for name in ((key,) if key else usual) if name in element), None)
            for key, usual in ((reading.x_key, IMAGES), (reading.y_key, LABELS))
        )
        if x is not None and (y is not None or not reading.y_key):
            return element[x], None if y is None else element[y]
    elif isinstance(element, tuple) and len(element) == 2:
        return element
    elif hasattr(element, "shape"):
        return element, None
    raise FgsmError(
        f"{source} must hold elements (image, label), or with these names (or those of --x-key "
        f"and --y-key). Received: {' '.join(str(element).split())[:100]}"
    )


def _is_batched(x: Any, y: Any) -> bool:
    """Whether elements are batches: images and labels with a first axis in common."""
    if x.shape.rank is None:
        raise ValueError("images of unknown shape")
    if y is None:
        return bool(x.shape.rank == 4 or (x.shape.rank and x.shape[0] is None))
    return bool(y.shape.rank and x.shape.rank and x.shape[0] == y.shape[0])
