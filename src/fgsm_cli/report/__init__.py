"""A record as text: a table for people, JSON, CSV, Markdown and JUnit for programs.

    print(as_json(record.as_dict()))
    print_table(record, console)

Counts and rates come from the record; nothing is computed here but percentages to one decimal.
"""

from collections.abc import Callable, Mapping, Sequence

from .gallery import Graphics
from .html import html
from .junit import as_junit
from .markdown import as_markdown
from .page import write_report
from .plain import as_csv, as_json
from .screen import print_table, warnings_of
from .views import Shown

__all__ = [
    "TEXTS",
    "Graphics",
    "Shown",
    "as_csv",
    "as_json",
    "as_junit",
    "as_markdown",
    "html",
    "print_table",
    "warnings_of",
    "write_report",
]

# The formats that are text made from the records alone.
TEXTS: Mapping[str, Callable[[Sequence[tuple[str, Shown]]], str]] = {
    "csv": as_csv,
    "markdown": as_markdown,
    "junit": as_junit,
}
