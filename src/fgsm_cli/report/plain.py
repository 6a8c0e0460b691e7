"""A record for programs: JSON and CSV."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..results import (
    Audit,
    Bracket,
    Certification,
    Comparison,
    Curve,
    Gallery,
    Judgement,
    Plot,
    Reproduction,
    Transfer,
    Verification,
)
from .views import Shown

Listing = (
    Comparison | Verification | Audit | Transfer | Reproduction | Certification | Gallery | Plot
)
Named = Sequence[tuple[str, Shown]]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")

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
    "adversarial_low",
    "adversarial_high",
    "flipped",
    "success_rate",
    "target_hits",
    "target_rate",
    "zero_gradients",
    "linf_max",
    "changed",
    "mean_adversarial_accuracy",
    "certified_correct",
    "certified_accuracy",
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
    if isinstance(only, Listing):
        listed = _listed(only)
        plain = csv.DictWriter(text, list(listed[0]), lineterminator="\n")
        plain.writeheader()
        plain.writerows(_harmless(one) for one in listed)
        return text.getvalue()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for command, record in records:
        for document in _lines(record):
            settings = document.get("attack") or document.get("defence") or {}
            low, high = document.get("adversarial_interval") or (None, None)
            row = {
                "adversarial_low": low,
                "adversarial_high": high,
                **document,
                **settings,
                **(document.get("over_seeds") or {}),
                "command": command,
                "attack": settings.get("name"),
                "model": document["model"]["path"],
                "data": "{path}: {detail}".format(**document["data"]),
            }
            writer.writerow(_harmless(row))
    return text.getvalue()


def _harmless(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with no text in it that a spreadsheet would take for a formula.

    An apostrophe before it makes it text, as OWASP advises; numbers stay numbers.
    """
    return {
        name: f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
        for name, value in row.items()
    }


def _listed(record: Listing) -> list[dict[str, Any]]:
    """What a record lists, each as a flat document."""
    if isinstance(record, Gallery):
        return list(record.rows())
    if isinstance(record, Plot):
        return [
            {"line": line.label, "norm": line.norm, **asdict(point)}
            for line in record.lines
            for point in line.points
        ]
    listed: Sequence[Any] = ()
    match record:
        case Comparison():
            listed = record.pairs
        case Transfer():
            listed = record.crossings
        case Certification():
            listed = record.brackets
        case Reproduction():
            listed = record.figures
        case Verification():
            listed = record.checks
        case Audit():
            listed = record.findings
    return [
        {**asdict(one), "attack": one.attack.title} if isinstance(one, Bracket) else asdict(one)
        for one in listed
    ]


def _lines(record: Shown) -> list[dict[str, Any]]:
    """A record's results, each as one document."""
    if isinstance(record, Judgement):
        whole = record.as_dict()
        origin = {key: whole[key] for key in ("model", "data")}
        return [{**result.as_dict(), **origin} for result in record.results]
    document = record.as_dict()
    if isinstance(record, Transfer):
        return [
            {**document, **one, "model": {"path": f"{one['source']} -> {one['target']}"}}
            for one in document["results"]
        ]
    if isinstance(record, Certification):
        return [{**document, **one} for one in document["results"]]
    if not isinstance(record, Curve):
        return [document]
    return [
        {**document, **point, "attack": {**document["attack"], "epsilon": point["epsilon"]}}
        for point in document["points"]
    ]
