"""Files that appear whole or not at all.

    with whole_file("runs/a/results.json") as temporary:
        temporary.write_text(...)

The block writes beside the target, under a hidden name with the target's ending; only when it
has finished is the file renamed into place. A failure leaves the old file as it was.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from .errors import FgsmError


@contextlib.contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """A path to write to, renamed to ``target`` when the block ends well.

    Raises FgsmError where the target cannot be written (no space, no permission).
    """
    target = Path(target)
    temporary = target.with_name(f".{target.stem}.{os.getpid()}{target.suffix}")
    try:
        make_folder(target.parent)
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise FgsmError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


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


def sha256(path: str | Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
