"""HDF5 files, read by another process before this one dares to.

    check_hdf5("model.h5")

The HDF5 library trusts its files: of 3000 copies of a small model with a few bytes changed, 14
kept it in a loop for ever and 4 crashed it, and neither can be caught in the process it happens to.
"""

import subprocess
import sys
from pathlib import Path

from ..errors import FgsmError

SECONDS = 30  # that a file of any size may take
BYTES_A_SECOND = 10_000_000
DENSEST = 1100  # how many bytes may come of one: no compression of HDF5 does better
_READ_ALL = """
import os, sys, h5py

room = int(sys.argv[2]) * os.path.getsize(sys.argv[1])

def look(node):
    dict(node.attrs)
    if not isinstance(node, h5py.Dataset):
        for name in node:
            look(node[name])
    elif node.nbytes <= room:
        node[()]
    else:
        sys.exit(f"{node.name} is larger than the file can hold")

with h5py.File(sys.argv[1]) as file:
    look(file)
"""


def check_hdf5(path: str) -> None:
    """Raise FgsmError unless all of a file can be read, without an error and without end."""
    place = Path(path).resolve()
    command = [sys.executable, "-c", _READ_ALL, str(place), str(DENSEST)]
    try:
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS + place.stat().st_size / BYTES_A_SECOND,
            cwd=place.anchor,  # where no file of the user's is taken for a module
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        raise FgsmError(f"{path} is damaged: an .h5 file that cannot be read to its end") from None
