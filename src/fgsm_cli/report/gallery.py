"""A gallery for people: its table, and its images where the screen can draw them.

    draw(gallery, console, "auto")

Kitty's protocol and Sixel take one strip of three images; half blocks and shades are characters,
three images side by side. Who cannot draw gets the table, which says the same.
"""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from ..results import Answer, Exhibit, Gallery, Moved
from .text import percent
from .view import View

if TYPE_CHECKING:
    from rich.console import Console

Graphics = Literal["auto", "kitty", "sixel", "blocks", "shades"]

# Between two images, in characters; what an image takes at least and at most.
_GAP, _NARROWEST, _WIDEST = 2, 8, 32
# To how many pixels a small image is enlarged, so that a terminal does not blur it.
_ENLARGED = 256


def gallery_view(record: Gallery) -> View:
    """The answers before and after, a row an image."""
    by = f"; answers of {record.model.path}" if record.model else ""
    several = any(len(one.moved) > 1 for one in record.images)
    rows = [
        (
            str(one.index),
            "-" if one.label is None else record.name(one.label),
            *((moved.title,) if several else ()),
            _told(record, one.answer),
            _told(record, moved.answer),
            "-" if moved.linf is None else f"{moved.linf:.4g}",
        )
        for one in record.images
        for moved in one.moved
    ]
    head = ("image", "label", *(("attack",) if several else ()), "before", "after", "moved by")
    return View(
        record.images[0].moved[0].title,
        f"{record.data.path}, {record.data.detail}{by}",
        [head, *rows],
        ("Moved by: the farthest pixel. In brackets the probability that the model gives.",),
    )


def _told(gallery: Gallery, answer: Answer | None) -> str:
    return f"{gallery.name(answer.label)} ({percent(answer.confidence)})" if answer else "-"


def can_draw(console: "Console", graphics: Graphics) -> bool:
    """Whether images can be drawn there: on a terminal, or as shades, which are plain text."""
    unicode = not console.options.ascii_only
    return (
        unicode and _cells(console) >= _NARROWEST and (console.is_terminal or graphics == "shades")
    )


def _cells(console: "Console") -> int:
    """The width of an image, in characters, if three stand side by side."""
    return min(_WIDEST, (console.width - 2 * _GAP) // 3)


def draw(gallery: Gallery, console: "Console", graphics: Graphics) -> None:
    """Original, perturbation and adversarial image of each, with what the model says of them."""
    from rich.text import Text

    image_class, whole = _protocol(console, graphics)
    several = any(len(one.moved) > 1 for one in gallery.images)
    for one in gallery.images:
        for moved in one.moved:
            label = "" if one.label is None else f", label {gallery.name(one.label)}"
            title = f": {moved.title}" if several else ""
            console.print(Text(f"Image {one.index}{label}{title}", "bold"))
            _draw_one(gallery, one, moved, console, image_class, whole=whole)


def _draw_one(
    gallery: Gallery,
    one: Exhibit,
    moved: Moved,
    console: "Console",
    image_class: Any,
    *,
    whole: bool,
) -> None:
    """Three images, or the one that is known, and a caption under each."""
    from ..images import levels, stretched

    panels = [("adversarial", levels(moved.pixels), _told(gallery, moved.answer))]
    if one.clean is not None:
        farthest = "-" if moved.linf is None else f"at most {moved.linf:.4g}"
        panels = [
            ("original", levels(one.clean), _told(gallery, one.answer)),
            ("perturbation", stretched(moved.pixels - one.clean), farthest),
            *panels,
        ]
    high, wide = panels[0][1].shape[:2]
    cells = min(_cells(console), max(_NARROWEST, wide))
    lines = max(1, round(cells * high / wide / 2))
    row = _row(cells)
    row.add_row(*(name for name, _, _ in panels))
    if whole:
        console.print(row)
        strip = strip_of([picture for _, picture, _ in panels], cells)
        console.print(image_class(strip, len(panels) * (cells + _GAP) - _GAP, lines))
        row = _row(cells)
    else:
        row.add_row(*(image_class(_picture(picture), cells, lines) for _, picture, _ in panels))
    row.add_row(*(told for _, _, told in panels))
    console.print(row)
    console.print()


def _row(cells: int) -> Any:
    from rich.table import Table

    table = Table.grid(padding=(0, _GAP, 0, 0))
    for _ in range(3):
        table.add_column(width=cells, no_wrap=True)
    return table


def _picture(levels: Any) -> Any:
    from PIL import Image

    return Image.fromarray(levels).convert("RGB")


def strip_of(pictures: Any, cells: int) -> Any:
    """The images as one, side by side, with gaps that let the terminal show through."""
    from PIL import Image

    high, wide = pictures[0].shape[:2]
    times = max(1, _ENLARGED // wide)
    gap = round(_GAP * wide * times / cells)
    step = wide * times + gap
    strip = Image.new("RGBA", (len(pictures) * step - gap, high * times))
    for place, picture in enumerate(pictures):
        large = _picture(picture).resize((wide * times, high * times), Image.Resampling.NEAREST)
        strip.paste(large, (place * step, 0))
    return strip


def _protocol(console: "Console", graphics: Graphics) -> tuple[Any, bool]:
    """What draws an image, and whether it counts pixels, so that three must be one image."""
    with _silent_without_stdin():  # the import asks the terminal what it can
        from textual_image import renderable
    if graphics == "auto":
        colourless = console.color_system is None
        found = renderable.UnicodeImage if colourless else renderable.Image
    else:
        found = {
            "kitty": renderable.TGPImage,
            "sixel": renderable.SixelImage,
            "blocks": renderable.HalfcellImage,
            "shades": renderable.UnicodeImage,
        }[graphics]
    return found, found in (renderable.TGPImage, renderable.SixelImage)


@contextlib.contextmanager
def _silent_without_stdin() -> Iterator[None]:
    """Let the terminal not be asked where its answer could not be read.

    textual-image takes a standard input that is none for a missing one, but trips over a file.
    """
    kept = sys.__stdin__
    try:
        if kept is None or not kept.isatty():
            sys.__stdin__ = None  # type: ignore[misc]
        yield
    finally:
        sys.__stdin__ = kept  # type: ignore[misc]
