"""A pseudo-terminal that answers like one: what a person would see of a command."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios

SIXEL = (rb"\x1b\[c", b"\x1b[?62;4c")
KITTY = (rb"\x1b_Gi=(\d+),.*?a=q", b"\x1b_Gi=%s;OK\x1b\\")


def screen_of(*arguments, cwd, answers=(), columns=100, **environment):
    """The exit code and all bytes that ``fgsm ARGUMENTS`` writes to its terminal."""
    terminal, screen = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    names = os.environ.keys() - {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "fgsm_cli", *map(str, arguments)],
        cwd=cwd,
        stdin=screen,
        stdout=screen,
        stderr=screen,
        env={
            **{name: os.environ[name] for name in names},
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            **environment,
        },
        start_new_session=True,
    )
    os.close(screen)
    shown = b""
    while True:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                new = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not new:
                break
            shown += new
            for query, answer in answers:
                if asked := re.search(query, new, re.DOTALL):
                    os.write(terminal, answer % asked.groups() if asked.groups() else answer)
        elif process.poll() is not None:
            break
    os.close(terminal)
    return process.wait(timeout=60), shown
