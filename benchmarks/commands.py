"""Where the installed command and its embedded images are."""

import importlib.resources
import sysconfig
from pathlib import Path

FGSM = str(Path(sysconfig.get_path("scripts")) / "fgsm")
MNIST = str(importlib.resources.files("fgsm_cli") / "assets" / "mnist.npz")
