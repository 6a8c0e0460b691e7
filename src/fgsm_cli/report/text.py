"""Counts and shares as the tables show them."""

import json
from typing import Any

from ..results import percent as percent
from ..results import wilson_interval


def count(number: int | None) -> str:
    """A number with its thousands, or a dash."""
    return "-" if number is None else f"{number:,}"


def counts(part: int | None, whole: int) -> str:
    """Part of a whole."""
    return f"{count(part)}/{whole:,}"


def interval(part: int | None, whole: int) -> str:
    """The 95 % Wilson interval of a share."""
    ends = wilson_interval(part, whole)
    return "-" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"


def short(value: Any) -> str:
    """Any value on at most 40 characters."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."
