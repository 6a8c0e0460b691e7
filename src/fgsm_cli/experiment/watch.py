"""Who is told what goes on while a command runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..training import Progress


def silent(*_: Any) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Watch:
    """Who is told what goes on: ``note`` gets sentences, ``progress`` gets counts.

    wants_portrait: whether a report will be made, which shows more than a result holds.
    """

    note: Callable[[str], None] = silent
    progress: Progress = silent
    wants_portrait: bool = False

    @contextmanager
    def busy(self, stage: str) -> Iterator[None]:
        """Tell that something is going on of which it is not known how long it will last."""
        self.progress(stage, 0, 0, "")
        yield
        self.progress(stage, 1, 1, "")
