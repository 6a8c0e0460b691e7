"""Fair measurements: contestants in turn, medians with their spread, processes with their memory.

    samples = interleaved({"ours": timed(craft), "CleverHans": timed(peer)}, repeats=5)
    rows = compare("fgsm", samples, ours="ours")

A machine grows warm and its neighbours come and go; contestants that take turns, A B C A B C,
share all of it. A median forgets a disturbed repeat, and the spread shows that there was one.
"""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The threads of a matrix library go on spinning for some hundredths of a second after their
# work, and would take the processor from whoever comes next.
PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class Plan:
    """What a run of the benchmarks has in common.

    model: the default model on disk, as ``fgsm train`` makes it.
    repeats: samples of each contestant.
    batch_sizes: those among which each library gets the one it is fastest with.
    images: how many the long benchmarks take.
    """

    model: Path
    repeats: int
    batch_sizes: tuple[int, ...]
    images: int

    @property
    def long_batch_sizes(self) -> tuple[int, ...]:
        """The batch sizes that the long benchmarks can fill."""
        return tuple(size for size in self.batch_sizes if size <= self.images)


@dataclass(frozen=True)
class Sample:
    """One measurement: wall-clock seconds, and what else there was to see."""

    seconds: float
    peak_bytes: int | None = None
    accuracy: float | None = None


@dataclass(frozen=True)
class Goal:
    """A bound, and whether the measured value keeps it."""

    text: str
    value: float
    met: bool


@dataclass(frozen=True)
class Row:
    """One contestant of one benchmark.

    images: how many it handles in a repeat, where that makes sense.
    times_ours: its median time as a multiple of ours.
    """

    benchmark: str
    contestant: str
    samples: tuple[Sample, ...]
    times_ours: float
    images: int | None = None
    batch_size: int | None = None
    goal: Goal | None = None


def at_most(bound: float, value: float, unit: str) -> Goal:
    """The goal of a value that is to stay low."""
    return Goal(f"at most {bound:g} {unit}", value, value <= bound)


def at_least(bound: float, value: float, unit: str) -> Goal:
    """The goal of a value that is to be high."""
    return Goal(f"at least {bound:g} {unit}", value, value >= bound)


def interleaved(
    contestants: Mapping[str, Callable[[int], Sample]],
    repeats: int,
    *,
    patience: float = math.inf,
) -> dict[str, tuple[Sample, ...]]:
    """One sample of each contestant in turn, then the next of each; each is told its repeat.

    patience: a contestant whose samples add up to so many seconds sits out the turns left.
    """
    samples: dict[str, list[Sample]] = {name: [] for name in contestants}
    for repeat in range(repeats):
        for name, measure in contestants.items():
            if sum(sample.seconds for sample in samples[name]) < patience:
                time.sleep(PAUSE_SECONDS)
                samples[name].append(measure(repeat))
    return {name: tuple(taken) for name, taken in samples.items()}


def fastest(action: Callable[[int], Any], batch_sizes: Sequence[int], repeats: int) -> int:
    """The batch size that an action is fastest with; trying them also warms it up."""
    measure = {size: timed(lambda size=size: action(size)) for size in batch_sizes}
    for size in batch_sizes:
        measure[size](0)  # the first call of a size may compile
    tried = interleaved(measure, repeats)
    return min(tried, key=lambda size: median(tried[size], "seconds"))


def check_agreement(
    name: str, theirs: Sequence[float], own: Sequence[float], tolerance: float
) -> None:
    """Raise SystemExit unless another's accuracies are ours for the literal loss, or near them."""
    apart = max(abs(one - other) for one, other in zip(theirs, own, strict=True))
    if apart > tolerance:
        raise SystemExit(
            f"{name} and fgsm with the loss ce-float32 must find accuracies within "
            f"{100 * tolerance:g} points of each other, but they are {100 * apart:.2f} apart"
        )


def compare(
    benchmark: str,
    samples: Mapping[str, tuple[Sample, ...]],
    *,
    ours: str,
    images: int | None = None,
    batch_sizes: Mapping[str, int] | None = None,
    goals: Mapping[str, Goal] | None = None,
) -> list[Row]:
    """A row a contestant, its median time set against ours."""
    return [
        Row(
            benchmark=benchmark,
            contestant=name,
            samples=taken,
            times_ours=ratio(taken, samples[ours]),
            images=images,
            batch_size=(batch_sizes or {}).get(name),
            goal=(goals or {}).get(name),
        )
        for name, taken in samples.items()
    ]


def ratio(samples: Sequence[Sample], others: Sequence[Sample]) -> float:
    """The median time of some samples over that of others."""
    return median(samples, "seconds") / median(others, "seconds")


def median(samples: Sequence[Sample], field: str) -> float:
    """The median of one field of the samples."""
    return statistics.median(getattr(sample, field) for sample in samples)


def scored(action: Callable[[], float]) -> Callable[[int], Sample]:
    """The action as a contestant that finds an accuracy."""

    def measure(_: int) -> Sample:
        start = time.perf_counter()
        accuracy = action()
        return Sample(time.perf_counter() - start, accuracy=accuracy)

    return measure


def timed(action: Callable[[], Any]) -> Callable[[int], Sample]:
    """The action as a contestant: its result is thrown away within the clock."""

    def measure(_: int) -> Sample:
        start = time.perf_counter()
        action()
        return Sample(time.perf_counter() - start)

    return measure


def process(*command: str) -> Callable[[int], Sample]:
    """The command as a contestant: from its start to its end, and its largest memory."""

    def measure(_: int) -> Sample:
        return run_process(*command)[0]

    return measure


def run_process(*command: str) -> tuple[Sample, str]:
    """Run a command to its end: its time and peak memory, and what it printed.

    Linux hands the peak of the parent down to the child, so measure processes while this one
    is still small: before it loads TensorFlow. Raises SystemExit if the command fails.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{errors.read().decode()}")
        unit = 1 if sys.platform == "darwin" else 1024
        return Sample(seconds, peak_bytes=usage.ru_maxrss * unit), output.read().decode()
