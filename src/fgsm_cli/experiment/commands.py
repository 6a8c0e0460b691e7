"""The table of commands."""

from collections.abc import Callable, Mapping
from typing import Any

from ..results import Audit, Curve, Judgement, Training, Transfer
from .auditing import audit
from .judging import attack, evaluate
from .tracing import curve
from .training import train
from .transferring import transfer
from .watch import Watch

Record = Training | Judgement | Curve | Audit | Transfer


COMMANDS: Mapping[str, Callable[[Any, Watch], Record]] = {
    "train": train,
    "attack": attack,
    "eval": evaluate,
    "curve": curve,
    "audit": audit,
    "transfer": transfer,
}
