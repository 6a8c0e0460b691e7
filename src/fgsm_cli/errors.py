"""The one error of this package: something that its user can put right."""

import re


class FgsmError(ValueError):
    """Bad input, told in one sentence: what it was, what was expected, what came.

    The command line prints the sentence and exits with code 2; a Python caller catches it
    as a ``ValueError``.
    """

    __init__ = Exception.__init__  # so AutoGraph re-raises it as what it is, not wrapped


def in_one_line(error: BaseException) -> str:
    """What another library's error says, for a sentence: its kind, no colours, no second page."""
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
