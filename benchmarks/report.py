"""Rows as a table, for the screen or for a page in Markdown, and as a JSON document."""

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from .measure import Row, median

LIBRARIES = (
    "fgsm-cli",
    "tensorflow",
    "keras",
    "numpy",
    "cleverhans",
    "foolbox",
    "adversarial-robustness-toolbox",
)

WIDTH = 180  # wide enough that no row is broken in two


def circumstances() -> dict[str, Any]:
    """What the numbers depend on: day, machine, versions."""
    return {
        "date": datetime.date.today().isoformat(),
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }


def as_document(rows: Sequence[Row], repeats: int) -> dict[str, Any]:
    """Everything measured, down to the single sample."""
    return {
        **circumstances(),
        "repeats": repeats,
        "rows": [
            {
                "median_seconds": median(row.samples, "seconds"),
                "min_seconds": min(sample.seconds for sample in row.samples),
                "max_seconds": max(sample.seconds for sample in row.samples),
                **asdict(row),
            }
            for row in rows
        ],
    }


def print_rows(rows: Sequence[Row], repeats: int, *, markdown: bool) -> None:
    """A line on the circumstances, then one table of all rows."""
    facts = circumstances()
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    table = Table(box=box.MARKDOWN if markdown else box.SIMPLE)
    for heading in ("Benchmark", "Who"):
        table.add_column(heading)
    for heading in ("Median", "Min..max", "Images/s", "Times ours"):
        table.add_column(heading, justify="right")
    for heading in ("Also", "Goal", "Met"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*_cells(row, repeats))
    console = Console(width=WIDTH, highlight=False, markup=False, emoji=False)
    console.print(
        f"Measured {facts['date']} with {facts['cpus']} CPUs ({facts['system']} "
        f"{facts['machine']}), Python {facts['python']}, {versions}; "
        f"medians of {repeats} interleaved repeats unless another number is said.",
        soft_wrap=True,
    )
    console.print(table)


def _cells(row: Row, repeats: int) -> tuple[str, ...]:
    seconds = [sample.seconds for sample in row.samples]
    middle = median(row.samples, "seconds")
    return (
        row.benchmark,
        row.contestant,
        f"{middle:.3f} s",
        f"{min(seconds):.3f}..{max(seconds):.3f}",
        f"{row.images / middle:,.0f}" if row.images else "",
        f"{row.times_ours:.2f}",
        _also(row, repeats),
        row.goal.text if row.goal else "",
        f"{'yes' if row.goal.met else 'no'}: {row.goal.value:.4g}" if row.goal else "",
    )


def _also(row: Row, repeats: int) -> str:
    """What was seen beside the time."""
    notes = []
    if len(row.samples) != repeats:
        notes.append(f"{len(row.samples)} repeat{'s' * (len(row.samples) > 1)}")
    if row.batch_size:
        notes.append(f"batches of {row.batch_size:,}")
    if row.samples[0].peak_bytes is not None:
        notes.append(f"{median(row.samples, 'peak_bytes') / 2**20:,.0f} MiB at most")
    if row.samples[0].accuracy is not None:
        notes.append(f"accuracy {median(row.samples, 'accuracy'):.4f}")
    return ", ".join(notes)
