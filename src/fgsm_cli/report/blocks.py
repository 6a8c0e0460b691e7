"""Shares as block characters: a bar with its interval, a curve as columns.

    >>> bar(2, 8, 12, BLOCKS)
    '▒▒▒▒▒▒▒▒····'
    >>> bar(500, 2000, 12, BLOCKS)
    '██▒▒········'

Nothing is smoothed: a column is a measured share, and the interval covers every cell it touches.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

from ..results import wilson_interval

BAR_WIDTH = 20
PLOT_HEIGHT = 8


class Characters(NamedTuple):
    """What is drawn with: a full cell, one of the interval, an empty one; a cell by eighths."""

    full: str
    interval: str
    empty: str
    eighths: str
    corner: str
    side: str
    floor: str


BLOCKS = Characters("█", "▒", "·", " ▁▂▃▄▅▆▇█", "└", "│", "─")
ASCII = Characters("#", "=", ".", "   .::###", "+", "|", "-")


def bar(part: int, whole: int, width: int, characters: Characters) -> str:
    """A share of ``width`` cells: full up to its 95 % interval, which is shaded; then empty."""
    low, high = wilson_interval(part, whole) or (0.0, 0.0)
    first, last = floor(low * width), ceil(high * width)
    drawn = first * characters.full + (last - first) * characters.interval
    return drawn.ljust(width, characters.empty)


def columns(
    shares: Sequence[float], ends: tuple[str, str], width: int, characters: Characters
) -> list[str]:
    """The lines of a plot: a column or more for each share, 0 to 100 % high, and the axes.

    ends: what stands below the first and the last share.
    """
    label = 6
    room = max(1, width - label - 1)
    each = max(1, room // len(shares))
    shown = [share for share in shares for _ in range(each)]
    if len(shown) > room:  # more shares than columns: those that lie evenly among them
        places = (round(one * (len(shown) - 1) / (room - 1)) for one in range(room))
        shown = [shown[place] for place in places]
    lines = []
    for row in reversed(range(PLOT_HEIGHT)):
        parts = (round(share * PLOT_HEIGHT * 8) - row * 8 for share in shown)
        cells = "".join(characters.eighths[min(8, max(0, part))] for part in parts)
        tick = {PLOT_HEIGHT - 1: "100 %", PLOT_HEIGHT // 2 - 1: "50 %"}.get(row, "")
        lines.append(f"{tick:>{label}}{characters.side}{cells}".rstrip())
    lines.append(" " * label + characters.corner + characters.floor * len(shown))
    lines.append(" " * (label + 1) + ends[0] + ends[1].rjust(len(shown) - len(ends[0])))
    return lines
