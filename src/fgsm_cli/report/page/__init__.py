"""A report: records as one HTML page that asks nobody for anything.

    write_report(["report.html"], [("attack", options, record)], record.as_dict(), yaml)

``records.py`` tells a record as sections of blocks, ``blocks.py`` says what there is, the templates
in ``assets/report`` lay it out. Nothing a user wrote is ever markup: Jinja2 escapes all of it, and
the page's own policy forbids whatever is not in it.
"""

from .render import Told, write_report

__all__ = ["Told", "write_report"]
