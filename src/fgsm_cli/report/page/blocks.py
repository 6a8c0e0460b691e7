"""What a page is made of: sections, and in them tables, charts, numbers, pictures and notes.

A block knows its template by ``kind``; everything in it is text or a number, nothing is markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Level = Literal["good", "care", "bad"]


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, how darkly it is shaded (0 to 10), the verdict that it is."""

    text: str
    shade: int | None = None
    verdict: Level | None = None


def shaded(text: str, share: float | None) -> Cell:
    """A cell that is darker the larger the share (0..1)."""
    return Cell(text, None if share is None else round(10 * share))


@dataclass(frozen=True)
class Table:
    """Rows under a header; the first cell of a row names it.

    words: whether columns hold words rather than numbers. folded: whether it opens on demand.
    across: what the columns are, in a line above the header.
    """

    kind: ClassVar[str] = "table"
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: bool = False
    folded: bool = False
    across: str = ""


@dataclass(frozen=True)
class Number:
    """A figure that stands for itself."""

    label: str
    value: str
    detail: str


@dataclass(frozen=True)
class Numbers:
    """A few figures side by side."""

    kind: ClassVar[str] = "numbers"
    numbers: Sequence[Number]


@dataclass(frozen=True)
class Notes:
    """Sentences, each with a verdict that is also a word."""

    kind: ClassVar[str] = "notes"
    notes: Sequence[tuple[Level, str, str]]  # verdict, its word, the sentence


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Source:
    """Lines to copy."""

    kind: ClassVar[str] = "source"
    label: str
    text: str
    folded: bool = False


@dataclass(frozen=True)
class Download:
    """A file that lies in the page itself."""

    name: str
    what: str
    url: str


@dataclass(frozen=True)
class Downloads:
    """Files to take from the page."""

    kind: ClassVar[str] = "downloads"
    files: Sequence[Download]


@dataclass(frozen=True)
class Tick:
    """A place on an axis, in the chart's units, and what stands there."""

    at: float
    text: str


@dataclass(frozen=True)
class Line:
    """A series as it is drawn: its path, the band of its intervals, its marks.

    look: how it is drawn, 0 to 6: colour, dash and mark all differ. marks: (x, y, low, high).
    """

    name: str
    look: int
    path: str
    band: str
    marks: Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True)
class Bar:
    """A bar, and what it says."""

    x: float
    y: float
    width: float
    height: float
    text: str
    apart: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart in units of its own: what is drawn, and where.

    upright: a line at an x worth naming. moves: whether the slider's cursor stands in it.
    """

    kind: ClassVar[str] = "chart"
    title: str
    description: str
    x_label: str
    y_label: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    lines: Sequence[Line] = ()
    bars: Sequence[Bar] = ()
    upright: Tick | None = None
    moves: bool = False
    table: Table | None = None
    note: str = ""


@dataclass(frozen=True)
class Shown:
    """A picture of the gallery as the page shows it: data URIs and sentences."""

    name: str
    original: str
    change: str
    adversarial: str
    scale: str
    before: str
    after: str
    turns: str
    fooled: bool


@dataclass(frozen=True)
class Wall:
    """Pictures of one group."""

    title: str
    told: str
    pictures: Sequence[Shown]


@dataclass(frozen=True)
class Gallery:
    """The pictures; and what the slider needs, as plain data, where there is one."""

    kind: ClassVar[str] = "gallery"
    told: str
    walls: Sequence[Wall]
    colour: bool
    slider: "Slider | None" = None


@dataclass(frozen=True)
class Slider:
    """The way over the course: numbers for the page's script, words for its reader."""

    told: str
    start: int
    data: dict[str, object] = field(repr=False)


Block = Table | Numbers | Notes | Text | Source | Downloads | Chart | Gallery


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Part:
    """A record as the page tells it: the answer, whether to trust it, the sections.

    name: as the experiment calls it.
    """

    name: str
    kicker: str
    answer: str
    subject: str
    trust: tuple[Level, str, str]
    sections: Sequence[Section]
