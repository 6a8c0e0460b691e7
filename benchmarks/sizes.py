"""How time and memory grow with the images: ``fgsm attack`` on files of 1,000 to 1,000,000.

The files hold the MNIST test images over and over, so that the accuracy is known: it is that of
the first ones. Memory is to stay where it is.
"""

import json
import tempfile
from pathlib import Path

import numpy as np

from .commands import FGSM, MNIST
from .measure import Plan, Row, Sample, at_most, compare, interleaved, median, run_process

SIZES = (1_000, 10_000, 100_000, 1_000_000)
FLAT = 1.1


def run(plan: Plan) -> list[Row]:
    """Time each size; the largest may take at most a tenth more memory than 10,000 images."""
    sizes = SIZES if plan.images >= SIZES[1] else SIZES[:3]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            write(Path(folder), size)
        samples = interleaved(
            {
                f"{size:,} images": lambda _, size=size: attacked(plan, Path(folder), size)
                for size in sizes
            },
            min(plan.repeats, 3),
        )
    rows, usual = [], median(samples[f"{SIZES[1]:,} images"], "peak_bytes")
    for size, name in zip(sizes, samples, strict=True):
        growth = median(samples[name], "peak_bytes") / usual
        goals = {name: at_most(FLAT, growth, "of the memory")} if size > SIZES[1] else {}
        rows += compare("sizes", {name: samples[name]}, ours=name, images=size, goals=goals)
    return rows


def write(folder: Path, size: int) -> None:
    """The images and labels of a size, as ``N.npy`` with its labels beside it."""
    with np.load(MNIST) as arrays:
        x, y = arrays["x_test"], arrays["y_test"]
    path = folder / str(size)
    path.mkdir()
    images = np.lib.format.open_memmap(
        path / "x_test.npy", mode="w+", dtype=x.dtype, shape=(size, *x.shape[1:])
    )
    for start in range(0, size, len(x)):
        part = images[start : start + len(x)]
        part[:] = x[: len(part)]
    images.flush()
    np.save(path / "y_test.npy", np.resize(y, size))


def attacked(plan: Plan, folder: Path, size: int) -> Sample:
    """One process, having made sure that it counts them all."""
    data = ("--data", str(folder / str(size)), "--epsilon", "0.1", "--format", "json", "--quiet")
    sample, printed = run_process(FGSM, "attack", str(plan.model), *data)
    record = json.loads(printed)
    if record["n"] != size:
        raise SystemExit(f"fgsm attack must judge {size:,} images, but it judged {record['n']:,}")
    return Sample(sample.seconds, sample.peak_bytes, record["adversarial_accuracy"])
