"""Who is told what goes on while a command runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..training import Progress


def silent(*_: Any) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Watch:
    """Who is told what goes on: ``note`` gets sentences, ``progress`` gets counts."""

    note: Callable[[str], None] = silent
    progress: Progress = silent
