"""The rows as a figure: how many times our time everyone takes."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from .measure import Row

BLUE, ORANGE = "#0072b2", "#d55e00"


def draw(rows: Sequence[Row], path: Path) -> None:
    """Horizontal bars on a logarithmic scale, from the line at 1, which is ours."""
    shown = [row for row in rows if row.times_ours != 1]
    figure = Figure(figsize=(7, 0.26 * len(shown) + 1), layout="constrained")
    axes = figure.subplots()
    ratios = [row.times_ours for row in shown]
    places = range(len(shown))
    axes.barh(
        places,
        [ratio - 1 for ratio in ratios],
        left=1,
        color=[BLUE if ratio >= 1 else ORANGE for ratio in ratios],
        height=0.7,
    )
    axes.axvline(1, color="black", linewidth=1)
    for place, ratio in enumerate(ratios):
        axes.annotate(
            f"{ratio:.2g}",
            (max(ratio, 1), place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    axes.set_xscale("log")
    axes.set_yticks(places, [f"{row.benchmark}: {row.contestant}" for row in shown], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("median time, as a multiple of fgsm's in the same run")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    figure.savefig(path)
