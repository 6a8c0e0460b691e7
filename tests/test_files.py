"""Files appear whole or not at all."""

import hashlib
import os
import subprocess
import sys

import pytest

from fgsm_cli import FgsmError
from fgsm_cli.files import make_folder, sha256, sha256_of_all, whole_file, whole_folder, within


def test_the_target_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "new" / "a.txt"
    with whole_file(target) as temporary:
        temporary.write_text("done")
        assert not target.exists()
        assert temporary.suffix == target.suffix
    assert target.read_text() == "done"
    assert os.listdir(target.parent) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(error, tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(error), whole_file(target) as temporary:
        temporary.write_text("half")
        raise error
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_full_disk_is_told_in_one_sentence(tmp_path):
    with pytest.raises(FgsmError, match=r"cannot write .*a.txt: No space left on device"):
        with whole_file(tmp_path / "a.txt"):
            raise OSError(28, "No space left on device")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(FgsmError, match="cannot make the folder .*: it is a file"):
        make_folder(tmp_path / "a")


def test_the_digest_of_several_files_is_that_of_what_sha256sum_prints(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_bytes(b"first" * 500_000)
    (tmp_path / "sub" / "b").write_bytes(b"second")
    lines = "".join(
        f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("a", "sub/b")
    )
    paths = [str(tmp_path / "a"), str(tmp_path / "sub" / "b")]
    assert sha256_of_all(paths) == hashlib.sha256(lines.encode()).hexdigest()
    assert sha256(paths[0]) == lines[:64]


def test_the_digest_of_several_files_does_not_depend_on_how_they_are_named(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"first")
    (tmp_path / "b").write_bytes(b"second")
    monkeypatch.chdir(tmp_path)
    digest = sha256_of_all([str(tmp_path / "a"), str(tmp_path / "b")])
    assert sha256_of_all(["a", str(tmp_path / "b")]) == digest
    assert sha256_of_all(["a", "b"]) == digest


def filled(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "part").write_text(text)


def test_a_whole_folder_replaces_what_is_ours_and_nothing_else(tmp_path):
    place = tmp_path / "set"
    filled(place, "old")
    with pytest.raises(FgsmError, match="it holds other things"):
        with whole_folder(place, lambda _: False):
            pytest.fail("refused before anything is written")
    with whole_folder(place, lambda _: True) as folder:
        filled(folder, "new")
        assert (place / "part").read_text() == "old", "until the end"
    assert (place / "part").read_text() == "new"
    assert os.listdir(tmp_path) == ["set"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_a_folder_that_cannot_be_finished_leaves_the_old_one(error, tmp_path):
    place = tmp_path / "set"
    filled(place, "old")
    with pytest.raises((FgsmError, KeyboardInterrupt)):
        with whole_folder(place, lambda _: True) as folder:
            filled(folder, "half")
            raise error
    assert (place / "part").read_text() == "old"
    assert os.listdir(tmp_path) == ["set"]


def test_what_a_killed_process_left_is_taken_away_and_a_living_ones_is_not(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name in (f".a.{gone.pid}.npz", f".a.{os.getppid()}.npz", ".a.thesis.npz", ".ab.1.npz"):
        (tmp_path / name).write_text("")
    with whole_file(tmp_path / "a.npz") as temporary:
        temporary.write_text("done")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"a.npz", f".a.{os.getppid()}.npz", ".a.thesis.npz", ".ab.1.npz"}


@pytest.mark.parametrize(
    ("path", "is_within"), [("a", True), ("a/b/c", True), ("ab", False), ("link/b", True)]
)
def test_within_follows_links(path, is_within, tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert within(tmp_path / path, tmp_path / "a") == is_within
