"""The commands, end to end, each in a process of its own."""

import csv
import io
import json
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from fgsm_cli import __version__, load_classifier
from fgsm_cli.cli import main
from fgsm_cli.config import SECTIONS, keys
from fgsm_cli.data import load_images

ROOT = Path(__file__).parent.parent
TRAINED = ["config.yaml", "model.keras", "report.html", "results.json"]
QUICK = ("--hidden", "16", "--epochs", "1", "--limit", "3000", "--batch-size", "32")


def refused(result: subprocess.CompletedProcess[str], sentence: str) -> None:
    """Exit code 2, one sentence on stderr, nothing on stdout, no traceback."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert sentence in result.stderr.replace("\n", " ")
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr


# --- without TensorFlow ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["attack", "--help"], 0),
        (["schema"], 0),
        (["attack", "--epsilon", "-1"], 2),
        (["run", "absent.yaml"], 2),
        (["attack", "--epsilonn", "1"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_needs_no_tensorflow_loads_none(arguments, code):
    script = (
        "import sys; from fgsm_cli.cli import main; code = main(sys.argv[1:]);"
        "assert not {'tensorflow', 'keras', 'numpy', 'scipy'} & sys.modules.keys(); sys.exit(code)"
    )
    command = [sys.executable, "-c", script, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stderr


def test_the_package_imports_without_tensorflow():
    script = "import sys, fgsm_cli; assert 'tensorflow' not in sys.modules; fgsm_cli.get_grads"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fgsm {__version__}\n"


@pytest.mark.parametrize("command", SECTIONS)
def test_help_shows_every_option_with_its_range_and_default(command, fgsm):
    text = fgsm(command, "--help", env={"COLUMNS": "200"}).stdout
    for name in keys(SECTIONS[command]):
        assert ("MODEL" if name in ("model", "models") else "--" + name.replace("_", "-")) in text
    for part in ("--config", "Examples:", "at least 1"):
        assert part in text
    if command == "attack":
        assert "at least 0; default: 0.1" in text
        assert "(default: runs/mnist-mlp/model.keras)" in text


def test_the_schema_is_json(capsys):
    assert main(["schema"]) == 0
    assert set(json.loads(capsys.readouterr().out)["properties"]) == set(SECTIONS)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["attack", "-e", "-0.1"], "--epsilon must be a number, at least 0. Received: '-0.1'"),
        (["attack", "-e", "nan"], "--epsilon must be a number, at least 0. Received: 'nan'"),
        (["attack", "--seed", "-1"], "--seed must be a whole number, at least 0, at most 4294967295"),
        (["attack", "--attack", "fgms"], "Received: 'fgms'"),
        (["attack", "--format", "xml"], "--format must be one of table, json, csv"),
        (["attack", ""], "MODEL must be text without control characters. Received: ''"),
        (["attack", "--epsilonn", "1"], "No such option: --epsilonn"),
        (["attack", "--epsilon"], "requires an argument"),
        (["attack", "-e", "0.1", "-e", "0.2"], "--epsilon must be given once; fgsm eval takes several. Received: 0.1, 0.2"),
        (["attack", "--seed", "1", "--seed", "2"], "--seed must be given once. Received: 1, 2"),
        (["attack", "--restarts", "3"], "--restarts does not fit fgsm: no random start"),
        (["attack", "absent.keras"], "no model at absent.keras"),
        (["attack", "--data", "absent.npz"], "no image set at absent.npz"),
        (["eval", "--examples", "absent.npz"], "no adversarial set at absent.npz"),
        (["eval", "--examples", "a.npz", "-e", "0.2"], "--examples scores a set that is made already, where epsilon would have no effect"),
        (["compare", "a", "b", "--format", "xml"], "--format must be one of table, json, csv"),
        (["attakc"], "No such command 'attakc'"),
        (["eval", "a.keras", "0.2"], "unexpected extra argument"),
        (["attack", "--config", ""], "--config must be text without control characters. Received: ''"),
        (["attack", "--config", "/dev/null"], "is a pipe or a device; expected a file"),
        (["attack", "/dev/null"], "the model /dev/null is a pipe or a device; expected a file"),
        (["attack", "x" * 300], "File name too long"),
        (["attack", "-a", "bim", "--steps", "99999999999"], "--steps must be a whole number, at least 1, at most 2000000000"),
        (["run"], "fgsm run takes one YAML file. Received: none"),
        (["run", "a.yaml", "--config", "b.yaml"], "fgsm run takes one YAML file. Received: two"),
        (["run", "a.yaml"], "no experiment at a.yaml"),
        (["attack", "--config", "a.yaml"], "no experiment at a.yaml"),
    ],
)  # fmt: skip
def test_a_users_mistake_is_one_sentence(arguments, sentence, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_no_command_is_help_and_nothing_else(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert "Usage: fgsm" in captured.out
    assert captured.err == ""


def test_the_file_of_a_mistake_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    Path("a.yaml").write_text("attack:\n  epsilson: 0.1\n")
    for arguments in (["run", "a.yaml"], ["attack", "--config", "a.yaml"]):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert "a.yaml, line 2: unknown key attack.epsilson. Did you mean epsilon?" in error
    Path("a.yaml").write_text("attack: {}\n")
    assert main(["eval", "--config", "a.yaml"]) == 2
    assert "a.yaml has no section eval. Received: attack" in capsys.readouterr().err
    Path("a.yaml").write_text("run: {seed: 1}\n")
    assert main(["run", "a.yaml"]) == 2
    assert "a.yaml has nothing to run" in capsys.readouterr().err


# --- train, attack, eval, run ---------------------------------------------------------------


def test_train_attack_eval_and_the_folders_they_leave(fgsm, tmp_path):
    trained = fgsm("train", *QUICK, "--output", "model", "--format", "json")
    assert trained.returncode == 0, trained.stderr
    assert trained.stderr == ""
    document = json.loads(trained.stdout)
    assert document["n"] == 3000
    assert document["clean_accuracy"] > 0.7
    assert json.loads((tmp_path / "model/results.json").read_text()) == document
    assert sorted(os.listdir(tmp_path / "model")) == TRAINED

    again = fgsm("train", *QUICK, "--output", "model", "--format", "json")
    assert json.loads(again.stdout) == document
    assert "trained with these very options before" in again.stderr
    anew = fgsm("train", *QUICK, "--output", "model", "--format", "json", "--retrain")
    del document["model"]["sha256"]
    anew_document = json.loads(anew.stdout)
    del anew_document["model"]["sha256"]
    assert anew_document == document, "the same seed gives the same numbers"

    model = tmp_path / "model/model.keras"
    before = model.read_bytes()
    refused(
        fgsm("attack", model, "-n", "20", "--output", "model"),
        "model holds the results of train; expected a folder for attack",
    )
    attacked = fgsm("attack", model, "-e", "8/255", "-n", "500", "--output", "hit", "-f", "json")
    assert attacked.returncode == 0, attacked.stderr
    assert attacked.stderr == ""
    document = json.loads(attacked.stdout)
    assert document["attack"]["epsilon"] == 8 / 255
    assert document["adversarial_accuracy"] < document["clean_accuracy"]
    assert document["warnings"] == []
    assert sorted(os.listdir(tmp_path / "hit")) == [
        "adversarial.npz",
        "config.yaml",
        "outcomes.npz",
        "report.html",
        "results.json",
    ]
    assert model.read_bytes() == before

    rerun = fgsm("run", "hit/config.yaml", "--format", "json")
    assert json.loads(rerun.stdout) == {"attack": document}

    saved = fgsm("eval", model, "--examples", "hit/adversarial.npz", "-f", "json")
    assert saved.returncode == 0, saved.stderr
    [result] = json.loads(saved.stdout)["results"]
    for key in ("adversarial_correct", "clean_correct", "flipped", "linf_max", "attack"):
        assert result[key] == document[key]

    swept = fgsm(
        "eval", model, "-n", "500", "-e", "0", "-e", "8/255", "-a", "fgsm", "-a", "bim",
        "--fail-under", "0.99", "-f", "csv",
    )  # fmt: skip
    assert swept.returncode == 1, swept.stderr
    assert "Gate failed: adversarial accuracy 0." in swept.stderr
    rows = list(csv.DictReader(io.StringIO(swept.stdout)))
    assert [(row["attack"], float(row["epsilon"])) for row in rows] == [
        ("fgsm", 0), ("fgsm", 8 / 255), ("bim", 0), ("bim", 8 / 255),
    ]  # fmt: skip
    assert float(rows[1]["adversarial_accuracy"]) == document["adversarial_accuracy"]
    assert rows[0]["adversarial_accuracy"] == rows[0]["clean_accuracy"]


def test_stdout_is_one_json_document_on_any_terminal(fgsm, model_file):
    for command in ("attack", "eval"):
        result = fgsm(
            command, model_file, "-n", "20", "--format", "json",
            env={"FORCE_COLOR": "1", "COLUMNS": "20", "TERM": "xterm-256color"},
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["n"] == 20
        assert "\x1b" not in result.stdout


def test_options_come_from_a_file_and_flags_beat_it(fgsm, model_file, tmp_path):
    (tmp_path / "a.yaml").write_text(f"attack: {{model: {model_file}, epsilon: 0.2, limit: 20}}\n")
    document = json.loads(fgsm("attack", "-c", "a.yaml", "-n", "30", "-f", "json").stdout)
    assert (document["n"], document["attack"]["epsilon"]) == (30, 0.2)


def test_a_run_shares_its_model_and_can_be_overridden(fgsm, tmp_path):
    (tmp_path / "a.yaml").write_text(
        "run: {limit: 2000, output: out}\n"
        "train: {hidden: 8, epochs: 1}\n"
        "attack: {epsilon: 0.1, save: adv.npz}\n"
        "eval: {examples: adv.npz}\n"
    )
    result = fgsm("run", "a.yaml", "--set", "attack.epsilon=0.05", "--limit", "100", "-f", "json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert list(document) == ["train", "attack", "eval"]
    assert document["attack"]["n"] == document["train"]["n"] == 100
    assert document["attack"]["attack"]["epsilon"] == 0.05
    assert document["attack"]["model"] == document["train"]["model"]
    assert (
        document["eval"]["results"][0]["adversarial_correct"]
        == document["attack"]["adversarial_correct"]
    )
    assert json.loads((tmp_path / "out/results.json").read_text()) == document
    resolved = yaml.safe_load((tmp_path / "out/config.yaml").read_text())
    assert list(resolved) == ["run", "train", "attack", "eval"]
    assert sorted(os.listdir(tmp_path / "out")) == [
        "attack",
        "config.yaml",
        "eval",
        "report.html",
        "results.json",
        "train",
    ]
    again = fgsm("run", "out/config.yaml", "-f", "json")
    assert json.loads(again.stdout) == document


@pytest.mark.parametrize(
    "path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name
)
def test_every_shipped_experiment_runs(path, fgsm, tmp_path):
    result = fgsm("run", path, "--limit", "400", "--set", "train.epochs=1", "--output", "out")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "Training" in result.stdout
    sections = yaml.safe_load(path.read_text())
    assert {"train", "config.yaml", "results.json"} <= set(os.listdir(tmp_path / "out"))
    assert set(json.loads((tmp_path / "out/results.json").read_text())) == set(sections)


def test_the_default_model_is_trained_first_and_only_once(fgsm, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    environment = {"HOME": str(home), "KERAS_BACKEND": "jax"}
    first = fgsm("attack", "--epsilon", "0.1", "-f", "json", env=environment)
    assert first.returncode == 0, first.stderr
    assert first.stderr == (
        "No model at runs/mnist-mlp/model.keras yet: training the default one (seed 0).\n"
    )
    document = json.loads(first.stdout)
    assert document["n"] == 10_000
    assert document["clean_accuracy"] >= 0.974
    assert 0.12 < document["adversarial_accuracy"] < 0.3
    second = fgsm("attack", "--epsilon", "0.1", "-f", "json", env=environment)
    assert second.stderr == ""
    assert json.loads(second.stdout) == document
    assert list(home.iterdir()) == [], "nothing may be written outside what the user named"
    assert sorted(os.listdir(tmp_path)) == ["home", "runs"]


def test_it_runs_without_a_home(fgsm, model_file):
    result = fgsm("attack", model_file, "-n", "20", env={"HOME": "/nonexistent"})
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_a_set_of_ones_own(fgsm, model_file, small_set):
    document = json.loads(fgsm("attack", model_file, "--data", small_set, "-f", "json").stdout)
    assert document["n"] == 50


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["absent.keras"], "no model at absent.keras"),
        (["MODEL", "--data", "absent.npz"], "no image set at absent.npz"),
        (
            ["MODEL", "--save", "adv.png"],
            "--save must name an .npz file, or a folder along with --save-format npy or png. Received: 'adv.png'",
        ),
        (["MODEL", "--output", "file"], "cannot make the folder file: it is a file"),
        (["MODEL", "--save", "file/adv.npz"], "cannot make the folder file: it is a file"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    arguments, sentence, fgsm, model_file, tmp_path
):
    (tmp_path / "file").write_text("")
    arguments = [str(model_file) if one == "MODEL" else one for one in arguments]
    refused(fgsm("attack", *arguments), sentence)
    assert os.listdir(tmp_path) == ["file"]


def test_curve_audit_compare_and_verify(fgsm, model_file, tmp_path):
    traced = fgsm(
        "curve", model_file, "-n", "200", "--points", "4", "--output", "curve", "-f", "json"
    )
    assert traced.returncode == 0, traced.stderr
    document = json.loads(traced.stdout)
    assert [point["epsilon"] for point in document["points"]] == [0, 0.1, 0.2, 0.3]
    with np.load(tmp_path / "curve/curve.npz", allow_pickle=False) as arrays:
        assert arrays["right"].shape == (4, 200)
        assert arrays["smallest_epsilon"].shape == (200,)

    audited = fgsm("audit", model_file, "-n", "200", "-f", "json")
    assert audited.returncode == 0, audited.stderr
    document = json.loads(audited.stdout)
    assert document["verdict"] == "pass"
    assert len(document["checks"]) == 12

    for name, loss in (("a", "ce"), ("b", "margin")):
        result = fgsm("attack", model_file, "-n", "200", "--loss", loss, "--output", name)
        assert result.returncode == 0, result.stderr
    compared = fgsm("compare", "a", "b", "-f", "csv")
    assert compared.returncode == 0, compared.stderr
    rows = list(csv.DictReader(io.StringIO(compared.stdout)))
    assert [row["what"] for row in rows] == ["clean", "fgsm linf 0.1"]

    confirmed = fgsm("verify", "a")
    assert confirmed.returncode == 0, confirmed.stderr
    assert "The run is confirmed" in confirmed.stdout
    results = json.loads((tmp_path / "a/results.json").read_text())
    (tmp_path / "a/results.json").write_text(json.dumps({**results, "adversarial_correct": 0}))
    denied = fgsm("verify", "a")
    assert denied.returncode == 1
    assert "attack: adversarial_correct" in denied.stdout
    (tmp_path / "b/outcomes.npz").write_bytes((tmp_path / "a/outcomes.npz").read_bytes())
    (tmp_path / "b/adversarial.npz").unlink()
    denied = fgsm("verify", "b")
    assert denied.returncode == 1
    assert "attack: arrays of outcomes.npz" in denied.stdout
    assert "missing" in denied.stdout


def test_a_set_of_ones_own_is_found_again_for_a_transfer(fgsm, model_file, small_set):
    assert fgsm("attack", model_file, "--data", small_set, "--save", "adv.npz").returncode == 0
    [result] = json.loads(fgsm("eval", model_file, "--examples", "adv.npz", "-f", "json").stdout)[
        "results"
    ]
    assert result["clean_correct"] is not None
    assert result["linf_max"] == pytest.approx(0.1, abs=1e-6)
    small_set.rename(small_set.with_name("moved.npz"))
    lost = fgsm("eval", model_file, "--examples", "adv.npz")
    assert "--data names the image set it was made from" in lost.stdout.replace("\n", " ")
    found = fgsm("eval", model_file, "--examples", "adv.npz", "--data", "moved.npz", "-f", "json")
    assert json.loads(found.stdout)["results"][0] == result


def test_a_default_model_of_other_options_is_told(fgsm):
    assert fgsm("train", *QUICK).returncode == 0
    document = json.loads(fgsm("attack", "-n", "100", "-f", "json").stdout)
    assert any("was not trained with the default options" in one for one in document["warnings"])
    again = fgsm("train", *QUICK, "--seed", "2")
    assert "Replacing runs/mnist-mlp/model.keras." in again.stderr


def test_labels_that_are_not_the_models_own_are_told(fgsm, model_file):
    """Threes and sevens alone become 0 and 1, which this model calls something else."""
    document = json.loads(
        fgsm("attack", model_file, "--only", "3,7", "-n", "40", "-f", "json").stdout
    )
    [warning] = document["warnings"]
    assert "0 to 1 of its 10 outputs" in warning
    assert "--only" in warning


# --- when things go wrong -------------------------------------------------------------------


def test_a_failed_save_leaves_the_old_model_and_nothing_partial(fgsm, tmp_path):
    assert fgsm("train", *QUICK, "--output", "model").returncode == 0
    before = (tmp_path / "model/model.keras").read_bytes()

    def small_files_only():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    result = fgsm(
        "train", *QUICK, "--seed", "9", "--output", "model", preexec_fn=small_files_only
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.endswith("Error: cannot write model/model.keras: File too large\n")
    assert (tmp_path / "model/model.keras").read_bytes() == before
    assert load_classifier(str(tmp_path / "model/model.keras")).classes == 10
    assert sorted(os.listdir(tmp_path / "model")) == TRAINED


def heeding_ctrl_c() -> None:
    """What a job in the background was told to ignore, its children ignore, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_while_training_leaves_no_file_and_no_bar(tmp_path):
    terminal, screen = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "fgsm_cli", "train", "--epochs", "500", "--output", "model"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=screen,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        preexec_fn=heeding_ctrl_c,
    )
    os.close(screen)
    shown = b""
    until = time.monotonic() + 120
    while b"epoch 1/500" not in shown and time.monotonic() < until:
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536)
    assert b"loss" in shown, "the bar should show the loss"
    process.send_signal(signal.SIGINT)
    rest = b""
    while process.poll() is None or select.select([terminal], [], [], 0)[0]:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                rest += os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
    assert process.communicate(timeout=30)[0] == b""
    assert process.returncode == 130
    last = rest[rest.rfind(b"epoch") :]
    assert b"\x1b[2K" in last, "the bar's line is erased"
    assert last.rstrip().endswith((b"Interrupted", b"Interrupted\x1b[0m"))
    assert set(os.listdir(tmp_path / "model")) <= {"checkpoint.npz"}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_training_that_is_ended_can_be_gone_on_with(number, code, tmp_path, fgsm):
    asked = ("train", "--hidden", "8", "--limit", "2000", "--epochs", "300", "--output", "model")
    process = subprocess.Popen(
        [sys.executable, "-m", "fgsm_cli", *asked],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=heeding_ctrl_c,
    )
    until = time.monotonic() + 120
    while not (tmp_path / "model/checkpoint.npz").exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    if number != signal.SIGKILL:
        assert os.listdir(tmp_path / "model") == ["checkpoint.npz"], "nothing half-written"
    refused(
        fgsm(*asked[:-2], "-o", "model", "--resume", "--seed", 1), "made with other options: seed"
    )
    short = fgsm(*asked, "--resume", "-f", "json")
    assert len(json.loads(short.stdout)["epochs"]) == 300
    assert not (tmp_path / "model/checkpoint.npz").exists()


def test_a_reader_that_leaves_early_gets_no_traceback(tmp_path, model_file):
    command = (
        f"{sys.executable} -m fgsm_cli attack {model_file} -n 20 --format json | true; "
        "exit ${PIPESTATUS[0]}"
    )
    result = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.returncode == 141, "1 would say that a gate failed"


def test_a_closed_output_is_told(tmp_path, model_file):
    command = f"{sys.executable} -m fgsm_cli attack {model_file} -n 20 >&-"
    result = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert result.stderr == "Error: cannot write the result: standard output is closed\n"


def test_an_input_is_never_overwritten(fgsm, model_file, small_set):
    before = small_set.read_bytes()
    refused(
        fgsm("attack", model_file, "--data", small_set, "--save", small_set),
        "--save must not overwrite an input",
    )
    assert small_set.read_bytes() == before


def test_warnings_are_told_where_the_format_has_no_place_for_them(fgsm, model_file):
    result = fgsm("attack", model_file, "-n", "20", "-e", "8", "--format", "csv")
    assert result.returncode == 0
    assert "Warning: epsilon 8 is wider than the pixel range 0..1" in result.stderr


def test_other_data_under_the_same_name_are_trained_on_anew(fgsm, tmp_path):
    rng = np.random.default_rng(0)

    def write(n):
        x, y = rng.random((n, 4, 4)), np.arange(n) % 3
        np.savez(tmp_path / "own.npz", x_train=x, y_train=y, x_test=x, y_test=y)

    write(30)
    command = ("train", "--data", "own.npz", "--epochs", "1", "--output", "m", "-f", "json")
    first = fgsm(*command)
    assert first.returncode == 0, first.stderr
    assert "its training images: accuracy is overstated" in json.loads(first.stdout)["warnings"][0]
    assert "very options before" in fgsm(*command).stderr
    write(6)
    second = fgsm(*command)
    assert "Replacing m/model.keras" in second.stderr
    document = json.loads(second.stdout)
    assert document["n"] == 6
    assert document["clean_correct"] <= 6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_output_is_told(fgsm, model_file):
    with Path("/dev/full").open("w") as full:
        result = fgsm(
            "attack", model_file, "-n", "20", "-f", "json",
            capture_output=False, stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr == "Error: cannot write the result: No space left on device\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_any_encoding_of_the_terminal_will_do(encoding, fgsm, model_file, tmp_path):
    odd = tmp_path / "µ→模型[red].keras"
    odd.write_bytes(model_file.read_bytes())
    result = fgsm("attack", odd, "-n", "20", env={"PYTHONIOENCODING": encoding}, encoding=encoding)
    assert result.returncode == 0, result.stderr
    assert "[red].keras (logits head, pixels 0..1 assumed)" in result.stdout


def test_colour_is_for_terminals_only(fgsm, model_file):
    plain = fgsm("attack", model_file, "-n", "20")
    assert "\x1b" not in plain.stdout
    coloured = fgsm("attack", model_file, "-n", "20", env={"FORCE_COLOR": "1"})
    assert "\x1b[" in coloured.stdout


def test_the_adversarial_set_holds_what_the_contract_says(fgsm, model_file, tmp_path):
    assert fgsm("attack", model_file, "-n", "30", "--save", "new/adv.npz").returncode == 0
    with np.load(tmp_path / "new/adv.npz", allow_pickle=False) as arrays:
        assert arrays["x_adv"].shape == (30, 28, 28)
        assert arrays["x_adv"].dtype == np.float32
        assert len(str(arrays["model_sha256"])) == 64
        assert arrays["indices"].tolist() == list(range(30))
        assert float(arrays["epsilon"]) == 0.1


def test_images_without_labels_are_attacked_and_no_accuracy_is_told(fgsm, model_file, tmp_path):
    images = load_images("mnist", "test", limit=20)
    np.savez(tmp_path / "few.npz", x=images.images)
    done = fgsm("attack", model_file, "--data", "few.npz", "-e", "0.2", "-f", "json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["n"]) == (0, 20)
    known = ("clean_accuracy", "adversarial_accuracy", "success_rate", "clean_correct")
    assert [document[name] for name in known] == [None] * 4
    assert document["changed"] > 10
    assert "have no labels" in document["warnings"][0]
    table = fgsm("attack", model_file, "--data", "few.npz", "-e", "0.2")
    assert f"changed the prediction of {document['changed']}/20 images" in table.stdout
    curve = json.loads(fgsm("curve", model_file, "--data", "few.npz", "-f", "json").stdout)
    assert curve["points"][0]["unchanged"] == 20
    assert curve["points"][0]["adversarial_accuracy"] is None


@pytest.mark.parametrize(
    ("arguments", "need"),
    [
        (("attack", "--fail-under", "0.5"), "--fail-under needs labels"),
        (("attack", "-a", "pgd", "--seeds", "2"), "--seeds needs labels"),
        (("audit",), "an audit needs labels"),
        (("train",), "training needs labels"),
    ],
)
def test_what_needs_labels_says_so(arguments, need, fgsm, model_file, tmp_path):
    np.savez(tmp_path / "few.npz", x=np.zeros((3, 28, 28), np.uint8))
    command, *more = arguments
    model = () if command == "train" else (model_file,)
    done = fgsm(command, *model, "--data", "few.npz", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert need in done.stderr


def test_seeds_repeat_a_random_attack(fgsm, model_file):
    arguments = ("attack", model_file, "-a", "pgd", "--steps", "3", "-n", "200", "-f", "json")
    one, three = (
        json.loads(fgsm(*arguments, "--seed", 5, *more).stdout) for more in ((), ("--seeds", 3))
    )
    over = three["over_seeds"]
    assert one["over_seeds"] is None
    assert over["seeds"] == [5, 6, 7]
    assert over["adversarial_correct"][0] == one["adversarial_correct"]
    alone = json.loads(fgsm(*arguments, "--seed", 7).stdout)
    assert over["adversarial_correct"][2] == alone["adversarial_correct"]


@pytest.mark.parametrize(
    "choice",
    [("--split", "train"), ("--offset", "30"), ("--balanced",), ("--only", "3,7")],
    ids=str,
)
def test_a_saved_part_of_a_set_is_matched_with_its_own_images(choice, fgsm, model_file):
    asked = ("-n", "20", "-e", "0.1", "-f", "json", *choice)
    made = json.loads(fgsm("attack", model_file, "--save", "adv.npz", *asked).stdout)
    kept = choice if choice[0] in ("--split", "--only") else ()
    again = fgsm("eval", model_file, "--examples", "adv.npz", "-f", "json", *kept)
    [found] = json.loads(again.stdout)["results"]
    for name in ("adversarial_correct", "clean_correct", "linf_max"):
        assert found[name] == pytest.approx(made[name])


@pytest.mark.parametrize("changed", ["x_train.npy", "x_test.npy", None])
def test_a_training_on_two_files_is_taken_up_unless_one_has_changed(changed, fgsm, tmp_path):
    images = load_images("mnist", "train", limit=400)
    for half, part in (("train", slice(0, 300)), ("test", slice(300, 400))):
        np.save(tmp_path / f"x_{half}.npy", images.images[part])
        np.save(tmp_path / f"y_{half}.npy", images.labels[part])
    asked = ("train", "--data", ".", "--hidden", "4", "--epochs", "1", "--output", "m")
    assert fgsm(*asked).returncode == 0
    if changed:
        pixels = np.load(tmp_path / changed)
        pixels[0] ^= 1
        np.save(tmp_path / changed, pixels)
    assert ("Using m/model.keras" in fgsm(*asked).stderr) == (changed is None)
