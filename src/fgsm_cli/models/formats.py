"""Model files: told apart by their first bytes, read, and a sentence for each that is none.

    found = read_file("model.keras", AS_IT_IS)     # Found(model, loss)

The name of a file says nothing: an .h5 that was renamed is an .h5. Keras, which goes by the
name, is given a link with the right one.
"""

import contextlib
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..backend import keras, tf, unremarked
from ..errors import FgsmError, in_one_line, listed
from .code import custom_objects
from .hdf5 import check_hdf5
from .inspection import Loading

EXPECTED = "expected a .keras file, an .h5 file, a SavedModel folder or package.module:function"
_BEGINNING = 512
_AS_KERAS_2 = (
    "was made by Keras 2, whose .keras files Keras 3 cannot read; expected the same model saved "
    "by Keras 2 as .h5 or as a SavedModel folder"
)


@dataclass(frozen=True)
class Found:
    """A model as it was read, and the name of the loss it was trained with, if that is known."""

    model: Any
    loss: str = ""


def read_file(path: str, loading: Loading) -> Found:
    """The Keras model in a file or a SavedModel folder. Raises FgsmError where there is none."""
    if Path(path).is_dir():
        return _read_saved_model(path, loading)
    with Path(path).open("rb") as file:
        beginning = file.read(_BEGINNING)
    if not beginning:
        raise FgsmError(f"the model {path} is empty: 0 bytes")
    for offset, magic, reader in _READERS:
        if beginning[offset:].startswith(magic):
            return reader(path, loading)
    for offset, magic, sentence in _STRANGERS:
        if beginning[offset:].lower().startswith(magic):
            raise FgsmError(f"{path} {sentence}; {EXPECTED}")
    kind = "a text file" if _is_text(beginning) else "of no known format"
    raise FgsmError(f"{path} is not a Keras model but {kind}; {EXPECTED}")


# What people name by mistake, by the bytes that it begins with (in lower case).
_STRANGERS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"version https://git-lfs", "is a pointer of Git LFS, not the model (see git lfs pull)"),
    (0, b"<", "is a web page or XML, not a model"),
    (4, b"tfl3", "is a TensorFlow Lite model, which has no gradient"),
    (0, b"\x93numpy", "is a NumPy array, not a model"),
    (0, b"\x1f\x8b", "is compressed by gzip; unpack it first"),
    (257, b"ustar", "is a tar archive; unpack it first"),
    (0, b"\x80", "is a pickle, which could run any code"),
)

# The same of archives, by the ending of a file in them.
_ARCHIVES = (
    ("data.pkl", "a PyTorch model"),
    (".npy", "an .npz of arrays"),
    ("", "an archive of other things"),
)


def _is_text(beginning: bytes) -> bool:
    try:
        text = beginning.decode("utf-8")
    except UnicodeDecodeError as error:  # a letter that is cut in two at the end is none
        return error.start > len(beginning) - 4 and len(beginning) == _BEGINNING
    return text.isprintable() or not re.search(r"[\x00-\x08\x0e-\x1f]", text)


def _read_keras(path: str, loading: Loading) -> Found:
    """A .keras file: an archive of config.json, metadata.json and the weights."""
    try:
        names, config, metadata = _unpacked(path)
    except Exception:  # a damaged archive fails in every way there is
        raise FgsmError(
            f"{path} is damaged: a .keras archive that cannot be read to its end"
        ) from None
    if not config:
        kinds = (kind for ending, kind in _ARCHIVES if any(one.endswith(ending) for one in names))
        raise FgsmError(
            f"{path} is not a Keras model but {next(kinds, 'an empty archive')}; {EXPECTED}"
        )
    is_old = str(metadata.get("keras_version", "")).startswith("2.")
    model = _loaded(path, ".keras", loading, _AS_KERAS_2 if is_old else "")
    return Found(model, _loss(config.get("compile_config")))


def _unpacked(path: str) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """The names in an archive, its config.json and metadata.json; both empty if it has none.

    All of it is read, as Keras does not look whether the weights have the sum they should.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "config.json" not in names:
            return names, {}, {}
        if archive.testzip():
            raise zipfile.BadZipFile
        config, metadata = (
            dict(json.loads(archive.read(name))) for name in ("config.json", "metadata.json")
        )
        return names, config, metadata


def _read_hdf5(path: str, loading: Loading) -> Found:
    """A legacy .h5 file of Keras 2 or 3: HDF5 with the architecture as an attribute."""
    import h5py

    check_hdf5(path)
    with h5py.File(path) as file:
        attributes, groups = dict(file.attrs), set(file)
    if "model_config" not in attributes:
        if "layer_names" in attributes or groups & {"layers", "_layer_checkpoint_dependencies"}:
            raise FgsmError(
                f"{path} holds weights only, without the network that they belong to; expected "
                "what model.save writes, or package.module:function that builds the network and "
                "loads them"
            )
        raise FgsmError(f"{path} is HDF5, but holds no Keras model; {EXPECTED}")
    try:
        config = json.loads(attributes.get("training_config", "{}"))
    except (ValueError, TypeError, RecursionError):
        config = {}
    return Found(_loaded(path, ".h5", loading), _loss(config))


def _read_json(path: str, _: Loading) -> Found:
    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and "class_name" in document and "config" in document:
        raise FgsmError(
            f"{path} holds a network's architecture only, without its weights; expected what "
            "model.save writes, or package.module:function that loads both"
        )
    raise FgsmError(f"{path} is not a Keras model but JSON; {EXPECTED}")


_READERS: tuple[tuple[int, bytes, Callable[[str, Loading], Found]], ...] = (
    (0, b"PK\x03\x04", _read_keras),
    (0, b"\x89HDF\r\n\x1a\n", _read_hdf5),
    (0, b"{", _read_json),
)


def _read_saved_model(path: str, loading: Loading) -> Found:
    """A SavedModel: the function of one of its signatures, as a Keras layer."""
    from tensorflow.core.protobuf import saved_model_pb2

    try:
        saved = saved_model_pb2.SavedModel.FromString((Path(path) / "saved_model.pb").read_bytes())
        signatures = dict(saved.meta_graphs[0].signature_def)
    except FileNotFoundError:
        raise FgsmError(f"the folder {path} holds no saved_model.pb; {EXPECTED}") from None
    except Exception:  # whatever the protocol buffer says of bytes it does not know
        raise FgsmError(f"{path} is damaged: its saved_model.pb cannot be read") from None
    endpoint = _endpoint(path, signatures, loading.endpoint)
    inputs = signatures[endpoint].inputs
    if len(inputs) != 1:
        raise FgsmError(
            f"the endpoint {endpoint} of {path} must have one input. "
            f"Received: {listed(sorted(inputs))}"
        )
    [entry] = inputs.values()
    if entry.tensor_shape.unknown_rank:
        raise FgsmError(f"the endpoint {endpoint} of {path} must state its input's shape")
    sizes = [size.size if size.size >= 0 else None for size in entry.tensor_shape.dim]
    with unremarked():
        try:
            layer = keras.layers.TFSMLayer(path, call_endpoint=endpoint)
            images = keras.Input(tuple(sizes[1:]), dtype=tf.as_dtype(entry.dtype).name)
            return Found(keras.Model(images, layer(images)))
        except Exception as error:
            raise FgsmError(f"{path} cannot be loaded as a SavedModel: {reason(error)}") from None


def _endpoint(path: str, signatures: Mapping[str, Any], wanted: str | None) -> str:
    names = sorted(name for name in signatures if not name.startswith("__"))
    known = listed(names)
    if wanted is not None:
        if wanted not in names:
            raise FgsmError(f"--endpoint must be one of {path}: {known}. Received: {wanted!r}")
        return wanted
    for name in ("serve", "serving_default", *names[: len(names) == 1]):
        if name in names:
            return name
    raise FgsmError(f"{path} has several endpoints; expected --endpoint. Received: {known}")


def _loaded(path: str, suffix: str, loading: Loading, otherwise: str = "") -> Any:
    """What Keras makes of a file. ``otherwise`` says more of a failure than its own reason."""
    custom = custom_objects(loading.imports)
    with unremarked(), _named(path, suffix) as file:
        try:
            return keras.models.load_model(
                file, custom_objects=custom, compile=False, safe_mode=not loading.allow_code
            )
        except Exception as error:  # Keras raises every kind
            if otherwise:
                raise FgsmError(f"{path} {otherwise}") from None
            raise FgsmError(f"{path} cannot be loaded as a Keras model: {reason(error)}") from None


@contextlib.contextmanager
def _named(path: str, suffix: str) -> Iterator[str]:
    """The file under a name that ends as Keras wants it."""
    if path.endswith(suffix):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / f"model{suffix}"
        try:
            link.symlink_to(Path(path).resolve())
        except OSError:  # a file system without links
            shutil.copyfile(path, link)
        yield str(link)


def _loss(config: Any) -> str:
    """The name of the loss that a model was compiled with; empty where there is not just one."""
    loss = config.get("loss") if isinstance(config, dict) else None
    if isinstance(loss, dict):
        loss = (
            loss.get("class_name") if loss.get("class_name") != "function" else loss.get("config")
        )
    return loss if isinstance(loss, str) else ""


def reason(error: Exception) -> str:
    """Why Keras refused, in one sentence of ours where its own runs to ten lines."""
    text = str(error)
    if "safe_mode" in text or "unsafe_deserialization" in text:
        what = found[1] if (found := re.search(r"`(\w+)`", text)) else "code"
        return (
            f"it holds code (a {what} layer), which would run with your rights; if you trust who "
            "made the file, expected --allow-code"
        )
    for pattern in (r"Could not locate (class|function) '([^']+)'", r"Unknown (layer): '([^']+)'"):
        if found := re.search(pattern, text):
            kind, name = found[1].replace("layer", "class"), found[2]
            return (
                f"it needs the {kind} {name}, which is not part of Keras; expected --import with "
                "the module that defines it"
            )
    if isinstance(error, zipfile.BadZipFile):
        return f"its archive is damaged: {error}"
    if causes := re.findall(r"Exception encountered: (.+)", text):  # after a whole config
        return str(causes[-1])[:200]
    return in_one_line(error)
