"""A record for people: its view on a rich console, its warnings and files below."""

from typing import Any

from ..results import Gallery, Judgement
from .blocks import ASCII, BAR_WIDTH, BLOCKS, Characters, bar, columns
from .gallery import Graphics, can_draw, draw
from .view import View
from .views import VIEWS, Shown

# Below so many columns the table does without what it can spare.
ROOMY = 60
# The widest plot of a curve, in columns.
CURVE_WIDTH = 72


def print_table(record: Shown, console: Any, graphics: Graphics = "auto") -> None:
    """The record for people, on a rich console; nothing in it is cut off, however narrow.

    graphics: how images are drawn, where there are any.
    """
    from rich.text import Text

    def say(text: str, style: str = "") -> None:
        # On a screen lines break between words; in a file or a pipe they stay whole.
        console.print(Text(text, style), soft_wrap=not console.is_terminal)

    view = VIEWS[type(record)](record)
    say(view.title, "bold")
    say(view.subject, "dim")
    console.print()
    if isinstance(record, Gallery) and can_draw(console, graphics):
        draw(record, console, graphics)
    else:
        if len(view.rows) > 1:
            _print_rows(view, console)
            console.print()
        for sentence in view.sentences:
            say(sentence)
    for warning in warnings_of(record):
        say(f"Warning: {warning}{'' if warning.endswith('?') else '.'}", "yellow")
    for file in getattr(record, "files", ()):
        say(f"Saved: {file}", "dim")
    if isinstance(record, Judgement) and record.gallery:
        console.print()
        print_table(record.gallery, console, graphics)


def _print_rows(view: View, console: Any) -> None:
    """The table; on a screen that has room for them also its bars and its curve."""
    characters = ASCII if console.options.ascii_only else BLOCKS
    table, needed = _table(view, console, None)
    if view.bars and console.is_terminal:
        with_bars, width = _table(view, console, characters)
        if width <= console.width:
            table, needed = with_bars, width
    console.width = max(console.width, needed)
    console.print(table)
    if view.curve and console.is_terminal:
        console.print()
        for line in columns(*view.curve, min(console.width, CURVE_WIDTH), characters):
            console.print(line, soft_wrap=True)


def _table(view: View, console: Any, bars: Characters | None) -> tuple[Any, int]:
    """The rows as a rich table, with their bars in these characters if any, and its width."""
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    roomy = console.width >= ROOMY
    gap = 2 if roomy else 1
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    header, *rows = view.rows if roomy else view.narrowed()
    for position, name in enumerate(header):
        words = position == 0 or view.words
        table.add_column(name, justify="left" if words else "right", no_wrap=True)
    drawn = [""] * len(rows)
    if bars:
        table.add_column(f"0 to 100 %, {bars.interval}: interval", no_wrap=True)
        drawn = [
            "" if part is None else bar(part, whole, BAR_WIDTH, bars) for part, whole in view.bars
        ]
    for row, line in zip(rows, drawn, strict=True):
        table.add_row(*(Text(cell) for cell in row), *([Text(line, "cyan")] if bars else []))
    wide = console.options.update_width(1000)
    return table, Measurement.get(console, wide, table).maximum


def warnings_of(record: Shown) -> list[str]:
    """The warnings of a record and of its results, each once."""
    judged = (
        (*record.results, *([record.saved] if record.saved else ()))
        if isinstance(record, Judgement)
        else ()
    )
    own = [warning for result in judged for warning in result.warnings]
    return list(dict.fromkeys([*record.warnings, *own]))
