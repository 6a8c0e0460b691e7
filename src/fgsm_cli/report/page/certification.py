"""How a page tells robust accuracy from both sides."""

from ...results import Certification, rate
from ..text import count, percent
from .blocks import Cell, Level, Notes, Part, Section, Table


def told(name: str, record: Certification) -> Part:
    """The bracket at every epsilon."""
    last = record.brackets[-1]
    notes: list[tuple[Level, str, str]] = [
        ("care", "Warning", f"{warning}.") for warning in record.warnings
    ]
    notes.append(("good", "Pass", "No image is both proved and broken."))
    rows = [
        [
            Cell(f"{one.epsilon:.4g}"),
            Cell(percent(rate(one.proved, one.n))),
            Cell(percent(rate(one.upper, one.n))),
            *(Cell(count(part)) for part in (one.proved, one.broken, one.undecided)),
        ]
        for one in record.brackets
    ]
    return Part(
        name=name,
        kicker=f"Robust accuracy from both sides, {record.norm.capitalize()}",
        answer=(
            f"Whatever the attacker does, at epsilon {last.epsilon:.4g} the accuracy is at least "
            f"{percent(rate(last.proved, last.n))} and at most {percent(rate(last.upper, last.n))}."
        ),
        subject=f"{record.model} on {record.data.path}, {record.data.detail}.",
        trust=(
            "care" if record.warnings else "good",
            "Proved, and broken by examples that were asked",
            "What is neither is undecided, and counts in the upper end alone.",
        ),
        sections=[
            Section(
                "The bracket",
                [
                    Table(
                        "Images by what is known of them",
                        ("epsilon", "at least", "at most", "proved", "broken", "undecided"),
                        rows,
                    )
                ],
            ),
            Section("Can the numbers be trusted?", [Notes(notes)]),
        ],
    )
