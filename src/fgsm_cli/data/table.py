"""Tables of pixels in text: a row an image, a column a pixel and one for the label.

    load_images("train.csv", "test")         # label,pixel0,pixel1,… in any order; or no header

Columns are found by their names, and pixels put in order by the numbers in these. Without a
header the label comes first, if there is one column more than a square image has.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isqrt
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import FgsmError, listed
from ..files import check_regular
from .reading import Found, Reading, Split
from .stored import Growing

LABELS = ("label", "labels", "class", "target", "y", "digit", "category")
NO_PIXELS = ("id", "imageid", "index", "unnamed: 0", "")
DELIMITERS = ",;\t"
GREY = "a grey level of 0..255 (or in the range given by --data-range)"
_ROWS = 2048  # read at once
_FRACTION = re.compile(r"\.|\d[eE][-+\d]")


@dataclass(frozen=True)
class Layout:
    """Which columns hold what.

    names: of all columns, as a message calls them. whole: no number has a point or an exponent.
    """

    delimiter: str
    has_header: bool
    names: tuple[str, ...]
    label: int | None
    label_is_text: bool
    pixels: tuple[int, ...]
    whole: bool


def is_table(head: bytes) -> bool:
    """Whether a file that begins so is text whose first line has several cells."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:  # otherwise a character that is cut at the end
            return False
        text = head[: error.start].decode("utf-8-sig")
    if re.search(r"[\x00-\x08\x0e-\x1f]", text) or text.lstrip().startswith("<"):
        return False
    return any(mark in text.partition("\n")[0] for mark in DELIMITERS)


def read_table(source: str, split: Split, reading: Reading) -> Found:  # noqa: ARG001 - as all readers
    """Images and labels of a CSV. Raises FgsmError naming row and column of a bad cell."""
    check_regular(source, "image set")
    try:
        layout = _layout(source, reading)
        images, labels = _rows(source, layout, reading)
    except UnicodeDecodeError as error:
        raise FgsmError(f"{source} is not text in UTF-8: {error.reason}") from None
    except csv.Error as error:
        raise FgsmError(f"{source} is damaged: {error}") from None
    used = {layout.label, *layout.pixels}
    left_out = [name for column, name in enumerate(layout.names) if column not in used]
    notes: tuple[str, ...] = ()
    if left_out:
        notes = (f"{source}: the columns {listed(map(repr, left_out))} hold no pixels",)
    if labels is not None and not layout.has_header and len(labels) > 1 and np.ptp(labels) == 0:
        notes = (
            f"{source} has no header, and every label, its first column, is {labels[0]:g}; "
            "--y-key N says which column the labels are, counted from 1",
        )
    return Found(images, labels, files=(source,), notes=notes)


def _lines(source: str) -> Iterator[str]:
    with Path(source).open(encoding="utf-8-sig", newline="") as file:
        yield from file


def _layout(source: str, reading: Reading) -> Layout:
    lines = _lines(source)
    first = next((line for line in lines if line.strip()), "")
    delimiter = max(DELIMITERS, key=first.count)
    cells = [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter), [])]
    has_header = not all(_is_number(cell) for cell in cells if cell)
    if has_header:
        label = _label_by_name(cells, source, reading)
        pixels = _pixels_by_name(cells, label, source)
    else:
        label = _label_by_place(len(cells), source, reading)
        pixels = tuple(column for column in range(len(cells)) if column != label)
        cells = [str(column + 1) for column in range(len(cells))]
    rows = lines if has_header else _lines(source)
    second = next((line for line in rows if line.strip()), "")
    whole = not any(_has_fractions(line) for line in (second, *rows))
    example = next(csv.reader([second], delimiter=delimiter), [])
    is_text = label is not None and label < len(example) and not _is_number(example[label] or "0")
    return Layout(delimiter, has_header, tuple(cells), label, is_text, pixels, whole)


def _has_fractions(line: str) -> bool:
    """Whether a point or an exponent is in a line; the quick look comes first."""
    quick = "." in line or "e" in line or "E" in line
    return quick and _FRACTION.search(line) is not None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _label_by_name(cells: Sequence[str], source: str, reading: Reading) -> int | None:
    if reading.y_key is not None:
        if reading.y_key not in cells:
            raise FgsmError(
                f"{source} must have the column {reading.y_key!r}, which --y-key names. "
                f"Received: {listed(cells, 5)}"
            )
        return cells.index(reading.y_key)
    lowered = [cell.lower() for cell in cells]
    return next((lowered.index(name) for name in LABELS if name in lowered), None)


def _pixels_by_name(cells: Sequence[str], label: int | None, source: str) -> tuple[int, ...]:
    """The columns of pixels in the order of the numbers in their names."""
    columns = [
        column
        for column, name in enumerate(cells)
        if column != label and name.lower() not in NO_PIXELS
    ]
    if not columns:
        raise FgsmError(f"{source} must have columns of pixels. Received: {listed(cells)}")
    places: dict[tuple[int, ...], str] = {}
    for column in columns:
        place = tuple(int(number) for number in re.findall(r"\d{1,9}", cells[column]))
        if not place or len(place) != len(next(iter(places), place)):
            raise FgsmError(
                f"the columns of {source} must be a label and pixels with their numbers, such as "
                f"pixel0 or 1x1 (--y-key names the label's). Received: {cells[column]!r:.60}"
            )
        if place in places:
            raise FgsmError(
                f"the columns of {source} must be different pixels. "
                f"Received: {places[place]!r:.60} and {cells[column]!r:.60}"
            )
        places[place] = cells[column]
    return tuple(column for _, column in sorted(zip(places, columns, strict=True)))


def _label_by_place(width: int, source: str, reading: Reading) -> int | None:
    if reading.y_key is not None:
        if not reading.y_key.isdecimal() or not 1 <= int(reading.y_key) <= width:
            raise FgsmError(
                f"{source} has no header: --y-key must be the number of the label's column, "
                f"1 to {width}. Received: {reading.y_key}"
            )
        return int(reading.y_key) - 1
    for channels in (1, 3):
        for columns, label in ((width - 1, 0), (width, None)):
            if columns > channels and columns == channels * isqrt(columns // channels) ** 2:
                return label
    raise FgsmError(
        f"{source} has no header, and its columns must be the pixels of a square image, with or "
        f"without a label before them (--y-key N says which column the labels are). "
        f"Received: {width} columns"
    )


def _rows(source: str, layout: Layout, reading: Reading) -> tuple[Any, NDArray[Any] | None]:
    """The pixels, (n, side, side) where square, and the labels, where there is a column."""
    images, labels = Growing(source), []
    wanted = GREY if layout.whole and reading.data_range is None else "a number"
    lines = (line for line in _lines(source) if line.strip())
    if layout.has_header:
        next(lines)
    while block := list(islice(lines, _ROWS)):
        try:
            pixels, column = _numbers(block, layout)
        except (ValueError, OverflowError):
            _refuse(source, layout, wanted)
        if wanted == GREY:
            if pixels.min() < 0 or pixels.max() > 255:
                _refuse(source, layout, wanted)
            pixels = pixels.astype(np.uint8)
        images.grow(_square(pixels))
        labels.append(column)
    found = images.done()
    if found is None:
        raise FgsmError(f"{source} must hold rows of pixels. Received: a header and no rows")
    return found, None if layout.label is None else np.concatenate(labels)


def _numbers(lines: list[str], layout: Layout) -> tuple[NDArray[Any], NDArray[Any]]:
    """The pixels and the labels of some lines. Raises ValueError for any that do not fit."""
    kind: Any = np.int64 if layout.whole else np.float64
    columns = list(layout.pixels)
    names = np.empty(0)
    if layout.label_is_text:
        cells = list(csv.reader(lines, delimiter=layout.delimiter))
        if any(len(row) != len(layout.names) for row in cells):
            raise ValueError("a row of another length")
        names = np.array([row[layout.label or 0].strip() for row in cells])
    rows = np.loadtxt(
        lines,
        dtype=kind,
        delimiter=layout.delimiter,
        comments=None,
        quotechar='"',
        ndmin=2,
        usecols=columns if layout.label_is_text else None,
    )
    if layout.label_is_text:
        return _pixels(rows, layout), names
    if rows.shape != (len(lines), len(layout.names)):
        raise ValueError("a row of another length")
    labels = rows[:, layout.label] if layout.label is not None else names
    return _pixels(rows[:, columns], layout), labels


def _pixels(numbers: NDArray[Any], layout: Layout) -> NDArray[Any]:
    """Fractions in single precision; what is too large becomes infinite, and is told of later."""
    with np.errstate(over="ignore"):
        return numbers if layout.whole else numbers.astype(np.float32)


def _square(pixels: NDArray[Any]) -> NDArray[Any]:
    side = isqrt(pixels.shape[1])
    return pixels.reshape(-1, side, side) if side * side == pixels.shape[1] else pixels


def _refuse(source: str, layout: Layout, wanted: str) -> NoReturn:
    """Raise FgsmError for the first row or cell that does not fit, found by reading once more."""
    table = csv.reader(_lines(source), delimiter=layout.delimiter)
    row = -1 if layout.has_header else 0
    for cells in table:
        if not "".join(cells).strip():
            continue
        if row >= 0:
            place = f"row {row} (line {table.line_num}) of {source}"
            if len(cells) != len(layout.names):
                raise FgsmError(
                    f"{place} must have {len(layout.names)} columns. Received: {len(cells)}"
                ) from None
            for column, cell in enumerate(cells):
                is_text = column == layout.label and layout.label_is_text
                limited = wanted if column != layout.label else "a number"
                if not is_text and not _is(cell, limited, layout.whole):
                    raise FgsmError(
                        f"column {listed([layout.names[column]])} in {place} must be {limited}. "
                        f"Received: {cell.strip()!r:.60}"
                    ) from None
        row += 1
    raise FgsmError(f"{source} is damaged: its rows are no numbers") from None


def _is(cell: str, wanted: str, whole: bool) -> bool:
    try:
        number = int(cell) if whole else float(cell)
    except ValueError:
        return False
    return wanted != GREY or 0 <= number <= 255
