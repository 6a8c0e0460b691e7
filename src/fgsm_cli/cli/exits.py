"""Exit codes, and the gates that ask for one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .screen import complain

if TYPE_CHECKING:
    from ..experiment import Record

DONE, GATE_FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE, BUG = 0, 1, 2, 130, 141, 70
WORKER_LOST = 138  # from 128 on, schedulers take a failure for one worth another try


def gate(records: "Sequence[Record]", *, told: bool = True) -> int:
    """The exit code that the records' own gates ask for, and on stderr why."""
    say = complain if told else _silent
    from ..results import Audit, Certification, Judgement

    code = DONE
    for record in records:
        if isinstance(record, Audit) and record.verdict == "fail":
            say("Gate failed: the audit found reasons not to trust the numbers")
            code = GATE_FAILED
        if isinstance(record, Certification) and record.passed is False:
            worst = min(record.brackets, key=lambda one: one.proved)
            say(
                f"Gate failed: certified accuracy {worst.proved / worst.n:.6g} (epsilon "
                f"{worst.epsilon:.4g}) is under {record.fail_under:.9g}"
            )
            code = GATE_FAILED
        if isinstance(record, Judgement) and record.passed is False:
            lowest = min(record.results, key=lambda result: result.adversarial_correct or 0)
            by = lowest.attack
            which = f" ({by.name}, epsilon {by.epsilon:.4g})" if by else ""
            reached = lowest.adversarial_accuracy or 0
            say(
                f"Gate failed: adversarial accuracy {reached:.6g}{which} is "
                f"under {record.fail_under:.9g}"
            )
            code = GATE_FAILED
    return code


def _silent(*_: Any) -> None:
    pass
