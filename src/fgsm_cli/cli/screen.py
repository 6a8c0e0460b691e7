"""What a person sees: results on stdout; progress, notes and complaints on stderr."""

import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from ..errors import FgsmError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task

    from ..experiment import Watch
    from ..report import Graphics, Shown


# quiet: nothing but complaints. verbose: how long each stage took, and what the libraries say.
Loudness = Literal["quiet", "usual", "verbose"]


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


def _bar(screen: "Console", loudness: Loudness) -> "Progress":
    """A progress bar, its rate and the time left; drawn only where a person watches."""
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: "Task") -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "", "dim")

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=screen,
        transient=True,
        disable=loudness == "quiet" or not screen.is_terminal,
    )


@contextmanager
def watched(loudness: Loudness = "usual", *, wants_portrait: bool = False) -> "Iterator[Watch]":
    """Notes and a progress bar on stderr; the bar only where a person watches."""
    with _own_stderr() as file, _bar(console(stderr=True, file=file), loudness) as bar:
        tasks: dict[str, Any] = {}
        since = time.perf_counter()

        def note(text: str) -> None:
            from rich.text import Text

            if loudness != "quiet":
                bar.console.print(Text(text, "dim"), soft_wrap=True)

        def progress(stage: str, done: int, total: int, detail: str) -> None:
            nonlocal since
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, detail="")
            bar.update(tasks[stage], completed=done, total=total or None, detail=detail)
            if done == total > 0:
                bar.remove_task(tasks.pop(stage))
                now = time.perf_counter()
                if loudness == "verbose":
                    note(_took(stage, done, now - since))
                since = now

        progress("Loading TensorFlow", 0, 0, "")
        with _without_matplotlib():
            from ..experiment import Watch
        progress("Loading TensorFlow", 1, 1, "")
        if loudness != "verbose":
            # A process of our own: what libraries tell programmers is not for its user.
            warnings.simplefilter("ignore")
            logging.getLogger("tensorflow").setLevel(logging.ERROR)
        yield Watch(note, progress, wants_portrait)


def _took(stage: str, done: int, seconds: float) -> str:
    """How long a stage took, and how many it did a second where it counted."""
    rate = f", {done:,} at {done / seconds:,.0f}/s" if done > 1 and seconds else ""
    return f"{stage}: {seconds:.2f} s{rate}"


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


def show(
    records: "Sequence[tuple[str, Shown]]",
    format: str,
    document: Any,
    graphics: "Graphics" = "auto",
) -> None:
    """Put records on stdout: tables, or one document of all."""
    from .. import report

    if format == "csv":  # which has no place for them
        for _, record in records:
            for warning in report.warnings_of(record):
                complain(f"Warning: {warning}.", "yellow")
    if format == "json":
        write(report.as_json(document))
    elif format in report.TEXTS:
        write(report.TEXTS[format](records))
    else:
        with _told_if_lost():
            for _, record in records:
                report.print_table(record, console(), graphics)
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
