"""What a shell offers after Tab: commands, attacks, image sets; files of its own for the rest."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fgsm_cli.config import IMAGE_SETS
from fgsm_cli.data.readers import NAMED
from fgsm_cli.family import ROWS


def offered(line):
    """The words that ``fgsm`` gives the shell for the last word of a line."""
    result = subprocess.run(
        [sys.executable, "-m", "fgsm_cli"],
        env={
            **os.environ,
            "_FGSM_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(line.count(" ")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    return result.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fgsm tr", ["train", "transfer"]),
        ("fgsm attack --attack p", ["pgd"]),
        ("fgsm eval --attack fgsm --attack ", list(ROWS)),
        ("fgsm train --adversarial ap", ["apgd", "apgd-dlr"]),
        ("fgsm attack --data c", ["cifar10", "cifar100"]),
        ("fgsm attack --target l", ["least-likely"]),
        ("fgsm compare --format m", ["markdown"]),
        ("fgsm attack runs/", []),
        ("fgsm attack --sav", ["--save", "--save-format"]),
    ],
)
def test_what_is_offered(line, words):
    assert offered(line) == words


def test_the_named_image_sets_are_those_that_are_read():
    assert set(IMAGE_SETS) == set(NAMED)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_commands_by_us_and_models_by_itself(tmp_path):
    """The script that --install-completion installs, in a real bash."""
    (tmp_path / "model.keras").touch()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    script = subprocess.run(
        ["fgsm", "--show-completion", "bash"],
        env={**environment, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert re.search(r"complete -o default -F \w+ fgsm", script), "files where we have no words"
    asked = f"{script}\nCOMP_WORDS=(fgsm cur); COMP_CWORD=1; _fgsm_completion fgsm; echo ${{COMPREPLY[@]}}"
    result = subprocess.run(
        ["bash", "-c", asked], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert result.stdout == "curve\n"
