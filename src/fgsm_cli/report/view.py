"""What a reader sees of a record: a title, a subject, a table, sentences below it."""

from collections.abc import Sequence
from dataclasses import dataclass

Rows = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class View:
    """A record as text, ready to be laid out.

    rows: the header first. spare: the column, by its place, that goes where there is no room.
    words: whether the columns hold words, set to the left, rather than numbers.
    bars: for each row below the header the part and the whole that a bar shows, on a screen.
    curve: shares from the left to the right, and what stands below the first and the last.
    """

    title: str
    subject: str
    rows: Rows
    sentences: tuple[str, ...] = ()
    words: bool = False
    spare: int | None = None
    bars: Sequence[tuple[int | None, int]] = ()
    curve: tuple[Sequence[float], tuple[str, str]] | None = None

    def narrowed(self) -> Rows:
        """The rows without the column that can be spared."""
        if self.spare is None:
            return self.rows
        return [(*row[: self.spare], *row[self.spare + 1 :]) for row in self.rows]
