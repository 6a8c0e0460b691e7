"""Results in TensorBoard and MLflow, read back from the files that these tools read."""

import importlib.util
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from fgsm_cli.cli import main
from fgsm_cli.tracking import scalars
from test_report import ATTACK, CURVE, EVAL, TRAINING, UNKNOWN


@pytest.fixture
def fgsm_here(tmp_path, monkeypatch, capsys):
    """Run ``fgsm --format json`` in this process and an empty folder: its document."""
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_ALLOW_FILE_STORE", "MLFLOW_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "")  # so that what the command sets is undone

    def run(*arguments, code=0):
        assert main([*map(str, arguments), "--format", "json"]) == code
        found = capsys.readouterr()
        return json.loads(found.out) if code == 0 else found.err

    return run


def events(folder):
    """Tag, step and value or PNG of all that is in the event files of a folder."""
    from tensorflow.core.util.event_pb2 import Event

    found = []
    for path in sorted(Path(folder).glob("events.out.tfevents.*")):
        content, at = path.read_bytes(), 0
        while at < len(content):  # length, its checksum, the event, its checksum
            [size] = struct.unpack_from("<Q", content, at)
            event = Event.FromString(content[at + 12 : at + 12 + size])
            at += 12 + size + 4
            for value in event.summary.value:
                plugin = value.metadata.plugin_data.plugin_name
                if plugin == "scalars":
                    array = np.frombuffer(value.tensor.tensor_content, np.float32)
                    number = array[0] if len(array) else value.tensor.float_val[0]
                    found.append((value.tag, event.step, float(number)))
                elif plugin == "images":
                    found.append((value.tag, event.step, value.tensor.string_val[2][:4]))
                else:
                    found.append((value.tag, event.step, value.tensor.string_val[0].decode()))
    return found


def test_every_number_of_a_record_is_a_scalar():
    assert list(scalars(ATTACK)) == [
        ("accuracy/clean", 0, 0.9768),
        ("accuracy/fgsm", 1000, 0.2407),
        ("success_rate/fgsm", 1000, 7361 / 9768),
        ("linf_max/fgsm", 1000, 0.1),
    ]
    assert [one.value for one in scalars(CURVE)] == [0.9, 0.2, 0.25]
    assert [one.step for one in scalars(CURVE)] == [0, 1000, 2000]
    assert {one.name for one in scalars(TRAINING)} == {
        "epoch/loss", "epoch/accuracy", "epoch/validation_accuracy", "test/clean_accuracy",
    }  # fmt: skip
    assert len(list(scalars(EVAL))) == 7
    assert [one.name for one in scalars(UNKNOWN)] == ["accuracy/saved set"]


def test_tensorboard_gets_what_the_document_says(fgsm_here, model_file):
    two = ("-e", 0.05, "-e", 0.1, "--pictures", 2)
    document = fgsm_here("eval", model_file, "-n", 50, *two, "--tensorboard", "events")
    found = events("events")
    measured = {(tag, step): value for tag, step, value in found if isinstance(value, float)}
    for result in document["results"]:
        step = round(result["attack"]["epsilon"] * 10_000)
        expected = pytest.approx(result["adversarial_accuracy"], abs=1e-6)
        assert measured["accuracy/fgsm", step] == expected
    assert [value for *_, value in found if isinstance(value, bytes)] == [b"\x89PNG"] * 4
    [options] = [value for tag, _, value in found if tag == "options"]
    assert "epsilon:\n  - 0.05\n  - 0.1" in options


def test_a_training_is_told_epoch_by_epoch(fgsm_here):
    train = ("train", "-n", 500, "--hidden", "none", "--epochs", 3, "-o", "model")
    document = fgsm_here(*train, "--tensorboard", "events")
    losses = {step: value for tag, step, value in events("events") if tag == "epoch/loss"}
    assert losses == pytest.approx(
        {step: epoch["loss"] for step, epoch in enumerate(document["epochs"], 1)}, abs=1e-5
    )
    fgsm_here(
        *train, "--tensorboard", "elsewhere"
    )  # taken up again, as what is told is not learned
    assert [one[1:] for one in events("elsewhere") if one[0] == "epoch/loss"] == [*losses.items()]


def test_what_is_no_picture_has_no_image_and_is_judged(fgsm_here, tmp_path):
    import keras

    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(2)])
    model.save(tmp_path / "five.keras")
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "five.npz", x_test=rng.random((20, 5)), y_test=np.arange(20) % 2)
    judged = ("attack", "five.keras", "-d", "five.npz")
    fgsm_here(*judged, "--tensorboard", "events")
    assert "accuracy/clean" in {tag for tag, *_ in events("events")}
    assert "as pictures" in fgsm_here(*judged, "--images", "grid.png", code=2)


def test_mlflow_gets_options_numbers_and_files(fgsm_here, model_file):
    mlflow = pytest.importorskip("mlflow")
    document = fgsm_here("curve", model_file, "-n", 50, "--points", 3, "-o", "run", "--mlflow")
    client = mlflow.MlflowClient(tracking_uri=Path("mlruns").resolve().as_uri())
    [experiment] = client.search_experiments(filter_string="name = 'fgsm'")
    [run] = client.search_runs([experiment.experiment_id])
    assert run.data.params["points"] == "3"
    assert run.data.params["attack"] == "fgsm"
    history = client.get_metric_history(run.info.run_id, "accuracy/fgsm linf")
    assert {one.step: one.value for one in history} == {
        round(point["epsilon"] * 10_000): point["adversarial_accuracy"]
        for point in document["points"]
    }
    names = {one.path for one in client.list_artifacts(run.info.run_id)}
    assert names == {"config.yaml", "results.json", "curve.npz"}


def test_a_run_that_was_tracked_is_verified_without_it(fgsm_here, model_file):
    command = ("attack", model_file, "-n", 20, "-o", "run", "--tensorboard", "events")
    fgsm_here(*command)
    before = len(events("events"))
    assert fgsm_here("verify", "run")["agrees"]
    assert len(events("events")) == before


@pytest.mark.parametrize("flag", ["--mlflow", "--tensorboard=events"])
def test_a_library_that_is_not_there_is_named_before_the_work(flag, fgsm_here, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    told = fgsm_here("attack", "-n", 5, flag, code=2)
    name = flag.lstrip("-").partition("=")[0]
    assert told == f"Error: --{name} needs pip install 'fgsm-cli[{name}]'\n"
    assert not Path("events").exists()
