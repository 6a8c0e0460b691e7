"""A record for people: its view on a rich console, its warnings and files below."""

from typing import Any

from ..results import Gallery, Judgement
from .gallery import Graphics, can_draw, draw
from .views import VIEWS, Shown

# Below so many columns the table does without what it can spare.
ROOMY = 60


def print_table(record: Shown, console: Any, graphics: Graphics = "auto") -> None:
    """The record for people, on a rich console; nothing in it is cut off, however narrow.

    graphics: how images are drawn, where there are any.
    """
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    def say(text: str, style: str = "") -> None:
        # On a screen lines break between words; in a file or a pipe they stay whole.
        console.print(Text(text, style), soft_wrap=not console.is_terminal)

    view = VIEWS[type(record)](record)
    say(view.title, "bold")
    say(view.subject, "dim")
    roomy = console.width >= ROOMY
    gap = 2 if roomy else 1
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    header, *rows = view.rows if roomy else view.narrowed()
    for position, name in enumerate(header):
        words = position == 0 or view.words
        table.add_column(name, justify="left" if words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print()
    if isinstance(record, Gallery) and can_draw(console, graphics):
        draw(record, console, graphics)
    else:
        needed = Measurement.get(console, console.options.update_width(1000), table).maximum
        console.width = max(console.width, needed)
        console.print(table)
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


def warnings_of(record: Shown) -> list[str]:
    """The warnings of a record and of its results, each once."""
    judged = (
        (*record.results, *([record.saved] if record.saved else ()))
        if isinstance(record, Judgement)
        else ()
    )
    own = [warning for result in judged for warning in result.warnings]
    return list(dict.fromkeys([*record.warnings, *own]))
