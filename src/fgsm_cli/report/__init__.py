"""A record as text: a table for people, JSON and CSV for programs.

    print(as_json(record.as_dict()))
    print_table(record, console)

Counts and rates come from the record; nothing is computed here but percentages to one decimal.
"""

from .page import write_report
from .plain import as_csv, as_json
from .screen import print_table, warnings_of
from .views import Shown

__all__ = ["Shown", "as_csv", "as_json", "print_table", "warnings_of", "write_report"]
