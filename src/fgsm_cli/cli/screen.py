"""What a person sees: results on stdout; progress, notes and complaints on stderr."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..errors import FgsmError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..experiment import Watch
    from ..report import Shown


class ReaderGoneError(Exception):
    """Whoever read our standard output has closed it."""


def console(*, stderr: bool = False, file: Any = None) -> "Console":
    """A rich console that shows text as it is: no markup, no emoji, no highlighting."""
    from rich.console import Console

    return Console(stderr=stderr, file=file, highlight=False, markup=False, emoji=False)


@contextmanager
def _own_stderr() -> Iterator[Any]:
    """Standard error on a descriptor of its own, seen even while TensorFlow's is held back."""
    try:
        file = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="backslashreplace")
    except OSError:
        yield None
        return
    with file:
        yield file


def _bar(screen: "Console") -> "Progress":
    """A progress bar that is drawn only where a person watches."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )


@contextmanager
def watched(*, wants_portrait: bool = False) -> "Iterator[Watch]":
    """Notes and a progress bar on stderr; the bar only where a person watches."""
    with _own_stderr() as file, _bar(console(stderr=True, file=file)) as bar:
        tasks: dict[str, Any] = {}

        def progress(stage: str, done: int, total: int, detail: str) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, detail="")
            bar.update(tasks[stage], completed=done, total=total, detail=detail)

        def note(text: str) -> None:
            from rich.text import Text

            bar.console.print(Text(text, "dim"), soft_wrap=True)

        waiting = bar.add_task("Loading TensorFlow", total=None, detail="")
        with _without_matplotlib():
            from ..experiment import Watch
        # A process of our own: what libraries have to say to programmers is not for its user.
        warnings.simplefilter("ignore")
        logging.getLogger("tensorflow").setLevel(logging.ERROR)
        bar.remove_task(waiting)
        yield Watch(note, progress, wants_portrait)


@contextmanager
def _without_matplotlib() -> Iterator[None]:
    """Hide matplotlib while Keras is imported.

    Keras imports it for plots of its own: it takes its time and writes a font cache under HOME,
    which only who asks for a plot should pay.
    """
    hidden = "matplotlib" not in sys.modules
    if hidden:
        sys.modules["matplotlib"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if hidden:
            del sys.modules["matplotlib"]


def show(records: "Sequence[tuple[str, Shown]]", format: str, document: Any) -> None:
    """Put records on stdout: tables, one JSON document, or one CSV."""
    from .. import report

    if format == "csv":  # which has no place for them
        for _, record in records:
            for warning in report.warnings_of(record):
                complain(f"Warning: {warning}.", "yellow")
    if format == "json":
        write(report.as_json(document))
    elif format == "csv":
        write(report.as_csv(records))
    else:
        with _told_if_lost():
            for _, record in records:
                report.print_table(record, console())
            sys.stdout.flush()


def write(text: str) -> None:
    """Put a result on stdout. Raises FgsmError if it cannot be written."""
    with _told_if_lost():
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def _told_if_lost() -> Iterator[None]:
    if sys.stdout is None:
        raise FgsmError("cannot write the result: standard output is closed")
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGoneError from error  # typer would turn a plain EPIPE into exit code 1
    except OSError as error:
        raise FgsmError(f"cannot write the result: {error.strerror}") from None


def complain(sentence: str, style: str = "red") -> None:
    """Put a sentence on stderr, if there is one to be had."""
    from rich.text import Text

    with suppress(OSError):
        console(stderr=True).print(Text(sentence, style), soft_wrap=True)
