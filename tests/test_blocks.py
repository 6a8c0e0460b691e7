"""Bars and curves in block characters: exact, and never wider than the screen."""

import doctest
import io
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fgsm_cli.report import blocks, print_table
from fgsm_cli.report.blocks import ASCII, BLOCKS, PLOT_HEIGHT, bar, columns
from fgsm_cli.results import wilson_interval
from test_report import CURVE, RECORDS, TRAINING, UNKNOWN


def test_the_examples_are_right():
    assert doctest.testmod(blocks).failed == 0


@given(st.integers(1, 20_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_bar_is_shaded_where_its_interval_lies(share):
    part, whole = share
    drawn = bar(part, whole, 20, BLOCKS)
    assert len(drawn) == 20
    assert drawn == "█" * drawn.count("█") + "▒" * drawn.count("▒") + "·" * drawn.count("·")
    low, high = wilson_interval(part, whole)
    first, end = drawn.count("█"), drawn.count("█") + drawn.count("▒")
    assert first <= low * 20 < first + 1
    assert end - 1 < high * 20 <= end
    assert first <= min(floor(part / whole * 20), 19) < end, "the share itself is in the shade"


def heights(lines):
    """How high each column of a plot is, in eighths of a line, and that nothing hangs in the air."""
    rows = [line[7:].ljust(200) for line in lines[:PLOT_HEIGHT]]
    found = []
    for column in zip(*rows, strict=True):
        cells = [BLOCKS.eighths.index(cell) for cell in reversed(column)]
        assert cells == sorted(cells, reverse=True)
        assert sum(0 < cell < 8 for cell in cells) <= 1
        found.append(sum(cells))
    return found


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200), st.integers(20, 100))
def test_a_column_is_a_measured_share(shares, width):
    lines = columns(shares, ("0", "epsilon 0.3"), width, BLOCKS)
    assert max(map(len, lines[:-1])) <= width
    measured = [round(share * PLOT_HEIGHT * 8) for share in shares]
    found = heights(lines)[: len(lines[PLOT_HEIGHT]) - 7]
    assert found[0] == measured[0]
    assert found[-1] == measured[-1]
    each = len(found) / len(shares)
    if each >= 1:
        assert found == [one for one in measured for _ in range(int(each))]
    assert set(found) <= set(measured)


def printed(record, width=100, encoding="utf-8", **keywords):
    screen = io.TextIOWrapper(io.BytesIO(), encoding, errors="strict")
    print_table(record, Console(file=screen, width=width, color_system=None, **keywords))
    screen.flush()
    return screen.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("name", RECORDS)
def test_bars_are_for_screens_only(name):
    assert not set("█▒·│") & set(printed(RECORDS[name]))


def test_a_screen_shows_a_bar_a_row_and_the_curve():
    text = printed(CURVE, force_terminal=True)
    assert sum("·" in line for line in text.splitlines()) == 3
    assert "100 %│" in text
    assert "└" in text
    assert "███████████████" in printed(TRAINING, force_terminal=True)
    unknown = printed(UNKNOWN, force_terminal=True)
    assert "-" in unknown, "no bar where nothing is known"


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("width", [20, 40, 70, 90])
def test_a_bar_goes_where_there_is_no_room(name, width):
    table = printed(RECORDS[name], width, force_terminal=True)
    plain = printed(RECORDS[name], width)
    widest = max(len(line.rstrip()) for line in plain.split("\n\n")[1].splitlines())
    for line in table.split("\n\n")[1].splitlines():
        assert len(line.rstrip()) <= max(width, widest)


def test_a_terminal_without_blocks_gets_ascii():
    text = printed(CURVE, encoding="ascii", force_terminal=True)
    assert "####" in text
    assert ASCII.interval in text
