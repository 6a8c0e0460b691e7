"""Plots for papers: a record as a figure in a file.

heat_map(record, "transfer.svg")
curves(lines, "curve.pdf")
bracket_plot(record, "bracket.svg")
grid(gallery, "grid.png")
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .files import whole_file
from .images import levels, stretched
from .results import Answer, Certification, Gallery, Line, Transfer

# Cells darker than this carry white numbers.
_DARK = 0.5
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
STYLES = ("-", "--", "-.", ":")
# So many epsilons, 0 among them, are points and no line.
FEW = 2
MARKERS = ("o", "s", "^", "D", "v", "x", "P", "*", "<")


def heat_map(record: Transfer, path: str) -> None:
    """The accuracies of a transfer matrix, numbers in the cells, readable in grey.

    path: .svg, .pdf or .png. Raises FgsmError if it cannot be written.
    """
    shares = [
        [record.between(row, column).adversarial_correct / record.n for column in record.targets]
        for row in record.sources
    ]
    with _figures() as figure_class:
        wide, high = 1.1 * len(record.targets) + 2.5, 0.7 * len(record.sources) + 1.6
        figure = figure_class(figsize=(wide, high), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1)
        axes.set_xticks(
            range(len(record.targets)), record.targets, rotation=30, ha="right", parse_math=False
        )
        axes.set_yticks(range(len(record.sources)), record.sources, parse_math=False)
        axes.set_xlabel("judged on")
        axes.set_ylabel("crafted on")
        axes.set_title(
            f"{record.attack.row.title}, {record.attack.norm.capitalize()}, "
            f"epsilon {record.attack.epsilon:.4g}: accuracy on {record.n:,} images (%)"
        )
        for row, values in enumerate(shares):
            for column, share in enumerate(values):
                colour = "white" if share < _DARK else "black"
                axes.text(column, row, f"{100 * share:.1f}", ha="center", va="center", color=colour)
        figure.colorbar(image, format=lambda share, _: f"{100 * share:.0f} %")
        _write(figure, path)


def curves(lines: Sequence[Line], path: str) -> None:
    """Accuracies over epsilon with their 95 % intervals, one line a model and attack.

    As wide as a column of a paper. A single epsilon is a point with its interval. Lines differ in
    colour (Okabe and Ito 2008, told apart by the colour-blind), in style and in marker, so that
    they can be told apart in grey.
    path and errors as in ``heat_map``.
    """
    with _figures() as figure_class:
        figure = figure_class(figsize=(3.4, 2.6), layout="constrained")
        axes = figure.subplots()
        for place, line in enumerate(lines):
            epsilons = [point.epsilon for point in line.points]
            look = {
                "color": COLOURS[place % len(COLOURS)],
                "linestyle": STYLES[place % len(STYLES)],
                "marker": MARKERS[place % len(MARKERS)],
                "markevery": max(1, len(epsilons) // 8),
            }
            shares = [100 * point.accuracy for point in line.points]
            low, high = ([100 * end for end in ends] for ends in _ends(line))
            if len(epsilons) <= FEW:  # nothing is known between them
                ends = np.abs(np.array([low, high]) - shares)
                look = {**look, "linestyle": "", "markevery": 1}
                axes.errorbar(epsilons, shares, ends, label=line.label, markersize=4, **look)
                continue
            axes.plot(epsilons, shares, label=line.label, linewidth=1.2, markersize=4, **look)
            axes.fill_between(epsilons, low, high, color=look["color"], alpha=0.2, linewidth=0)
        axes.set_xlabel(f"epsilon ({lines[0].norm.capitalize()})", fontsize=8)
        axes.set_ylabel("accuracy (%)", fontsize=8)
        axes.set_ylim(0, 100)
        axes.set_xlim(left=0)
        axes.tick_params(labelsize=7)
        axes.grid(linewidth=0.3, alpha=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if len(lines) > 1:
            for text in axes.legend(fontsize=6, frameon=False).get_texts():
                text.set_parse_math(False)
        _write(figure, path)


def _ends(line: Line) -> tuple[list[float], list[float]]:
    return [point.low for point in line.points], [point.high for point in line.points]


def bracket_plot(record: Certification, path: str) -> None:
    """Where robust accuracy lies at every epsilon: a band between what is proved and what stands.

    path: .svg, .pdf or .png. Raises FgsmError if it cannot be written.
    """
    clean = 100 * record.clean_correct / record.n
    epsilons = [0.0, *(one.epsilon for one in record.brackets)]
    low = [clean, *(100 * one.proved / one.n for one in record.brackets)]
    high = [clean, *(100 * one.upper / one.n for one in record.brackets)]
    with _figures() as figure_class:
        figure = figure_class(figsize=(5.2, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(epsilons, low, high, color="0.85", label="undecided")
        axes.plot(epsilons, high, "o--", color="0.35", label="withstands the attacks")
        axes.plot(epsilons, low, "o-", color="black", label="proved")
        axes.set_xlabel(f"epsilon ({record.norm.capitalize()})")
        axes.set_ylabel(f"accuracy on {record.n:,} images (%)")
        axes.set_ylim(-2, 102)
        axes.legend()
        _write(figure, path)


def grid(gallery: Gallery, path: str) -> None:
    """A row an image: original, and of each attack the perturbation and the adversarial image.

    Under each image stands the model's answer. path and errors as in ``heat_map``; also
    FgsmError for images that are no pictures.
    """
    with _figures() as figure_class:
        first = gallery.images[0]
        panels = [name for moved in first.moved for name in ("perturbation", moved.title)]
        titles = ["original", *panels] if first.clean is not None else panels[1::2]
        figure = figure_class(
            figsize=(1.25 * len(titles) + 0.5, 1.5 * len(gallery.images) + 0.3),
            layout="constrained",
        )
        rows = figure.subplots(len(gallery.images), len(titles), squeeze=False)
        for axes, title in zip(rows[0], titles, strict=True):
            axes.set_title("\n".join(title.split(", ")), fontsize=8, parse_math=False)
        for row, one in zip(rows, gallery.images, strict=True):
            shown: list[tuple[Any, str]] = []
            for moved in one.moved:
                if one.clean is not None:
                    shown.append((stretched(moved.pixels - one.clean), f"at most {moved.linf:.4g}"))
                shown.append((levels(moved.pixels), _told(gallery, moved.answer)))
            if one.clean is not None:
                shown.insert(0, (levels(one.clean), _told(gallery, one.answer)))
            for axes, (picture, told) in zip(row, shown, strict=True):
                axes.imshow(picture, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
                axes.set_xticks([])
                axes.set_yticks([])
                axes.set_xlabel(told, fontsize=8, parse_math=False)
            label = "" if one.label is None else gallery.name(one.label)
            row[0].set_ylabel(
                label, fontsize=8, rotation=0, ha="right", va="center", parse_math=False
            )
        _write(figure, path)


def _told(gallery: Gallery, answer: Answer | None) -> str:
    return f"{gallery.name(answer.label)} ({100 * answer.confidence:.1f} %)" if answer else ""


@contextlib.contextmanager
def _figures() -> Iterator[Any]:
    """Matplotlib's figures, without pyplot, which would look for a screen."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "fgsm", "svg.fonttype": "none", "pdf.fonttype": 42}):
        yield Figure


def _write(figure: Any, path: str) -> None:
    """The figure as a file, the same bytes at any time. Raises FgsmError if that fails."""
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=300, metadata=undated.get(temporary.suffix))
