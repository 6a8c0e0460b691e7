"""The error of this package, something that its user can put right; and a worker that is gone."""

import re
from collections.abc import Iterable


class FgsmError(ValueError):
    """Bad input, told in one sentence: what it was, what was expected, what came.

    The command line prints the sentence and exits with code 2; a Python caller catches it
    as a ``ValueError``.
    """

    __init__ = Exception.__init__  # so AutoGraph re-raises it as what it is, not wrapped


class WorkerLostError(Exception):
    """Another worker of the cluster is gone: nobody's mistake, and worth another try."""


def listed(names: Iterable[object], most: int = 10) -> str:
    """Names out of a file as a sentence shows them: on one line, and not without end.

    >>> listed(["x", "y"]), listed([]), listed(["a", "b", "c"], most=2)
    ('x, y', 'none', 'a, b, ...')
    """
    words = [str(name) for name in names]
    shown = [word if word.isprintable() else repr(word) for word in words[:most]]
    cut = [word if len(word) <= 60 else f"{word[:57]}..." for word in shown]
    return ", ".join([*cut, "..."] if len(words) > most else cut) or "none"


def in_one_line(error: BaseException) -> str:
    """What another library's error says, for a sentence: its kind, no colours, no second page."""
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
