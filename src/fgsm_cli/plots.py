"""Plots for papers: a record as a figure in a file.

heat_map(record, "transfer.svg")
"""

from typing import Any

from .files import whole_file
from .results import Certification, Transfer

__all__ = ["bracket_plot", "heat_map"]

# Cells darker than this carry white numbers.
_DARK = 0.5
# The same bytes for the same record; text stays text.
_PLAIN: Any = {"svg.hashsalt": "fgsm", "svg.fonttype": "none"}


def heat_map(record: Transfer, path: str) -> None:
    """The accuracies of a transfer matrix, numbers in the cells, readable in grey.

    path: .svg, .pdf or .png. Raises FgsmError if it cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure  # not pyplot, which would look for a screen

    shares = [
        [record.between(row, column).adversarial_correct / record.n for column in record.targets]
        for row in record.sources
    ]
    with mpl.rc_context(_PLAIN):
        wide, high = 1.1 * len(record.targets) + 2.5, 0.7 * len(record.sources) + 1.6
        figure = Figure(figsize=(wide, high), layout="constrained")
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
        _save(figure, path)


def bracket_plot(record: Certification, path: str) -> None:
    """Where robust accuracy lies at every epsilon: a band between what is proved and what stands.

    path: .svg, .pdf or .png. Raises FgsmError if it cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    clean = 100 * record.clean_correct / record.n
    epsilons = [0.0, *(one.epsilon for one in record.brackets)]
    low = [clean, *(100 * one.proved / one.n for one in record.brackets)]
    high = [clean, *(100 * one.upper / one.n for one in record.brackets)]
    with mpl.rc_context(_PLAIN):
        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(epsilons, low, high, color="0.85", label="undecided")
        axes.plot(epsilons, high, "o--", color="0.35", label="withstands the attacks")
        axes.plot(epsilons, low, "o-", color="black", label="proved")
        axes.set_xlabel(f"epsilon ({record.norm.capitalize()})")
        axes.set_ylabel(f"accuracy on {record.n:,} images (%)")
        axes.set_ylim(-2, 102)
        axes.legend()
        _save(figure, path)


def _save(figure: Any, path: str) -> None:
    with whole_file(path) as temporary:
        figure.savefig(
            temporary, dpi=300, metadata={"Date": None} if path.endswith(".svg") else None
        )
