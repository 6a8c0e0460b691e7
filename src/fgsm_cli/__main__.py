"""python -m fgsm_cli, and the command ``fgsm``."""

import sys


def start() -> int:
    """Run the command line; Ctrl-C while it is still being imported is an interruption, too."""
    try:
        from .cli import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(start())
