"""Files that appear whole or not at all.

    with whole_file("runs/a/results.json") as temporary:
        temporary.write_text(...)

The block writes beside the target, under a hidden name with the target's ending; only when it
has finished is the file renamed into place. A failure leaves the old file as it was.
"""

import contextlib
import glob
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import FgsmError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@contextlib.contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """A path to write to, renamed to ``target`` when the block ends well.

    Raises FgsmError where the target cannot be written (no space, no permission).
    """
    place = Path(os.path.realpath(target))  # a link stays one, and what it leads to is replaced
    if place.exists() and not place.is_file():
        raise FgsmError(f"cannot write {target}: it is there and not a file")
    temporary = place.with_name(f".{place.stem}.{os.getpid()}{place.suffix}")
    try:
        make_folder(place.parent)
        _clear_left_over(place)
        yield temporary
        temporary.replace(place)
    except OSError as error:
        raise FgsmError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _clear_left_over(place: Path) -> None:
    """Take away what a process that was killed had half-written for the same file."""
    for left in place.parent.glob(f".{glob.escape(place.stem)}.*{glob.escape(place.suffix)}"):
        number = left.name[len(place.stem) + 2 : len(left.name) - len(place.suffix)]
        if number.isdigit() and not _is_running(int(number)):
            with contextlib.suppress(OSError):
                left.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def within(path: str | Path, folder: str | Path) -> bool:
    """Whether a path is a folder or lies somewhere in it, links followed."""
    return Path(os.path.realpath(folder)) in (
        place := Path(os.path.realpath(path)),
        *place.parents,
    )


def make_folder(folder: str | Path) -> Path:
    """The folder, made if absent. Raises FgsmError where that, or writing to it, fails."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if folder.is_file() else error.strerror
        raise FgsmError(f"cannot make the folder {folder}: {reason}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FgsmError(f"cannot write to the folder {folder}: no permission")
    return folder


def check_regular(path: str, what: str) -> None:
    """Raise FgsmError unless there is a plain file: a pipe could be waited for for ever."""
    if Path(path).is_dir():
        raise FgsmError(f"the {what} {path} is a folder; expected a file")
    check_readable(path, what)


def check_readable(path: str, what: str) -> None:
    """Raise FgsmError unless there is a plain file or a folder, and it may be read."""
    try:
        kind = Path(path).stat().st_mode
    except FileNotFoundError:
        raise FgsmError(f"no {what} at {path}") from None
    except OSError as error:
        raise FgsmError(f"cannot read the {what} {path}: {error.strerror}") from None
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise FgsmError(f"the {what} {path} is a pipe or a device; expected a file")
    if not os.access(path, os.R_OK):
        raise FgsmError(f"cannot read the {what} {path}: no permission")


def same_file(a: str | Path, b: str | Path) -> bool:
    """Whether two paths lead to one existing file."""
    return Path(a).exists() and Path(b).exists() and Path(a).samefile(b)


def sha256(path: str | Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal; of a folder, of all its files."""
    if Path(path).is_dir():
        return sha256_of_all(sorted(str(one) for one in Path(path).rglob("*") if one.is_file()))
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while content := file.read(2**20):
            digest.update(content)
    return digest.hexdigest()


def sha256_of_all(paths: Sequence[str]) -> str:
    """The SHA-256 of several files: of the lines that ``sha256sum`` prints for them, in order.

    The files are named from the folder that they share, so that it may stand anywhere.
    """
    shared = os.path.commonpath([Path(path).absolute().parent for path in paths])
    digest = hashlib.sha256()
    for path in paths:
        name = Path(os.path.relpath(path, shared)).as_posix()
        digest.update(f"{sha256(path)}  {name}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def digest_of(arrays: "Mapping[str, NDArray[Any]]") -> str:
    """The SHA-256 of named arrays: of their names, types, shapes and numbers, in order of name."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def whole_folder(target: str | Path, ours: Callable[[Path], bool]) -> Iterator[Path]:
    """A folder to fill, renamed to ``target`` when the block ends well.

    One that is there already is replaced if it holds nothing, or nothing but what is ``ours``.
    Raises FgsmError for any other, and where the target cannot be written.
    """
    place = Path(os.path.realpath(target))
    check_replaceable(target, ours)
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    before = temporary.with_name(f"{temporary.name}.before")
    try:
        make_folder(place.parent)
        temporary.mkdir()
        yield temporary
        if place.exists():
            place.replace(before)
        temporary.replace(place)
    except OSError as error:
        raise FgsmError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        if before.exists() and not place.exists():
            before.replace(place)
        for left in (temporary, before):
            shutil.rmtree(left, ignore_errors=True)


def check_replaceable(target: str | Path, ours: Callable[[Path], bool]) -> None:
    """Raise FgsmError for a folder of other things, which ``whole_folder`` would not replace."""
    place = Path(target)
    if place.is_file():
        raise FgsmError(f"cannot write the folder {target}: it is a file")
    if place.is_dir() and any(place.iterdir()) and not ours(place):
        raise FgsmError(
            f"cannot replace the folder {target}: it holds other things than a saved set"
        )
