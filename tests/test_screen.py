"""What goes on, told on stderr: notes, rates, and how much of it."""

import re

import pytest

from fgsm_cli.cli import application, main
from terminal import screen_of

LOUD = {
    command.name: {one.name for one in command.callback.__signature__.parameters.values()}
    for command in application().registered_commands
    if hasattr(command.callback, "__signature__")
}


@pytest.fixture
def streams(tmp_path, monkeypatch, capfd):
    """Run ``fgsm`` in this process and an empty folder: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return main([str(one) for one in arguments]), *capfd.readouterr()

    return run


def test_every_command_that_works_can_be_quiet_or_verbose():
    assert LOUD
    assert all({"quiet", "verbose"} <= names for names in LOUD.values())


@pytest.mark.parametrize("flags", [["--quiet"], [], ["--verbose"]], ids=str)
def test_the_result_is_the_same_however_loud(flags, streams):
    train = ("train", "--epochs", 1, "-n", 500, "--hidden", "none", "-o", "model")
    assert streams(*train, *flags)[0] == 0
    code, out, err = streams(*train, "--retrain", *flags)
    assert code == 0
    assert "training" in out
    noted, timed = "Replacing" in err, re.search(r"^Training: .* at [\d,]+/s$", err, re.MULTILINE)
    assert (noted, timed is not None) == (flags != ["--quiet"], flags == ["--verbose"])
    if flags == ["--quiet"]:
        assert err == ""


def test_errors_are_told_even_to_the_quiet(streams):
    code, out, err = streams("attack", "--quiet", "--data", "absent.npz")
    assert (code, out) == (2, "")
    assert "absent.npz" in err


def test_quiet_and_verbose_exclude_each_other(streams):
    assert streams("attack", "-q", "-v") == (
        2, "", "Error: --quiet and --verbose exclude each other; expected only one\n",
    )  # fmt: skip


@pytest.mark.parametrize("flag", [None, "--quiet"])
def test_a_person_sees_rate_and_time_left(flag, model_file, tmp_path):
    flags = [flag] if flag else []
    command = ("attack", model_file, "-a", "pgd", "-n", 3000, "-b", 500, *flags)
    code, shown = screen_of(*command, cwd=tmp_path, COLUMNS="120")
    assert code == 0, shown
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown)
    found = re.search(rb"Attacking .*% +[\d,]+/s +\d:\d\d:\d\d", text)
    assert (found is None) == (flag is not None)
