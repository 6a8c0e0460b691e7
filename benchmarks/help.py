"""What a user waits for the help of the command, which needs no TensorFlow."""

import subprocess
import sys

from .commands import FGSM
from .measure import Plan, Row, at_most, compare, interleaved, median, process

GOAL_SECONDS = 0.4


def run(plan: Plan) -> list[Row]:
    """Time ``fgsm --help``, having made sure that it does not import TensorFlow."""
    check_imports()
    samples = interleaved({"fgsm --help": process(FGSM, "--help")}, plan.repeats)
    goal = at_most(GOAL_SECONDS, median(samples["fgsm --help"], "seconds"), "s")
    return compare("help", samples, ours="fgsm --help", goals={"fgsm --help": goal})


def check_imports() -> None:
    """Raise SystemExit if the help imports TensorFlow or Keras; Python itself keeps the list."""
    command = [sys.executable, "-X", "importtime", "-m", "fgsm_cli", "--help"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    modules = {line.rpartition("|")[2].strip() for line in listed.splitlines()}
    if heavy := modules & {"tensorflow", "keras"}:
        raise SystemExit(f"fgsm --help must not import {' or '.join(sorted(heavy))}, but it does")
