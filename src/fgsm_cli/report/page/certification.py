"""How a page tells robust accuracy from both sides."""

from collections.abc import Sequence

from ...results import Bracket, Certification, rate
from ..text import count, percent
from .blocks import Cell, Chart, Level, Notes, Part, Section, Table
from .charts import Axis, Series, chart


def told(name: str, record: Certification) -> Part:
    """The bracket at every epsilon."""
    last = record.brackets[-1]
    notes: list[tuple[Level, str, str]] = [
        ("care", "Warning", f"{warning}.") for warning in record.warnings
    ]
    notes.append(("good", "Pass", "No image is both proved and broken."))
    wrong = record.n - record.clean_correct
    rows = [
        [
            Cell(f"{one.epsilon:.4g}"),
            Cell(percent(rate(one.proved, one.n))),
            Cell(percent(rate(one.upper, one.n))),
            *(Cell(count(part)) for part in (one.proved, one.broken, one.undecided, wrong)),
            Cell("{:.1f} to {:.1f} %".format(*(100 * end for end in one.interval or (0, 1)))),
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
            "True whatever the attacker does",
            "What is proved holds against every attack; what is broken was broken by an image that "
            "the model was asked. What is neither is undecided, and counts in the upper end alone.",
        ),
        sections=[
            Section(
                "The bracket",
                [
                    *([_chart(record.norm, record.brackets)] if len(record.brackets) > 1 else ()),
                    Table(
                        "Images by what is known of them",
                        (
                            *("epsilon", "at least", "at most", "proved", "broken", "undecided"),
                            *("wrong anyway", "95 % interval"),
                        ),
                        rows,
                    ),
                ],
            ),
            Section("Can the numbers be trusted?", [Notes(notes)]),
        ],
    )


def proved_up_to(
    epsilons: Sequence[float], proved: Sequence[int], upper: Sequence[int], n: int
) -> Series:
    """What is proved over epsilon, and above it the band of what no attack has turned."""
    low, high = ([one / n for one in counts] for counts in (proved, upper))
    return Series("proved; above it the undecided", epsilons, low, low, high, look=2)


def _chart(norm: str, brackets: Sequence[Bracket]) -> Chart:
    """Both ends of the bracket over epsilon."""
    epsilons, n = [one.epsilon for one in brackets], brackets[0].n
    proved, upper = [one.proved for one in brackets], [one.upper for one in brackets]
    left = Series("left by the attacks", epsilons, [one / n for one in upper])
    return chart(
        [left, proved_up_to(epsilons, proved, upper, n)],
        Axis(f"epsilon ({norm.capitalize()})", 0, epsilons[-1]),
        Axis("robust accuracy", 0, 1, percent=True),
        title="Robust accuracy over epsilon",
        description=(
            f"Between what is proved and what the attacks leave: from {percent(rate(proved[0], n))}"
            f" to {percent(rate(upper[0], n))} at epsilon {epsilons[0]:.4g}, from "
            f"{percent(rate(proved[-1], n))} to {percent(rate(upper[-1], n))} at "
            f"{epsilons[-1]:.4g}."
        ),
        note="The truth of these images lies in the band, whatever the attacker does.",
    )
