"""A record as text: a table for people, JSON and CSV for programs.

    print(render([("attack", record)], "json"))

Counts and rates come from the record; nothing is computed here but percentages to one decimal.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from .experiment import Record
from .family import Attack
from .results import (
    QUANTILES,
    AttackResult,
    Audit,
    Comparison,
    Curve,
    Judgement,
    Training,
    Verification,
    rate,
    wilson_interval,
)

Shown = Record | Comparison | Verification
Named = Sequence[tuple[str, Shown]]

CSV_COLUMNS = (
    "command",
    "attack",
    "norm",
    "epsilon",
    "steps",
    "step_size",
    "decay",
    "restarts",
    "loss",
    "target",
    "labels",
    "n",
    "clean_correct",
    "clean_accuracy",
    "adversarial_correct",
    "adversarial_accuracy",
    "flipped",
    "success_rate",
    "target_hits",
    "target_rate",
    "zero_gradients",
    "linf_max",
    "model",
    "data",
)


def as_json(document: Mapping[str, Any]) -> str:
    """One JSON document; NaN and infinity are refused rather than written."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def as_csv(records: Named) -> str:
    """One line a result under one header, the same columns for every command that judges.

    Comparisons and verifications have columns of their own: the fields of what they list.
    """
    text = io.StringIO()
    [(_, only)] = records if len(records) == 1 else [("", None)]
    if isinstance(only, Comparison | Verification | Audit):
        listed = _listed(only)
        columns = [field.name for field in fields(listed[0])]
        plain = csv.DictWriter(text, columns, lineterminator="\n")
        plain.writeheader()
        plain.writerows(asdict(one) for one in listed)
        return text.getvalue()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for command, record in records:
        for document in _lines(record):
            settings = document.get("attack") or {}
            writer.writerow(
                {
                    **document,
                    **settings,
                    "command": command,
                    "attack": settings.get("name"),
                    "model": document["model"]["path"],
                    "data": "{path}: {detail}".format(**document["data"]),
                }
            )
    return text.getvalue()


def _listed(record: Comparison | Verification | Audit) -> Sequence[Any]:
    if isinstance(record, Comparison):
        return record.pairs
    return record.checks if isinstance(record, Verification) else record.findings


def _lines(record: Shown) -> list[dict[str, Any]]:
    """A record's results, each as one document."""
    if isinstance(record, Judgement):
        whole = record.as_dict()
        origin = {key: whole[key] for key in ("model", "data")}
        return [{**result.as_dict(), **origin} for result in record.results]
    document = record.as_dict()
    if not isinstance(record, Curve):
        return [document]
    return [
        {**document, **point, "attack": {**document["attack"], "epsilon": point["epsilon"]}}
        for point in document["points"]
    ]


def print_table(record: Shown, console: Any) -> None:
    """The record for people, on a rich console; nothing in it is cut off, however narrow."""
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    def say(text: str, style: str = "") -> None:
        # On a screen lines break between words; in a file or a pipe they stay whole.
        console.print(Text(text, style), soft_wrap=not console.is_terminal)

    title, subject = _title(record)
    say(title, "bold")
    say(subject, "dim")
    gap = 2 if console.width >= 60 else 1
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    header, *rows = _rows(record, intervals=console.width >= 60)
    for position, name in enumerate(header):
        words = position == 0 or isinstance(record, Audit | Verification)
        table.add_column(name, justify="left" if words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    needed = Measurement.get(console, console.options.update_width(1000), table).maximum
    console.width = max(console.width, needed)
    console.print()
    console.print(table)
    console.print()
    for sentence in _sentences(record):
        say(sentence)
    for warning in warnings_of(record):
        say(f"Warning: {warning}{'' if warning.endswith('?') else '.'}", "yellow")
    for file in getattr(record, "files", ()):
        say(f"Saved: {file}", "dim")


def _title(record: Shown) -> tuple[str, str]:
    if isinstance(record, Comparison):
        return "Comparison", f"a: {record.a}, b: {record.b}"
    if isinstance(record, Verification):
        return "Verification", record.folder
    subject = f"{record.model} on {record.data.path}, {record.data.detail}"
    if isinstance(record, Training):
        return "Training", subject
    if isinstance(record, Audit):
        return f"Audit at epsilon {record.epsilon:.4g}", subject
    if isinstance(record, Curve):
        attack = record.attack
        return f"{attack.row.title} curve, {attack.norm.capitalize()}", subject
    if record.command == "attack":
        return _attack_title(record.results[0]), subject
    return "Accuracy under attack", subject


def _attack_title(result: AttackResult) -> str:
    attack = result.attack
    if not isinstance(attack, Attack):
        return "Saved adversarial set" if attack is None else attack.title
    parts = [attack.row.title, attack.norm.capitalize(), f"epsilon {attack.epsilon:.4g}"]
    if attack.steps > 1:
        parts.append(f"{attack.steps} steps")
    if attack.restarts > 1:
        parts.append(f"{attack.restarts} restarts")
    if attack.target is not None:
        parts.append(f"target {attack.target}")
    if attack.labels == "predicted":
        parts.append("on predicted labels")
    return ", ".join(parts)


def _rows(record: Shown, *, intervals: bool) -> list[tuple[str, ...]]:
    """The header and the rows of the table; with room for it, 95 % intervals."""
    rows: list[tuple[str, ...]]
    if isinstance(record, Comparison):
        return [
            ("right after", "a", "b", "only a", "only b", "p"),
            *(
                (
                    pair.what,
                    _percent(rate(pair.both + pair.only_a, pair.n)),
                    _percent(rate(pair.both + pair.only_b, pair.n)),
                    _count(pair.only_a),
                    _count(pair.only_b),
                    f"{pair.p_value:.3g}",
                )
                for pair in record.pairs
            ),
        ]
    if isinstance(record, Audit):
        return [
            ("check", "verdict", "measured"),
            *((one.name, one.verdict, one.measured) for one in record.findings),
        ]
    if isinstance(record, Verification):
        differing = [check for check in record.checks if not check.agrees]
        return [
            ("check", "recorded", "found"),
            *((check.what, _short(check.recorded), _short(check.found)) for check in differing),
        ]
    if isinstance(record, Training):
        last = record.epochs[-1]
        parts = [("training", last.correct, last.n), ("test", record.clean_correct, record.n)]
        if last.validation_n:
            parts.insert(1, ("validation", last.validation_correct, last.validation_n))
        return [
            ("images", "correct", "accuracy"),
            *(
                (name, _counts(part, whole), _percent(rate(part, whole)))
                for name, part, whole in parts
            ),
        ]
    if isinstance(record, Curve):
        rows = [
            ("epsilon", *_kept(record), "95 % interval"),
            *(
                (
                    f"{epsilon:.4g}",
                    _count(part),
                    _percent(rate(part, record.n)),
                    _interval(part, record.n),
                )
                for epsilon, part in zip(record.epsilons, record.correct, strict=True)
            ),
        ]
        return rows if intervals else [row[:3] for row in rows]
    if record.command == "attack":
        [result] = record.results
        counted = [("clean", record.clean_correct), ("adversarial", result.adversarial_correct)]
        rows = [
            ("images", "correct", "accuracy", "95 % interval"),
            *(
                (
                    name,
                    _counts(part, record.n),
                    _percent(rate(part, record.n)),
                    _interval(part, record.n),
                )
                for name, part in counted
            ),
        ]
        return rows if intervals else [row[:3] for row in rows]
    clean = record.clean_correct
    rows = [
        ("attack", "epsilon", "correct", "accuracy", "success", "95 % interval"),
        (
            "none",
            "",
            _count(clean),
            _percent(rate(clean, record.n)),
            "",
            _interval(clean, record.n),
        ),
        *(
            (
                result.attack.name if result.attack else "saved",
                f"{result.attack.epsilon:.4g}" if result.attack else "",
                _count(result.adversarial_correct),
                _percent(result.adversarial_accuracy),
                _percent(result.success_rate),
                _interval(result.adversarial_correct, result.n),
            )
            for result in record.results
        ),
    ]
    return rows if intervals else [row[:5] for row in rows]


def _kept(record: Curve) -> tuple[str, str]:
    return ("correct", "accuracy") if record.labelled else ("unchanged", "share")


def _sentences(record: Shown) -> list[str]:
    if isinstance(record, Comparison):
        return [
            "p: how often chance alone would split the images on which the two differ at least so "
            "unevenly (exact McNemar test, two-sided)."
        ]
    if isinstance(record, Audit):
        doubts = [one for one in record.findings if one.verdict != "pass"]
        return [
            *(f"{one.verdict.capitalize()}: {one.name}: {one.meaning}." for one in doubts),
            "Every check passes: nothing here speaks against the numbers."
            if not doubts
            else f"{len(doubts)} of {len(record.findings)} checks speak against the numbers.",
        ]
    if isinstance(record, Verification):
        agreeing = sum(check.agrees for check in record.checks)
        verdict = "The run is confirmed" if record.agrees else "The run is NOT confirmed"
        return [f"{verdict}: {agreeing} of {len(record.checks)} checks agree to the digit."]
    if isinstance(record, Training):
        last = record.epochs[-1]
        sentences = ["Training accuracy is that of the last epoch, taken while learning."]
        if last.validation_n:
            sentences.append(
                "Validation images were held out of the training images; test images decide "
                "nothing."
            )
        return sentences
    if isinstance(record, Curve):
        return _curve_sentences(record)
    if record.command != "attack":
        return [
            "Success: images classified right before the attack and wrong after it. The interval "
            "is of the accuracy.",
            *(sentence for result in record.results for sentence in _over_seeds(result)),
        ]
    [result] = record.results
    sentences = [
        f"The attack changed the prediction of {_counts(result.changed, result.n)} images."
        if result.flipped is None
        else f"The attack flipped {result.flipped:,} of the {_count(result.clean_correct)} images "
        f"that were classified right: success rate {_percent(result.success_rate)}."
    ]
    if result.target_hits is not None and result.target_is_label is not None:
        others = result.n - result.target_is_label
        sentences.append(
            f"It brought {result.target_hits:,} of the {others:,} images whose label was another "
            f"to the target: {_percent(result.target_rate)}."
        )
    sentences += _over_seeds(result)
    if record.saved:
        again = record.saved
        sentences.append(
            f"Read back from the 8-bit files, it leaves an accuracy of "
            f"{_percent(again.adversarial_accuracy)} "
            f"({_counts(again.adversarial_correct, again.n)}), and the farthest pixel lies "
            f"{again.linf_max:.4g} away."
        )
    health = result.gradients
    zero = "No gradient was zero" if not (health and health.zero) else "Some gradients were zero"
    moved = f"the farthest pixel moved by {result.linf_max:.4g}"
    if isinstance(result.attack, Attack) and result.attack.norm != "linf":
        norm = result.attack.norm.capitalize()
        moved = f"the farthest image moved by {result.distance_max:.4g} in {norm}"
    return [*sentences, f"{zero}; {moved}."]


def _over_seeds(result: AttackResult) -> list[str]:
    found = result.over_seeds
    if not found:
        return []
    low, high = found.interval
    name = f"{result.attack.name}: " if result.attack else ""
    return [
        f"{name}over {len(found.seeds)} seeds the adversarial accuracy is {100 * found.mean:.2f} % "
        f"in the mean, 95 % interval {100 * low:.2f} to {100 * high:.2f} %."
    ]


def _curve_sentences(record: Curve) -> list[str]:
    middle = record.quantiles[QUANTILES.index(0.5)]
    half = f"at epsilon {middle:.4g}" if middle is not None else "at no epsilon of the curve"
    course = "never rises" if record.is_monotone else "is not monotone"
    whose, what = (
        ("images classified right", "accuracy") if record.labelled else ("images", "share")
    )
    return [
        f"Half of the {whose} are turned {half}; {record.never:,} never are. "
        f"The {what} {course}; {record.back:,} images turn back at a larger epsilon."
    ]


def warnings_of(record: Shown) -> list[str]:
    """The warnings of a record and of its results, each once."""
    judged = (
        (*record.results, *([record.saved] if record.saved else ()))
        if isinstance(record, Judgement)
        else ()
    )
    own = [warning for result in judged for warning in result.warnings]
    return list(dict.fromkeys([*record.warnings, *own]))


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _counts(part: int | None, whole: int) -> str:
    return f"{_count(part)}/{whole:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _interval(part: int | None, whole: int) -> str:
    ends = wilson_interval(part, whole)
    return "-" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."
