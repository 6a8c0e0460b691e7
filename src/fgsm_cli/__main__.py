"""python -m fgsm_cli, and the command ``fgsm``."""

import signal
import sys
from typing import Any


def start() -> int:
    """Run the command line; Ctrl-C while it is still being imported is an interruption, too.

    SIGTERM ends it as an exception does, so that what is half-written is taken away.
    """
    signal.signal(signal.SIGTERM, _terminated)
    try:
        from .cli import main

        return main()
    except KeyboardInterrupt:
        return 130


def _terminated(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(start())
