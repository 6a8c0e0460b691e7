"""Model files: told by their content, and a sentence for each that is none."""

import base64
import json
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import FgsmError, load_classifier
from fgsm_cli.backend import keras
from fgsm_cli.cli import main
from fgsm_cli.files import sha256
from fgsm_cli.models import Loading
from fgsm_cli.models import hdf5 as probing
from linear import by_algebra, fitted, images, network, stack, under_attack, weights

layers = keras.layers


def saved(model, path, name="model.keras"):
    """A model saved under its format's own ending, then given the name."""
    suffix = ".h5" if name.startswith("h5") or name.endswith(".h5") else ".keras"
    own = path / f"own{suffix}"
    model.save(own)
    return own.rename(path / name)


def exported(model, path):
    model.export(path / "export", verbose=False)
    return path / "export"


FORMATS = {
    ".keras": lambda model, path: saved(model, path),
    ".h5": lambda model, path: saved(model, path, "model.h5"),
    "SavedModel": exported,
    ".keras without an ending": lambda model, path: saved(model, path, "model"),
    ".h5 without an ending": lambda model, path: saved(model, path, "h5model"),
    ".h5 named .keras": lambda model, path: saved(model, path, "h5model.keras"),
    ".keras named .h5": lambda model, path: saved(model, path).rename(path / "model.h5"),
}


@pytest.mark.filterwarnings(
    "ignore"
)  # Keras on its own legacy format, and TensorFlow on its exports
@pytest.mark.parametrize("head", [None, "softmax"])
@pytest.mark.parametrize("name", FORMATS)
def test_one_classifier_in_every_format(name, head, tmp_path):
    path = FORMATS[name](network(activation=head), tmp_path)
    before = sha256(path)
    classifier = load_classifier(str(path))
    assert classifier.head == (head or "logits")
    assert under_attack(classifier) == by_algebra()
    assert sha256(path) == before == classifier.sha256


def test_a_saved_model_does_not_saturate(tmp_path):
    model = network(activation="softmax")
    model.layers[-1].set_weights([1000 * one for one in model.layers[-1].get_weights()])
    scores = np.asarray(load_classifier(str(exported(model, tmp_path)))(images()[0]))
    assert np.ptp(scores, axis=1).min() > 1000


def test_the_endpoint_of_a_saved_model_is_chosen_by_name(tmp_path):
    archive = keras.export.ExportArchive()
    model = network(activation="softmax")
    archive.track(model)
    spec = [keras.InputSpec(shape=(None, 28, 28), dtype="float32")]
    archive.add_endpoint("one", model.call, input_signature=spec)
    archive.add_endpoint("two", model.call, input_signature=spec)
    archive.write_out(tmp_path / "export", verbose=False)
    path = str(tmp_path / "export")
    assert under_attack(load_classifier(path, Loading(endpoint="two"))) == by_algebra()
    with pytest.raises(FgsmError, match="--endpoint must be one of .*: one, .*two. Received: 'x'"):
        load_classifier(path, Loading(endpoint="x"))


class Halving(layers.Layer):
    """A layer that a file can name, and that nobody registered."""

    def call(self, x):
        return x / 2


def halving():
    return network(before=[layers.Rescaling(2.0), Halving()])


MODULE = """
import keras

class Halving(keras.layers.Layer):
    def call(self, x):
        return x / 2

def build():
    return keras.models.load_model("model.keras", compile=False, custom_objects={"Halving": Halving})

def fail():
    raise RuntimeError("out of luck")

def nothing():
    return 7
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a model of a class of its own, and the module that defines it."""
    monkeypatch.chdir(tmp_path)
    halving().save("model.keras")
    Path("own_layers.py").write_text(MODULE)
    return tmp_path


def test_a_class_that_is_not_of_keras_is_named(project):
    with pytest.raises(FgsmError, match="it needs the class Halving, which is not part of Keras; expected --import"):  # fmt: skip
        load_classifier("model.keras")


def test_a_module_that_is_named_brings_its_classes(project):
    classifier = load_classifier("model.keras", Loading(imports=("own_layers",)))
    assert under_attack(classifier) == by_algebra()


def test_a_function_may_give_the_model(project):
    classifier = load_classifier("own_layers:build")
    assert under_attack(classifier) == by_algebra()
    assert classifier.sha256 == load_classifier("own_layers:build").sha256


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("no_such_module:build", "no_such_module:build cannot be imported: ModuleNotFoundError"),
        ("own_layers:absent", "own_layers has no function absent, which own_layers:absent names"),
        ("own_layers:fail", "own_layers:fail failed: RuntimeError: out of luck"),
        ("own_layers:nothing", "own_layers:nothing must return a Keras model. Received: int"),
    ],
)
def test_a_function_that_gives_no_model_is_refused(reference, sentence, project):
    with pytest.raises(FgsmError, match=sentence):
        load_classifier(reference)


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
@pytest.mark.filterwarnings("ignore")
def test_code_in_a_file_runs_only_if_allowed(name, tmp_path):
    model = network(before=[layers.Lambda(lambda x: x * 1.0)])
    path = str(saved(model, tmp_path, name))
    with pytest.raises(FgsmError, match="holds code .a Lambda layer., which would run with your rights; .*expected --allow-code") as caught:  # fmt: skip
        load_classifier(path)
    assert len(str(caught.value)) < 300
    assert under_attack(load_classifier(path, Loading(allow_code=True))) == by_algebra()


def zipped(path, names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "hello")


def array(path, save):
    with path.open("wb") as file:
        save(file, np.zeros(3))


def hdf5(path):
    with h5py.File(path, "w") as file:
        file["table"] = [1, 2]


STRANGERS = {
    "empty": (lambda path: path.write_bytes(b""), "is empty: 0 bytes"),
    "LFS pointer": (lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), "is a pointer of Git LFS, not the model"),
    "HTML": (lambda path: path.write_text("<!DOCTYPE html>\n<html>404</html>"), "is a web page or XML, not a model"),
    "text": (lambda path: path.write_text("hello"), "is not a Keras model but a text file"),
    "bytes": (lambda path: path.write_bytes(b"\x01\x00" * 100), "is not a Keras model but of no known format"),
    "JSON": (lambda path: path.write_text('{"a": 1}'), "is not a Keras model but JSON"),
    "architecture": (lambda path: path.write_text(network().to_json()), "holds a network's architecture only, without its weights"),
    "weights": (lambda path: network().save_weights(path.with_name("a.weights.h5")) or path.with_name("a.weights.h5").rename(path), "holds weights only"),
    "other HDF5": (hdf5, "is HDF5, but holds no Keras model"),
    "pickle": (lambda path: path.write_bytes(b"\x80\x04\x95"), "is a pickle, which could run any code"),
    "array": (lambda path: array(path, np.save), "is a NumPy array, not a model"),
    "arrays": (lambda path: array(path, np.savez), "is not a Keras model but an .npz of arrays"),
    "PyTorch": (lambda path: zipped(path, ["archive/data.pkl"]), "is not a Keras model but a PyTorch model"),
    "zip": (lambda path: zipped(path, ["readme.txt"]), "is not a Keras model but an archive of other things"),
    "broken config": (lambda path: zipped(path, ["config.json", "metadata.json"]), "is damaged: a .keras archive"),
    "TFLite": (lambda path: path.write_bytes(b"\x1c\0\0\0TFL3"), "is a TensorFlow Lite model, which has no gradient"),
    "gzip": (lambda path: path.write_bytes(b"\x1f\x8b\x08"), "is compressed by gzip; unpack it first"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGERS)
def test_what_is_no_model_is_called_by_its_name(name, tmp_path):
    path = tmp_path / "model.keras"
    STRANGERS[name][0](path)
    with pytest.raises(FgsmError, match=STRANGERS[name][1]) as caught:
        load_classifier(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_file_is_damaged(name, share, tmp_path):
    path = saved(network(), tmp_path, name)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(FgsmError, match="is damaged: an? .(keras|h5)"):
        load_classifier(str(path))


# 6 KB of HDF5, in whose heap eight bytes were overwritten: its library never comes back from it.
ENDLESS = (
    "c-rgqaB<`1lHy_j0S*oZ76t(ZWbhvfI3!T{F!=;1%?PDCp!5nRm^d?74yqk!I>dYhW(Yq6DjpK#>Izc*9}U3lnZW{~IT%L4"
    "NCY0PjsYM#0-lZ_-~<z@x^lGi=s}^qf>4{#(=`v&WJU&F1`%MY%*{_p&52LW&r8cp2Z>8EGJ<sqz}>=u;w~nn#LNiBtPnXym"
    ">49-FfuYC)FaW%KzWdipn^ODBx@)zh;uNA*F)u5frf+RnV6UuAyz@mV}==wk&`+GReT5g`MWRzeE@T12lHqi7zLw%+Q8k}--i"
    "*YKxIU$c&lqs)!*PB4YN@&3P!;w7zLwX6pVsVFbYP&C>RB!V5kBB^&dYc"
)


def test_a_file_that_never_ends_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(probing, "SECONDS", 2)
    path = tmp_path / "model.h5"
    path.write_bytes(zlib.decompress(base64.b85decode(ENDLESS)))
    with pytest.raises(FgsmError, match="is damaged: an .h5 file that cannot be read to its end"):
        load_classifier(str(path))


def test_a_weight_with_a_flipped_bit_is_damage(tmp_path):
    path = saved(network(), tmp_path)
    content = bytearray(path.read_bytes())
    kernel = weights()[0].tobytes()[:64]
    content[content.index(kernel) + 3] ^= 0x40
    path.write_bytes(content)
    with pytest.raises(FgsmError, match="is damaged: a .keras archive that cannot be read"):
        load_classifier(str(path))


def test_an_archive_of_nothing_is_no_model(tmp_path):
    path = tmp_path / "model.keras"
    zipped(path, ["a"])
    content = path.read_bytes()
    path.write_bytes(content[: content.index(b"PK\1\2")] + b"PK\5\6" + bytes(18))
    with pytest.raises(FgsmError, match="is not a Keras model but an empty archive"):
        load_classifier(str(path))


@pytest.mark.parametrize("config", ["[1]", "1", '"a"', "null", "[" * 10_000])
@pytest.mark.parametrize("name", ["config.json", "metadata.json"])
def test_a_config_that_is_no_mapping_is_damage(name, config, tmp_path):
    path = saved(network(), tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in members.items():
            archive.writestr(one, config if one == name else content)
    with pytest.raises(FgsmError, match="is damaged|cannot be loaded"):
        load_classifier(str(path))


def test_missing_files_and_other_folders_are_told_apart(tmp_path):
    with pytest.raises(FgsmError, match="no model at"):
        load_classifier(str(tmp_path / "absent.keras"))
    with pytest.raises(FgsmError, match="holds no saved_model.pb; expected a .keras file"):
        load_classifier(str(tmp_path))
    (tmp_path / "saved_model.pb").write_bytes(b"\xff" * 20)
    with pytest.raises(FgsmError, match="is damaged: its saved_model.pb cannot be read"):
        load_classifier(str(tmp_path))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_is_computed_in_float32(policy, tmp_path):
    path = saved(network(dtype=policy, activation="softmax"), tmp_path)
    half = keras.models.load_model(path, compile=False)
    clone = network(activation="softmax")
    clone.set_weights(half.get_weights())
    classifier = load_classifier(str(path))
    x = tf.constant(images()[0])
    np.testing.assert_array_equal(classifier(x), clone(x)._keras_logits)
    assert np.abs(np.asarray(half(x)._keras_logits, np.float32) - classifier(x)).max() > 0
    for now, before in zip(classifier.model.get_weights(), half.get_weights(), strict=True):
        np.testing.assert_array_equal(now, before)


def test_a_regression_is_known_by_the_loss_in_its_file(tmp_path):
    model = keras.Sequential(stack(units=1))
    model.compile(loss="mse")
    with pytest.raises(FgsmError, match="gives one number and was trained with mse"):
        load_classifier(str(saved(model, tmp_path)))


# --- from the command line -----------------------------------------------------------------


def answers(capsys, *arguments):
    assert main(["attack", *map(str, arguments), "-n", "50", "-f", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_result_tells_the_range_of_the_pixels(tmp_path, capsys):
    path = saved(network(before=[layers.Rescaling(1 / 255)]), tmp_path)
    model = answers(capsys, path)["model"]
    assert model["input_range"] == [0, 255]
    assert model["range_source"] == "its Rescaling layer"
    model = answers(capsys, path, "--input-range", "0", "1")["model"]
    assert (model["input_range"], model["range_source"]) == ([0, 1], "--input-range")
    model = answers(capsys, path, "--mean", "0.5", "--std", "0.5")["model"]
    assert (model["input_range"], model["range_source"]) == ([-1, 1], "--mean and --std")
    main(["attack", str(path), "-n", "50"])
    assert "(logits head, pixels 0..255 by its Rescaling layer)" in capsys.readouterr().out


def test_import_is_a_flag_and_a_key_and_comes_back_from_the_resolved_file(project, capsys):
    first = answers(capsys, "model.keras", "--import", "own_layers", "-o", "out")
    assert "import:\n  - own_layers\n" in Path("out/config.yaml").read_text()
    assert main(["run", "out/config.yaml", "-f", "json"]) == 0
    again = json.loads(capsys.readouterr().out)["attack"]
    assert again["adversarial_correct"] == first["adversarial_correct"]


def test_a_network_without_a_gradient_is_refused_with_code_2(tmp_path, capsys):
    entry = keras.Input((28, 28))
    x = keras.ops.round(entry)
    for layer in stack()[1:]:
        x = layer(x)
    path = saved(fitted(keras.Model(entry, x)), tmp_path)
    assert main(["attack", str(path), "-n", "50"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Error: the model's output does not depend differentiably")


def test_labels_beyond_one_score_are_refused(tmp_path, capsys):
    path = saved(keras.Sequential(stack(units=1, activation="sigmoid")), tmp_path)
    assert main(["attack", str(path), "-n", "50"]) == 2
    assert "gives one score, so it knows the labels 0 and 1. Received: 9 in row" in " ".join(
        capsys.readouterr().err.split()
    )
