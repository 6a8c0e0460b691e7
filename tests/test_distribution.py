"""Several devices, several workers, and work that is cut short: the numbers are those of one."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fgsm_cli import FgsmError, attack_named
from fgsm_cli.backend import tf
from fgsm_cli.config import AttackOptions, build
from fgsm_cli.distribution import ALONE, crew_of, note_of_fitting
from fgsm_cli.evaluation import judge, judging, open_journal
from fgsm_cli.evaluation.trying import opening

ATTACK = ("-n", 300, "-b", 50, "--attack", "pgd", "--steps", 5, "--restarts", 2, "-f", "json")
RECIPE = ("-n", 300, "--epochs", 1, "--hidden", 16, "--dropout", 0, "-f", "json")
RECIPE = (*RECIPE, "--adversarial", "pgd", "--steps", 2)

# The command, in a process that takes its one CPU for two devices.
TWO_DEVICES = """
import sys
from fgsm_cli.backend import tf
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from fgsm_cli.cli import main
sys.exit(main(sys.argv[1:]))
"""


def numbers(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def same(a: Path, b: Path) -> bool:
    one, other = numbers(a), numbers(b)
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


def told(text: str) -> dict[str, object]:
    """A result without the names of what was written."""
    document = json.loads(text)
    for name in ("files", "versions"):
        document.pop(name)
    document["model"].pop("path")
    document["model"].pop("sha256")
    return document


@pytest.fixture(scope="module")
def alone(tmp_path_factory, model_file):
    """What one process on one device finds and trains, in a folder."""
    folder = tmp_path_factory.mktemp("alone")
    [attacked] = ran([folder], ["attack", model_file, *ATTACK, "--save", "adv.npz"])
    [trained] = ran([folder], ["train", *RECIPE, "--output", "trained"])
    return folder, attacked, trained


def ran(
    folders: Sequence[Path], command: Sequence[object], code: str = "", **changes: str
) -> list[str]:
    """Run a command in each folder at once, all to end well; what each printed."""
    started = [start(folder, command, code, **changes) for folder in folders]
    ended = [process.communicate(timeout=240) for process in started]
    assert [process.returncode for process in started] == [0] * len(started), ended
    return [out for out, _ in ended]


def start(folder: Path, command: Sequence[object], code: str = "", **changes: str):
    program = ["-c", code] if code else ["-m", "fgsm_cli"]
    return subprocess.Popen(
        [sys.executable, *program, *map(str, command)],
        cwd=folder,
        env={**os.environ, **changes},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def cluster(tmp_path: Path, workers: int) -> list[tuple[Path, str]]:
    """A folder and a TF_CONFIG for each worker of a cluster on loopback, on ports that are free."""
    sockets = [socket.socket() for _ in range(workers)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    places = []
    for index in range(workers):
        folder = tmp_path / f"worker-{index}"
        folder.mkdir(exist_ok=True)
        task = {"type": "worker", "index": index}
        places.append((folder, json.dumps({"cluster": {"worker": addresses}, "task": task})))
    return places


def weights(folder: Path) -> list[np.ndarray]:
    from fgsm_cli.models import load_classifier

    model = load_classifier(str(folder / "trained" / "model.keras")).model
    return [np.asarray(one.value) for one in model.weights]


def test_two_devices_find_what_one_finds(alone, tmp_path, model_file):
    folder, attacked, trained = alone
    command = ["attack", model_file, *ATTACK, "--devices", "0,1", "--save", "adv.npz"]
    [out] = ran([tmp_path], command, TWO_DEVICES)
    assert told(out) == told(attacked)
    assert same(tmp_path / "adv.npz", folder / "adv.npz")
    [out] = ran([tmp_path], ["train", *RECIPE, "--output", "trained"], TWO_DEVICES)
    assert json.loads(out)["epochs"][0]["correct"] == json.loads(trained)["epochs"][0]["correct"]
    for one, other in zip(weights(tmp_path), weights(folder), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_two_workers_train_one_model(alone, tmp_path):
    folder, _, trained = alone
    started = [
        start(place, ["train", *RECIPE, "--output", "trained"], TF_CONFIG=config)
        for place, config in cluster(tmp_path, 2)
    ]
    (out, error), (nothing, silence) = (one.communicate(timeout=240) for one in started)
    assert [one.returncode for one in started] == [0, 0], (error, silence)
    assert nothing == silence == ""  # the chief alone prints and writes
    assert not any((tmp_path / "worker-1" / "trained").glob("*"))
    assert json.loads(out)["clean_correct"] == json.loads(trained)["clean_correct"]
    for one, other in zip(weights(tmp_path / "worker-0"), weights(folder), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_a_lost_worker_ends_the_job_and_the_next_one_finishes_it(alone, tmp_path, model_file):
    folder, attacked, _ = alone
    command = ["attack", model_file, *ATTACK, "--save", "adv.npz", "--resume"]
    places = cluster(tmp_path, 3)
    started = [start(place, command, TF_CONFIG=config) for place, config in places]
    shards = tmp_path / "worker-0" / "adv.npz.shards"
    while not any(shards.rglob("*.npz")) and started[1].poll() is None:
        time.sleep(0.01)
    started[1].send_signal(signal.SIGKILL)
    ended = [one.communicate(timeout=120) for one in started]
    if [one.returncode for one in started] != [0, 0, 0]:  # it could only have been too late
        for process, (out, error) in zip(started[::2], ended[::2], strict=True):
            assert (process.returncode, out) == (138, "")
            assert error.strip().splitlines()[-1].startswith("Error: another worker is gone")
        assert not (tmp_path / "worker-0" / "adv.npz").exists()
    started = [start(place, command, TF_CONFIG=config) for place, config in cluster(tmp_path, 3)]
    ended = [one.communicate(timeout=240) for one in started]
    assert [one.returncode for one in started] == [0, 0, 0], ended
    assert told(ended[0][0]) == told(attacked)
    assert same(tmp_path / "worker-0" / "adv.npz", folder / "adv.npz")
    assert not shards.exists()


def test_an_attack_that_was_killed_goes_on_to_the_same_images(alone, tmp_path, model_file):
    folder, attacked, _ = alone
    command = ["attack", model_file, *ATTACK, "--save", "adv.npz", "--resume"]
    process = start(tmp_path, command)
    shards = tmp_path / "adv.npz.shards"
    while len(list(shards.rglob("*.npz"))) < 2 and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert any(shards.rglob("first-*.npz")) or process.returncode == 0
    [out] = ran([tmp_path], command)
    assert told(out) == told(attacked)
    assert same(tmp_path / "adv.npz", folder / "adv.npz")
    assert not shards.exists()


def test_shards_of_something_else_are_refused(tmp_path):
    asked = {"epsilon": 0.1, "model sha256": "ab"}
    open_journal(tmp_path / "shards", asked)
    assert open_journal(tmp_path / "shards", asked).written
    with pytest.raises(FgsmError, match="another attack, which differs in model sha256"):
        open_journal(tmp_path / "shards", {**asked, "model sha256": "cd"})
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("dear")
    with pytest.raises(FgsmError, match="holds other things"):
        open_journal(tmp_path / "letters", asked)


def test_what_stands_in_the_journal_is_not_computed_again(tmp_path):
    tasks, asked = [np.arange(3), np.arange(3, 5)], []

    def work(_, task):
        asked.append(task)
        return {"square": task**2}

    def pages(journal):
        return [
            (task.tolist(), found["square"].tolist())
            for task, found in journal.spread("first", ALONE, work, tasks, ["a member"])
        ]

    journal = open_journal(tmp_path / "shards", {})
    first = pages(journal)
    assert pages(journal) == first == [([0, 1, 2], [0, 1, 4]), ([3, 4], [9, 16])]
    assert len(asked) == 2
    (tmp_path / "shards" / "first-000001.npz").unlink()
    assert pages(journal) == first
    assert len(asked) == 3
    with pytest.raises(FgsmError, match="not of the images it should be of"):
        list(journal.spread("first", ALONE, work, tasks[::-1], ["a member"]))
    path = tmp_path / "shards" / "first-000000.npz"
    whole = dict(np.load(path))
    for damaged in (
        {name: rows for name, rows in whole.items() if name != "square"},
        {**whole, "square": whole["square"][:2]},
        {**whole, "square": 0 * whole["square"]},
    ):
        np.savez(path, **damaged)
        with pytest.raises(FgsmError, match="does not hold what was written"):
            pages(journal)
    journal.close()
    assert not (tmp_path / "shards").exists()


def test_resume_needs_somewhere_to_keep_shards():
    with pytest.raises(FgsmError, match="--resume needs --save or --output"):
        build(AttackOptions, {"resume": True})


def test_batches_that_do_not_fit_are_halved_and_told():
    sizes = []

    def work(_, task):
        sizes.append(len(task))
        if len(task) > 8:
            raise tf.errors.ResourceExhaustedError(None, None, "no room")
        return {"places": task}

    tasks = [np.arange(25), np.arange(25, 50)]
    for task, found in ALONE.spread(work, tasks, ["a member"]):
        assert np.array_equal(found["places"], task)
        assert "were halved to 6" in note_of_fitting(found, 25)
    assert sizes == [25, 12, 6, 6, 6, 6, 1, 6, 6, 6, 6, 1]  # what was too large is not tried again
    assert note_of_fitting({"places": task}, 25) is None


def test_a_judgement_whose_batches_do_not_fit_is_the_same(classifier, images, monkeypatch):
    def tight(*arguments, **options):
        work = opening(*arguments, **options)

        def within(member, task):
            if len(task) > 8:
                raise tf.errors.ResourceExhaustedError(None, None, "no room")
            return work(member, task)

        return within

    def judged():
        contests = [(attack_named("pgd", epsilon=0.1, steps=3, restarts=2),)]
        sizes = {"batch_size": 25, "seed": 0, "progress": lambda *_: None}
        return judge(classifier, images.take(np.arange(50)), contests, **sizes)

    roomy = judged()
    monkeypatch.setattr(judging, "opening", tight)
    halved = judged()
    assert halved.results[0].flipped == roomy.results[0].flipped > 0
    assert np.array_equal(halved.still, roomy.still)
    [note] = set(halved.warnings) - set(roomy.warnings)
    assert "batches of 25 images did not fit" in note


def test_where_not_one_image_fits_it_is_said():
    def work(*_):
        raise tf.errors.ResourceExhaustedError(None, None, "no room")

    with pytest.raises(FgsmError, match="not even one image fits"):
        list(ALONE.spread(work, [np.arange(4)], ["a member"]))


@pytest.mark.parametrize(
    ("told_by", "expected"),
    [
        ("{", "TF_CONFIG must be a JSON object"),
        ("[]", "TF_CONFIG must be a JSON object"),
        (
            '{"cluster": {"worker": ["a:1", "b"]}, "task": {"type": "worker", "index": 0}}',
            "host:port",
        ),
        (
            '{"cluster": {"worker": ["a:1", "b:99999"]}, "task": {"type": "worker", "index": 0}}',
            "host:port",
        ),
        (
            '{"cluster": {"worker": ["a:1", "a:1"]}, "task": {"type": "worker", "index": 0}}',
            "its own address. Received twice: a:1",
        ),
        (
            '{"cluster": {"chief": ["a:1", "b:1"]}, "task": {"type": "chief", "index": 0}}',
            "one chief at most",
        ),
        ('{"cluster": {"worker": ["a:1", "b:1"]}}', "TF_CONFIG must name a chief or a worker"),
        (
            '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}}',
            "Received: ps 0",
        ),
    ],
)
def test_an_environment_that_tells_of_no_cluster_is_refused(told_by, expected, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", told_by)
    crew_of.cache_clear()
    with pytest.raises(FgsmError, match=expected):
        crew_of("auto", "tf-config")
    crew_of.cache_clear()


def test_a_cluster_of_one_is_none(monkeypatch):
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["a:1"]}, "task": task}))
    crew_of.cache_clear()
    assert crew_of("auto", "tf-config") is ALONE
    crew_of.cache_clear()


def test_slurm_is_read_by_its_own_resolver(monkeypatch):
    from fgsm_cli.distribution.cluster import _resolver

    with pytest.raises(FgsmError, match="--cluster slurm tells of no cluster"):
        _resolver("slurm")
    for name, value in (
        ("PROCID", "2"),
        ("STEP_NUM_TASKS", "3"),
        ("STEP_NODELIST", "node[1-3]"),
        ("STEP_TASKS_PER_NODE", "1(x3)"),
    ):
        monkeypatch.setenv(f"SLURM_{name}", value)
    found = _resolver("slurm")
    assert found.cluster_spec().as_dict() == {"worker": ["node1:8888", "node2:8888", "node3:8888"]}
    assert (found.task_type, found.task_id) == ("worker", 2)


@pytest.mark.parametrize(("devices", "expected"), [("gpu", "needs a GPU"), ("7", "Received: 7")])
def test_a_device_that_is_not_there_is_refused(devices, expected):
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there are GPUs")
    crew_of.cache_clear()
    with pytest.raises(FgsmError, match=expected):
        crew_of(build(AttackOptions, {"devices": devices}).devices, "tf-config")
    crew_of.cache_clear()


@pytest.mark.parametrize("devices", ["", "two", "0,0", "-1", "auto,cpu"])
def test_devices_are_words_or_numbers(devices):
    with pytest.raises(FgsmError, match="devices must be one of auto, cpu, gpu"):
        build(AttackOptions, {"devices": devices})
