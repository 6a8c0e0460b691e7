"""Charts as numbers: where lines, bands and bars stand on a sheet of fixed size.

    chart([Series("FGSM", xs, ys, low, high)], title="Accuracy over epsilon", ...)

The template draws them as SVG; there is nothing here but proportion.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from .blocks import Bar, Chart, Line, Table, Tick

# The sheet, and on it the field inside the axes; the template's view box is the same.
LEFT, RIGHT, TOP, BOTTOM = 58.0, 548.0, 24.0, 286.0


MARKS = 3


@dataclass(frozen=True)
class Series:
    """Values over x, with the ends of their intervals where they have some.

    look: 0 a line with dots, 1 dashed, 2 dotted with squares, each with a band between low and
        high; from ``MARKS`` on, to 6, marks only, with a whisker each.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    look: int = 0


@dataclass(frozen=True)
class Axis:
    """A stretch of values, and what it is called."""

    label: str
    low: float
    high: float
    percent: bool = False

    def ticks(self, count: int = 6) -> list[float]:
        """Round values on the axis, about so many."""
        step = nice((self.high - self.low) / count)
        first = floor(self.low / step + 0.999)
        found = [(first + place) * step for place in range(2 * count + 2)]
        return [value for value in found if value <= self.high + step / 1000]

    def text(self, value: float) -> str:
        """A value as the axis writes it."""
        return f"{100 * value:.4g} %" if self.percent else f"{value:,.6g}"


def nice(step: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below the step."""
    size = 10.0 ** floor(log10(step)) if step > 0 else 1.0
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= step * 0.999)


def chart(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    *,
    title: str,
    description: str,
    upright: tuple[float, str] | None = None,
    moves: bool = False,
    table: Table | None = None,
    note: str = "",
) -> Chart:
    """Lines over x, with their bands and marks."""
    return Chart(
        title=title,
        description=description,
        x_label=x.label,
        y_label=y.label,
        x_ticks=[Tick(_across(x, one), x.text(one)) for one in x.ticks()],
        y_ticks=[Tick(_up(y, one), y.text(one)) for one in y.ticks(5)],
        lines=[_line(one, x, y) for one in series],
        upright=Tick(_across(x, upright[0]), upright[1]) if upright else None,
        moves=moves,
        table=table,
        note=note,
    )


def histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    beyond: int,
    *,
    title: str,
    description: str,
    table: Table,
    upright: tuple[float, str] | None = None,
    note: str = "",
) -> Chart:
    """Bars between the edges; those beyond the last edge stand apart at the right."""
    room = (edges[-1] - edges[0]) * 1.09
    x = Axis("smallest epsilon that turns an image", edges[0], edges[0] + room)
    y = Axis("images", 0, max(*counts, beyond, 1) * 1.05)
    bars = [
        _bar(x, y, low, high, n) for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    bars.append(_bar(x, y, edges[0] + 1.03 * (edges[-1] - edges[0]), x.high, beyond, apart=True))
    return Chart(
        title=title,
        description=description,
        x_label=x.label,
        y_label=y.label,
        x_ticks=[
            Tick(_across(x, one), x.text(one)) for one in x.ticks() if one <= edges[-1] * 1.001
        ],
        y_ticks=[Tick(_up(y, one), y.text(one)) for one in y.ticks(5) if one == int(one)],
        bars=bars,
        upright=Tick(_across(x, upright[0]), upright[1]) if upright else None,
        table=table,
        note=note,
    )


def _bar(x: Axis, y: Axis, low: float, high: float, n: int, *, apart: bool = False) -> Bar:
    left, right, top = _across(x, low), _across(x, high), _up(y, n)
    where = "never" if apart else f"{low:.4g} to {high:.4g}"
    width = max(right - left - 1, 0.5)
    return Bar(left + 0.5, top, round(width, 2), round(BOTTOM - top, 2), f"{where}: {n:,}", apart)


def _across(axis: Axis, value: float) -> float:
    share = (value - axis.low) / ((axis.high - axis.low) or 1)
    return round(LEFT + share * (RIGHT - LEFT), 2)


def _up(axis: Axis, value: float) -> float:
    share = (value - axis.low) / ((axis.high - axis.low) or 1)
    return round(BOTTOM - share * (BOTTOM - TOP), 2)


def _line(series: Series, x: Axis, y: Axis) -> Line:
    xs = [_across(x, one) for one in series.xs]
    ys, low, high = (
        [_up(y, one) for one in values]
        for values in (series.ys, series.low or series.ys, series.high or series.ys)
    )
    forth = [f"{one:g},{other:g}" for one, other in zip(xs, high, strict=True)]
    back = [f"{one:g},{other:g}" for one, other in zip(xs, low, strict=True)][::-1]
    return Line(
        name=series.name,
        look=series.look,
        path=" ".join(f"{one:g},{other:g}" for one, other in zip(xs, ys, strict=True)),
        band=" ".join([*forth, *back]) if series.low and series.look < MARKS else "",
        marks=list(zip(xs, ys, low, high, strict=True)),
    )
