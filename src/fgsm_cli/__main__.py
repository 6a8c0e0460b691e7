"""python -m fgsm_cli, and the command ``fgsm``."""

import contextlib
import os
import signal
import sys
from typing import Any

INTERRUPTED = 130


def start() -> int:
    """Run the command line; Ctrl-C while it is still being imported is an interruption, too.

    SIGTERM ends it as an exception does, so that what is half-written is taken away.
    """
    signal.signal(signal.SIGTERM, _terminated)
    try:
        from .cli import main

        code = main()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        # TensorFlow's threads may still be at what was interrupted; were Python taken down under
        # them, the process would now and then end by a segmentation fault.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    return code


def _terminated(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(start())
