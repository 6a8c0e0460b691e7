"""A record as text: a table for people, JSON and CSV for programs.

    print(render([("attack", record)], "json"))

Counts and rates come from the record; nothing is computed here but percentages to one decimal.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .experiment import Record
from .results import AttackResult, Judgement, Training, rate

Named = Sequence[tuple[str, Record]]

CSV_COLUMNS = (
    "command",
    "attack",
    "norm",
    "epsilon",
    "steps",
    "step_size",
    "decay",
    "loss",
    "n",
    "clean_correct",
    "clean_accuracy",
    "adversarial_correct",
    "adversarial_accuracy",
    "flipped",
    "success_rate",
    "zero_gradients",
    "linf_max",
    "model",
    "data",
)


def as_json(document: Mapping[str, Any]) -> str:
    """One JSON document; NaN and infinity are refused rather than written."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def as_csv(records: Named) -> str:
    """One line a result under one header, the same columns for every command."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for command, record in records:
        results = record.results if isinstance(record, Judgement) else [record]
        for result in results:
            document = result.as_dict()
            settings = document.get("attack") or {}
            writer.writerow(
                {
                    **document,
                    **settings,
                    "command": command,
                    "attack": settings.get("name"),
                    "model": record.model.path,
                    "data": f"{record.data.path}: {record.data.detail}",
                }
            )
    return text.getvalue()


def print_table(record: Record, console: Any) -> None:
    """The record for people, on a rich console; nothing in it is cut off, however narrow."""
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)

    title, subject = _title(record)
    say(title, "bold")
    say(subject, "dim")
    gap = 2 if console.width >= 60 else 1
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    header, *rows = _rows(record)
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    needed = Measurement.get(console, console.options.update_width(1000), table).maximum
    console.width = max(console.width, needed)
    console.print()
    console.print(table)
    console.print()
    for sentence in _sentences(record):
        say(sentence)
    for warning in _warnings(record):
        say(f"Warning: {warning}.", "yellow")
    for file in record.files:
        say(f"Saved: {file}", "dim")


def _title(record: Record) -> tuple[str, str]:
    subject = f"{record.model.path} ({record.model.detail})"
    if isinstance(record, Training):
        return "Training", f"{subject} on {record.data.path}, {record.data.detail}"
    subject = f"{subject} on {record.data.path}, {record.data.detail}"
    if record.command == "attack":
        return _attack_title(record.results[0]), subject
    return "Accuracy under attack", subject


def _attack_title(result: AttackResult) -> str:
    attack = result.attack
    if attack is None:
        return "Saved adversarial set"
    steps = "" if attack.steps == 1 else f", {attack.steps} steps"
    return f"{attack.title}, {attack.norm.capitalize()}, epsilon {attack.epsilon:.4g}{steps}"


def _rows(record: Record) -> list[Sequence[str]]:
    if isinstance(record, Training):
        last = record.epochs[-1]
        rows = [("training", last.correct, last.n), ("test", record.clean_correct, record.n)]
        if last.validation_n:
            rows.insert(1, ("validation", last.validation_correct, last.validation_n))
        return [
            ("images", "correct", "accuracy"),
            *(
                (name, _counts(part, whole), _percent(rate(part, whole)))
                for name, part, whole in rows
            ),
        ]
    clean = (
        _counts(record.clean_correct, record.n),
        _percent(rate(record.clean_correct, record.n)),
    )
    if record.command == "attack":
        result = record.results[0]
        return [
            ("images", "correct", "accuracy"),
            ("clean", *clean),
            (
                "adversarial",
                _counts(result.adversarial_correct, result.n),
                _percent(result.adversarial_accuracy),
            ),
        ]
    return [
        ("attack", "epsilon", "correct", "accuracy", "success"),
        ("none", "", _count(record.clean_correct), clean[1], ""),
        *(
            (
                result.attack.name if result.attack else "saved",
                f"{result.attack.epsilon:.4g}" if result.attack else "",
                _count(result.adversarial_correct),
                _percent(result.adversarial_accuracy),
                _percent(result.success_rate),
            )
            for result in record.results
        ),
    ]


def _sentences(record: Record) -> list[str]:
    if isinstance(record, Training):
        return [
            "Validation images were held out of the training images; test images decide nothing."
        ]
    if record.command != "attack":
        return ["Success: images classified right before the attack and wrong after it."]
    result = record.results[0]
    flipped = (
        f"The attack flipped {result.flipped:,} of the {result.clean_correct:,} images that were "
        f"classified right: success rate {_percent(result.success_rate)}."
    )
    health = "No gradient was zero" if not result.zero_gradients else "Some gradients were zero"
    return [flipped, f"{health}; no pixel moved by more than {result.linf_max:.4g}."]


def _warnings(record: Record) -> list[str]:
    own = [
        warning
        for result in (record.results if isinstance(record, Judgement) else ())
        for warning in result.warnings
    ]
    return list(dict.fromkeys([*record.warnings, *own]))


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _counts(part: int | None, whole: int) -> str:
    return f"{_count(part)}/{whole:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
