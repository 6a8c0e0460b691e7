"""Whatever comes to the door of a command: a result, or one sentence and exit code 2.

FUZZ=5000 python -m pytest tests/test_any_input.py       # as many examples as one has time for
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fgsm_cli.backend import keras
from fgsm_cli.cli import main
from fgsm_cli.config import SECTIONS, keys
from fgsm_cli.models import hdf5 as probing
from test_data_any import ANY, EDITS, WHOLE, edited

pytestmark = pytest.mark.filterwarnings("ignore")

layers = keras.layers
OFTEN = int(os.environ.get("FUZZ", "0"))


def examples(few):
    """So many examples, or as many as the environment asks for."""
    return settings(max_examples=OFTEN or few, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of 4 by 4 pixels in two formats, and a set of such images."""
    folder = tmp_path_factory.mktemp("files")
    model = keras.Sequential(
        [keras.Input((4, 4)), layers.Flatten(), layers.Dense(3, activation="softmax")]
    )
    model.save(folder / "model.keras")
    model.save(folder / "model.h5")
    x = np.random.default_rng(0).integers(0, 256, (6, 4, 4), np.uint8)
    np.savez(folder / "set.npz", x=x, y=np.arange(6) % 3)
    return {path.name: path for path in folder.iterdir()}


def entered(*arguments, codes=(0, 2), **contents):
    """Run a command in a folder of its own that holds these files; its exit code and output."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, content in contents.items():
                Path(name.replace("_", ".")).write_bytes(content)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([str(one) for one in arguments])
            left = [path for path in Path(folder).rglob(".*") if path.name not in contents]
        finally:
            os.chdir(before)
            sys.path[:] = [one for one in sys.path if one != folder]
    shown, said = (one.buffer.getvalue().decode() for one in (out, err) if not one.flush())
    assert code in codes, (arguments, said)
    assert left == []
    if code == 2:
        assert shown == "", (arguments, shown)
        assert said.startswith("Error: "), (arguments, said)
        assert said.count("\n") == 1, (arguments, said)
        assert len(said) < 1000 + sum(len(str(one)) for one in arguments)
    return code, shown


def whole(shown):
    """The record that was printed, which counts no image twice."""
    record = json.loads(shown)
    for count in ("clean_correct", "adversarial_correct", "changed"):
        assert record[count] is None or 0 <= record[count] <= record["n"]
    return record


# --- any text for any option ---------------------------------------------------------------

ODD = (
    "", " ", "0", "-1", "1", "3", "nan", "inf", "-inf", "1e-3", "1e400", "0x10", "1_0", "٣", "true",
    "null", "[]", "{}", "1,2", "0 255", "0,1,2", ",", "8/255", "1/0", "0/0", "\n", "\0", "\udcff",
    "🙈", "-", "--", "=", "a" * 5000, "random", "next", "none", "os", "fgsm_cli:main", "set.npz",
    "x", "y", "fgsm", "sigmoid", "logits", "npy", "l2", "json", "~", "a\u2028b", "%s", "[red]", "NULL",
)  # fmt: skip
TEXT = st.sampled_from(ODD) | st.text(max_size=12)
FIELDS = [
    (command, name)
    for command, options in SECTIONS.items()
    if command != "run"
    for name, field in keys(options).items()
    if field.annotation is not bool
]


def is_large(text):
    """A number of steps or a width that somebody would have to wait for."""
    return re.search(r"\d{4}|\d[eE]\+?\d", text.replace("_", "")) is not None


@examples(40)
@given(where=st.sampled_from(FIELDS), text=TEXT)
def test_any_text_for_any_option_is_a_result_or_one_sentence(where, text, files):
    command, name = where
    assume(not is_large(text))
    assume(
        "/" not in text.lstrip("0123456789")
        or name not in ("output", "save", "images", "plot", "tensorboard")
    )
    given_ = text if name == "model" else f"--{name.replace('_', '-')}={text}"
    small = ["--hidden=4", "--epochs=1", "--output=out"] if command == "train" else []
    base = {"data": "--data=set.npz", "limit": "--limit=3"}
    base.pop(name, None)
    model = [] if command == "train" or name == "model" else [str(files["model.keras"])]
    small = [one for one in small if not one.startswith(f"--{name}=")]
    assume(name != "model" or text)  # the default model would be trained
    entered(
        command, *model, *base.values(), *small, given_,
        codes=(0, 1, 2), set_npz=files["set.npz"].read_bytes(),
    )  # fmt: skip


COMMANDS = [*SECTIONS, "verify", "compare", "schema", "show", "plot"]


@examples(30)
@given(command=st.sampled_from(COMMANDS), words=st.lists(TEXT | st.just("--help"), max_size=3))
def test_any_words_are_a_result_or_one_sentence(command, words, files):
    nothing = ["--limit=0"] if command in SECTIONS else []  # so that no model is trained
    entered(command, *nothing, *words)


@examples(40)
@given(
    content=st.binary(max_size=60)
    | st.text(st.sampled_from("atck:eval \n-{}[]&*!|>'\"#,.0e1")).map(str.encode)
)
def test_any_bytes_are_an_experiment_or_one_sentence(content, files):
    entered("run", "a.yaml", a_yaml=content)
    entered("attack", "--config", "a.yaml", "--limit=0", a_yaml=content)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


@examples(30)
@given(where=st.sampled_from(FIELDS), value=VALUES)
def test_any_value_in_a_file_is_a_result_or_one_sentence(where, value, files):
    command, name = where
    text = json.dumps(value)
    assume(not is_large(text) and "/" not in text)
    assume(name not in ("model", "output", "save") or not isinstance(value, str | type(None)))
    content = f"{command}:\n  {name}: {text}\n".encode("utf-8", "replace")
    model = [] if command == "train" else [files["model.keras"]]
    small = ["--hidden=4", "--epochs=1"] if command == "train" else []
    small = [one for one in small if not one.startswith(f"--{name}=")]
    entered(
        command, *model, *small, "--config=a.yaml", "--data=set.npz", "--limit=3",
        codes=(0, 1, 2), set_npz=files["set.npz"].read_bytes(), a_yaml=content,
    )  # fmt: skip


# --- any image set -------------------------------------------------------------------------


@examples(30)
@given(name=st.sampled_from([*WHOLE]), edits=EDITS)
def test_any_bytes_are_an_image_set_or_one_sentence(name, edits, files):
    content = edited(WHOLE[name], edits)
    contents = {name: content}
    code, shown = entered(
        "attack", files["model.keras"], "--data", name.replace("_", "."), "--save=adv.npz",
        "-f=json", **contents,
    )  # fmt: skip
    if code == 0:
        whole(shown)


KINDS = st.sampled_from(["u1", "i1", "<u2", ">i4", "i8", "u8", "f2", "<f4", ">f8", "f8", "?", "c8", "U2", "M8[s]", "S1"])  # fmt: skip
SHAPES = st.sampled_from([(4, 4), (16,), (4, 4, 1), (1, 4, 4), (2, 8), (4, 4, 3), (5, 5), (0,), ()])


@st.composite
def sets(draw):
    """Arrays that are nearly images and labels, in every type and form."""
    n = draw(st.integers(0, 5))
    kind = np.dtype(draw(KINDS))
    x = draw(arrays.arrays(kind, (n, *draw(SHAPES)), fill=st.nothing()) | ANY)
    if draw(st.booleans()) and x.dtype.kind in "f":
        x = np.nan_to_num(x / (np.abs(np.nan_to_num(x)).max(initial=1e-3)))
    labels = draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))
    y = draw(
        st.sampled_from(
            [
                np.array(labels, np.int64),
                np.array(labels, np.float32),
                np.array(labels, ">i2"),
                np.array(labels, np.int64)[:, None],
                np.eye(3)[np.clip(labels, 0, 2)] if n else np.empty((0, 3)),
                np.array(labels).astype("U2"),
                np.array(["cat", "dog", "eel"])[np.clip(labels, 0, 2)] if n else np.empty(0, "U1"),
            ]
        )
        | ANY
    )
    return x, y


OPTIONS = st.lists(
    st.sampled_from(
        ["--balanced", "--transpose", "--offset=1", "--only=1,2", "--classes=cat,dog,eel",
         "--data-range=0,255", "--data-range=-1,1", "--input-range=-1,1", "--attack=pgd", "--steps=2",
         "--norm=l2", "--target=next", "--target=2", "--labels=predicted", "--epsilon=0", "--limit=2",
         "--save-format=npy", "--save-format=png", "--batch-size=2", "--loss=ce-float32"]
    ),
    max_size=3,
    unique_by=lambda option: option.partition("=")[0],
)  # fmt: skip


@examples(40)
@given(found=sets(), options=OPTIONS)
def test_any_arrays_are_an_image_set_or_one_sentence(found, options, files):
    buffer = io.BytesIO()
    np.savez(buffer, x=found[0], y=found[1])
    target = "adv" if any("save-format" in one for one in options) else "adv.npz"
    code, shown = entered(
        "attack", files["model.keras"], "--data=a.npz", "-f=json", f"--save={target}", *options,
        a_npz=buffer.getvalue(),
    )  # fmt: skip
    if code == 0:
        record = whole(shown)
        assert 1 <= record["n"] <= len(found[0])


# --- any model -----------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    """A file that keeps the HDF5 library in a loop does not keep the tests for long."""
    monkeypatch.setattr(probing, "SECONDS", 3)


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
@examples(10)
@given(edits=EDITS)
def test_any_bytes_are_a_model_or_one_sentence(name, edits, files, impatient):
    content = edited(files[name].read_bytes(), edits)
    entered(
        "attack", name, "--data=set.npz",
        set_npz=files["set.npz"].read_bytes(), **{name.replace(".", "_"): content},
    )  # fmt: skip


def places(document, path=()):
    """Every place in a JSON document."""
    inner = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@examples(20)
@given(data=st.data(), value=VALUES)
def test_any_value_in_a_model_is_a_model_or_one_sentence(data, value, files):
    with zipfile.ZipFile(files["model.keras"]) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    member = data.draw(st.sampled_from(["config.json", "config.json", "metadata.json"]))
    document = json.loads(members[member])
    *way, last = data.draw(st.sampled_from(list(places(document))))
    place = document
    for key in way:
        place = place[key]
    if data.draw(st.booleans()):
        place[last] = value
    else:
        del place[last]
    members[member] = json.dumps(document).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    entered(
        "attack", "model.keras", "--data=set.npz",
        set_npz=files["set.npz"].read_bytes(), model_keras=buffer.getvalue(),
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [("run",), ("verify",), ("compare", "a"), ("attack", "-c")])
@pytest.mark.parametrize("name", ["", "\0", "\n"])
def test_a_file_without_a_name_to_speak_of_is_refused(arguments, name, capsys):
    assert main([*arguments, name]) == 2
    assert "must be text without control characters. Received: '" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is Unicode")
def test_names_that_are_not_unicode_are_read_and_written(files, tmp_path, capsys):
    """On Linux a name is any bytes; Python shows those that are not UTF-8 as lone surrogates."""
    for name in ("model.keras", "set.npz"):
        (tmp_path / f"\udcff{name}").write_bytes(files[name].read_bytes())
    model, data, output = (f"{tmp_path}/\udcff{name}" for name in ("model.keras", "set.npz", "out"))
    save = f"{tmp_path}/\udcff.npz"
    assert main(["attack", model, "--data", data, "--output", output, "--save", save]) == 0
    assert main(["verify", output]) == 0
    assert main(["eval", model, "--data", data, "--examples", save]) == 0
