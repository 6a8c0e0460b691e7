"""The whole command against the least any tool must do: one attack, from start to exit.

``fgsm attack`` checks its input, crafts 10,000 adversarial images and judges them; the bare
process (``bare_process.py``) only loads Keras, the same model and the same images, and predicts.
"""

import json
import sys

from .commands import FGSM, MNIST
from .measure import Plan, Row, at_most, compare, interleaved, median, process, ratio, run_process

GOAL = 1.2
MEMORY_GOAL = 150  # MiB
IMAGES = 10_000


def run(plan: Plan) -> list[Row]:
    """Time both processes, having made sure that they see the same model and images."""
    ours = (FGSM, "attack", str(plan.model), "--epsilon", "0.1", "--format", "json")
    bare = (sys.executable, "-m", "benchmarks.bare_process", str(plan.model), MNIST)
    check_equal_work(ours, bare)
    samples = interleaved(
        {"fgsm attack": process(*ours), "bare process": process(*bare)}, plan.repeats
    )
    slowdown = ratio(samples["fgsm attack"], samples["bare process"])
    ours_peak, bare_peak = (median(taken, "peak_bytes") / 2**20 for taken in samples.values())
    goals = {
        "fgsm attack": at_most(GOAL, slowdown, "times bare"),
        "bare process": at_most(MEMORY_GOAL, ours_peak - bare_peak, "MiB less than fgsm attack"),
    }
    return compare("process", samples, ours="fgsm attack", images=IMAGES, goals=goals)


def check_equal_work(ours: tuple[str, ...], bare: tuple[str, ...]) -> None:
    """Raise SystemExit unless both count the same right answers on all the clean images.

    Running each once also warms the disk cache for both.
    """
    record = json.loads(run_process(*ours)[1])
    correct = int(run_process(*bare)[1])
    if (record["n"], record["clean_correct"]) != (IMAGES, correct):
        raise SystemExit(
            f"fgsm attack counts {record['clean_correct']} right answers on {record['n']} clean "
            f"images, the bare process {correct} on {IMAGES}; they must see the same"
        )
