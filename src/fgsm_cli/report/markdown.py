"""A record for an issue or a paper: its view in Markdown, as GitHub and Pandoc read it.

write(as_markdown([("attack", record)]))
"""

import re
from collections.abc import Iterator, Sequence

from .screen import warnings_of
from .views import VIEWS, Shown

_MEANS_SOMETHING = re.compile(r"[\\`*_\[\]<>|#&$~]")


def as_markdown(records: Sequence[tuple[str, Shown]]) -> str:
    """A heading, a table and sentences for each record; nothing in a name is taken for markup."""
    return "\n".join(line for _, record in records for line in _lines(record))


def _lines(record: Shown) -> Iterator[str]:
    view = VIEWS[type(record)](record)
    header, *rows = view.rows
    yield f"### {_plain(view.title)}"
    yield f"\n{_plain(view.subject)}\n"
    yield _row(header)
    yield _row([":--" if place == 0 or view.words else "--:" for place in range(len(header))], "")
    for row in rows:
        yield _row(row)
    yield ""
    yield _plain(" ".join(view.sentences))
    for warning in warnings_of(record):
        yield f"\n> **Warning:** {_plain(warning)}"
    yield ""


def _row(cells: Sequence[str], pad: str = " ") -> str:
    texts = cells if not pad else [_plain(cell) for cell in cells]
    return "|" + "|".join(f"{pad}{text}{pad}" for text in texts) + "|"


def _plain(text: str) -> str:
    """The text as it is, whatever Markdown would make of it."""
    return _MEANS_SOMETHING.sub(lambda found: f"\\{found[0]}", text.replace("\n", " "))
