"""A portrait as charts and tables: the course over epsilon, where images turn, which classes."""

from collections.abc import Sequence

from ...family import Attack
from ...results import Course, Flow, Portrait, Tally, rate, wilson_interval
from ..text import count, interval, percent
from .blocks import Block, Cell, Chart, Table, Text, shaded
from .charts import Axis, Series, chart, histogram

# A matrix of more classes is no table anybody reads; then the worst are listed.
MANY = 20


def accuracy_chart(
    portrait: Portrait, asked: float | None, more: Sequence[Series] = (), *, moves: bool = True
) -> Chart:
    """Accuracy over epsilon with its intervals, beside the random-noise control.

    more: series to draw beside them, such as what other attacks leave.
    """
    course, what = portrait.course, "accuracy" if portrait.labelled else "unchanged answers"
    name = course.attack.row.title
    own = _shares(name, course.epsilons, course.correct, course.n, 0)
    noise = _shares("random noise", course.epsilons, course.noise_correct, course.n, 1)
    rows = [
        [
            Cell(f"{epsilon:.4g}"),
            Cell(count(correct)),
            shaded(percent(rate(correct, course.n)), rate(correct, course.n)),
            Cell(interval(correct, course.n)),
            shaded(percent(rate(random, course.n)), rate(random, course.n)),
        ]
        for epsilon, correct, random in zip(
            course.epsilons, course.correct, course.noise_correct, strict=True
        )
    ]
    return chart(
        [own, noise, *more],
        Axis(f"epsilon ({course.attack.norm.capitalize()})", 0, course.epsilons[-1]),
        Axis(what, 0, 1, percent=True),
        title=f"{what.capitalize()} over epsilon",
        description=(
            f"Along the direction of {name} the {what} goes from "
            f"{percent(rate(course.correct[0], course.n))} at epsilon 0 to "
            f"{percent(rate(course.correct[-1], course.n))} at {course.epsilons[-1]:.4g}; along "
            f"random noise of the same size to {percent(rate(course.noise_correct[-1], course.n))}."
        ),
        upright=None if asked is None else (asked, f"{asked:.4g}"),
        moves=moves,
        table=Table(
            "The numbers of the chart",
            ("epsilon", "right", what, "95 % interval", "with random noise"),
            rows,
            folded=True,
        ),
        note=(
            f"{_whole(portrait)} The band is the 95 % interval. Random noise goes as far in a "
            "direction that knows nothing of the model: where it hurts as much as the attack, the "
            "attack has found nothing."
        ),
    )


def _shares(
    name: str, epsilons: Sequence[float], correct: Sequence[int], n: int, look: int
) -> Series:
    ends = [wilson_interval(one, n) or (0.0, 1.0) for one in correct]
    low, high = zip(*ends, strict=True)
    return Series(name, epsilons, [one / n for one in correct], low, high, look)


def _whole(portrait: Portrait) -> str:
    n, whole = portrait.course.n, sum(tally.n for tally in portrait.tallies)
    return (
        f"All {n:,} images."
        if n == whole
        else f"Measured on {n:,} of the {whole:,} images, evenly spaced."
    )


def smallest_chart(course: Course, asked: float | None) -> Chart:
    """How the smallest epsilon that turns an image is distributed."""
    standing = sum(course.fallen) + course.never
    middle = course.middle
    half = f"half are turned by {middle:.4g}" if middle is not None else "fewer than half are"
    steps = zip(course.epsilons[:-1], course.epsilons[1:], course.fallen, strict=True)
    rows = [
        [
            Cell(f"{low:.4g} to {high:.4g}"),
            Cell(count(n)),
            shaded(percent(rate(n, standing)), rate(n, standing)),
        ]
        for low, high, n in steps
    ]
    rows.append(
        [Cell("never"), Cell(count(course.never)), Cell(percent(rate(course.never, standing)))]
    )
    return histogram(
        course.epsilons,
        course.fallen,
        course.never,
        title="Where images turn",
        description=(
            f"Of {standing:,} images that are right at epsilon 0, {half}, and {course.never:,} are "
            f"never turned up to {course.epsilons[-1]:.4g}."
        ),
        table=Table("The numbers of the chart", ("epsilon", "images", "share"), rows, folded=True),
        upright=None if asked is None else (asked, f"{asked:.4g}"),
        note=(
            "The smallest epsilon along its direction at which the model errs, found by bisection "
            "to 0.0001. The hatched bar at the right: images that none of these epsilons turns."
        ),
    )


def classes(portrait: Portrait) -> list[Block]:
    """Accuracy by class, and the flow from clean to adversarial answers."""
    attack = portrait.attack
    name = attack.row.title if isinstance(attack, Attack) else attack.title
    told = Text(f"Under {name}, epsilon {attack.epsilon:.4g}, on all images.")
    blocks: list[Block] = [told, _by_class(portrait), _flow(portrait)]
    return blocks


def _by_class(portrait: Portrait) -> Table:
    def left(tally: Tally) -> float:
        return tally.adversarial_correct / tally.n

    tallies, caption = list(portrait.tallies), "Accuracy by class"
    if len(tallies) > MANY:
        tallies = sorted(tallies, key=left)[:MANY]
        caption = f"The {MANY} classes that keep least, of {len(portrait.tallies):,}"
    labelled = ("class", "images", "clean", "under attack", "95 % interval")
    return Table(
        caption,
        labelled
        if portrait.labelled
        else ("answer", "images", "before", "as before", labelled[-1]),
        [
            [
                Cell(portrait.classes[one.label]),
                Cell(count(one.n)),
                shaded(percent(rate(one.clean_correct, one.n)), rate(one.clean_correct, one.n)),
                shaded(percent(left(one)), left(one)),
                Cell(interval(one.adversarial_correct, one.n)),
            ]
            for one in tallies
        ],
    )


def _flow(portrait: Portrait) -> Table:
    """Answers before and after: a matrix of few classes, the largest flows of many."""
    names, flows = portrait.classes, portrait.flows
    met = sorted({label for flow in flows for label in (flow.before, flow.after)})
    if len(met) > MANY:
        moved = sorted((one for one in flows if one.before != one.after), key=_less)[:MANY]
        return Table(
            f"The {len(moved)} most frequent changes of an answer",
            ("before", "after", "images"),
            [
                [Cell(names[one.before]), Cell(names[one.after]), Cell(count(one.n))]
                for one in moved
            ],
            words=True,
        )
    table = {(flow.before, flow.after): flow.n for flow in flows}
    rows = []
    for before in met:
        whole = sum(table.get((before, after), 0) for after in met) or 1
        cells = [table.get((before, after), 0) for after in met]
        rows.append(
            [Cell(names[before]), *(shaded(f"{n:,}" if n else "·", n / whole) for n in cells)]
        )
    return Table(
        "From the clean answer (row) to the answer under attack (column)",
        ("clean answer", *(names[after] for after in met)),
        rows,
        across="answer under attack",
    )


def _less(flow: Flow) -> int:
    return -flow.n
