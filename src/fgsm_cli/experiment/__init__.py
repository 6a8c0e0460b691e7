"""One function a command: options in, record out; and the run of several from one file.

    record = attack(build(AttackOptions, {"epsilon": 0.1}), Watch())

Nothing here knows the screen: what goes on is told to a ``Watch``.
"""

from .auditing import audit
from .certifying import certify
from .commands import COMMANDS, Record
from .folders import check_apart, config_text, output_folder, write_run
from .judging import attack, evaluate, judgement_of
from .showing import show
from .subject import loaded
from .tracing import curve
from .training import train
from .transferring import transfer
from .watch import Watch

__all__ = [
    "COMMANDS",
    "Record",
    "Watch",
    "attack",
    "audit",
    "certify",
    "check_apart",
    "config_text",
    "curve",
    "evaluate",
    "judgement_of",
    "loaded",
    "output_folder",
    "show",
    "train",
    "transfer",
    "write_run",
]
