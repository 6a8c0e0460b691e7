"""The table of tellers: for each kind of record, how a page tells it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...results import Audit, Certification, Curve, Epoch, Judgement, Training, Transfer, rate
from ..text import counts, interval, percent
from . import certification, judgement
from .blocks import Block, Cell, Level, Notes, Number, Numbers, Part, Section, Table, shaded
from .certification import proved_up_to
from .charts import Axis, Series, chart
from .gallery import gallery
from .portrait import accuracy_chart, classes, smallest_chart

_VERDICTS: Mapping[str, tuple[Level, str]] = {
    "pass": ("good", "Pass"),
    "suspicious": ("care", "Suspicious"),
    "fail": ("bad", "Fail"),
}


def curve(name: str, record: Curve) -> Part:
    """Accuracy along one direction."""
    what = "accuracy" if record.labelled else "share of unchanged answers"
    last, end = record.correct[-1], record.epsilons[-1]
    portrait = record.portrait
    middle = portrait.course.middle if portrait else None
    half = f", and half of what it gets right is gone by {middle:.4g}" if middle else ""
    sections = []
    if portrait:
        proved = (
            [proved_up_to(record.epsilons, record.certified, record.correct, record.n)]
            if record.certified
            else []
        )
        shown = accuracy_chart(portrait, None, proved)
        sections = [
            Section("How much is left", [shown, smallest_chart(portrait.course, None)]),
            Section("Which classes", classes(portrait)),
        ]
        if pictures := gallery(portrait):
            sections.append(Section("What it looks like", [pictures]))
    notes: list[tuple[Level, str, str]] = [
        ("bad", "Warning", f"{warning}.") for warning in record.warnings
    ]
    if not record.zero_gradients:
        notes.append(("good", "Pass", "No gradient was zero."))
    notes.append(
        ("good", "Pass", f"The {what} never rises with epsilon.")
        if record.is_monotone
        else ("care", "Suspicious", f"The {what} rises with epsilon somewhere.")
    )
    if record.back:
        back = f"{record.back:,} images turn back to right at a larger epsilon."
        notes.append(("care", "Told", back))
    sections.append(Section("Can the numbers be trusted?", [Notes(notes)]))
    sound = not record.zero_gradients and record.is_monotone and not record.warnings
    return Part(
        name=name,
        kicker=f"{record.attack.row.title} curve, {record.attack.norm.capitalize()}",
        answer=(
            f"The {what} falls from {percent(rate(record.correct[0], record.n))} to "
            f"{percent(rate(last, record.n))} ({interval(last, record.n)}) at epsilon {end:.4g}"
            f"{half}."
        ),
        subject=f"{record.model} on {record.data.path}, {record.data.detail}.",
        trust=(
            "good",
            "An upper bound, soundly measured",
            "Every point was asked of the model. One step is the weakest attack: others may leave "
            "less.",
        )
        if sound
        else ("bad", "Read it with care", "Something below speaks against the numbers."),
        sections=sections,
    )


def training(name: str, record: Training) -> Part:
    """A trained model, and how it learned."""
    n, clean, against = record.n, record.clean_correct, record.defence
    learned = (
        f", trained against {against.row.title} at epsilon {against.epsilon:.4g}" if against else ""
    )
    numbers = [
        Number(
            "Test accuracy",
            percent(rate(clean, n)),
            f"{counts(clean, n)} right; 95 % interval {interval(clean, n)}",
        )
    ]
    last = record.epochs[-1]
    if last.validation_n:
        numbers.append(
            Number(
                "Validation accuracy",
                percent(rate(last.validation_correct, last.validation_n)),
                f"{counts(last.validation_correct, last.validation_n)} held-out training images",
            )
        )
    if last.probe:
        numbers.append(
            Number(
                "Held out, under PGD-20",
                percent(rate(last.probe.pgd_correct, last.probe.n)),
                f"{counts(last.probe.pgd_correct, last.probe.n)} right",
            )
        )
    notes: list[tuple[Level, str, str]] = [
        ("bad", "Warning", f"{warning}.") for warning in record.warnings
    ] or [("good", "Pass", "There is no warning.")]
    return Part(
        name=name,
        kicker="Training",
        answer=(
            f"The model classifies {percent(rate(clean, n))} of {n:,} test images right "
            f"({interval(clean, n)}) after {len(record.epochs)} epochs{learned}."
        ),
        subject=f"{record.model}, trained on {record.data.path}, {record.data.detail}.",
        trust=(
            "bad",
            "Do not rely on it",
            f"{record.warnings[0][:1].upper()}{record.warnings[0][1:]}.",
        )
        if record.warnings
        else (
            "good",
            "Clean accuracy only",
            "Test images decided nothing in training. How it holds up under attack, fgsm attack "
            "and fgsm audit tell.",
        ),
        sections=[
            Section("How it learned", [Numbers(numbers), *_epochs(record)]),
            Section("Can the number be trusted?", [Notes(notes)]),
        ],
    )


def _epochs(record: Training) -> Iterator[Block]:
    epochs = record.epochs
    shares: list[tuple[str, list[float | None]]] = [
        ("training", [rate(one.correct, one.n) for one in epochs]),
        ("validation", [rate(one.validation_correct, one.validation_n) for one in epochs]),
        (
            "held out, FGSM",
            [rate(one.probe.fgsm_correct, one.probe.n) if one.probe else None for one in epochs],
        ),
        (
            "held out, PGD-20",
            [rate(one.probe.pgd_correct, one.probe.n) if one.probe else None for one in epochs],
        ),
    ]
    known = [
        (name, [one for one in values if one is not None])
        for name, values in shares
        if None not in values
    ]
    count = len(epochs)
    passes = [place + 1.0 for place in range(count)]
    x = Axis("epoch", 0.8 if count == 1 else 1, max(count, 1.2))
    lowest = min(value for _, values in known for value in values)
    floor = max(0.0, int(20 * lowest - 0.5) / 20)
    table = Table(
        "The numbers of the chart",
        ("epoch", "loss", *(name for name, _ in known)),
        [_epoch_row(place, epoch, known) for place, epoch in enumerate(epochs)],
        folded=True,
    )
    yield chart(
        [Series(name, passes, values, look=look) for look, (name, values) in enumerate(known)],
        x,
        Axis("accuracy", floor, 1, percent=True),
        title="Accuracy by epoch",
        description="; ".join(f"{name} ends at {percent(values[-1])}" for name, values in known)
        + ".",
        table=table,
        note="Training accuracy is taken while learning, with dropout. The axis begins above 0."
        if floor
        else "Training accuracy is taken while learning, with dropout.",
    )
    losses = [one.loss_sum / one.n for one in epochs]
    yield chart(
        [Series("training loss", passes, losses)],
        x,
        Axis("loss", 0, max(losses) * 1.05 or 1),
        title="Loss by epoch",
        description=f"The training loss goes from {losses[0]:.4g} to {losses[-1]:.4g}.",
        note="The loss that was minimised, in the mean over the epoch.",
    )


def _epoch_row(
    place: int, epoch: Epoch, known: Sequence[tuple[str, Sequence[float]]]
) -> list[Cell]:
    return [
        Cell(str(place + 1)),
        Cell(f"{epoch.loss_sum / epoch.n:.4f}"),
        *(Cell(percent(values[place])) for _, values in known),
    ]


def audit(name: str, record: Audit) -> Part:
    """The checks, each with its verdict."""
    findings = record.findings
    against = [one for one in findings if one.verdict != "pass"]
    level, word = _VERDICTS[record.verdict]
    return Part(
        name=name,
        kicker=f"Audit, epsilon {record.epsilon:.4g}",
        answer=(
            f"{len(against)} of {len(findings)} checks speak against the accuracy under attack."
            if against
            else f"All {len(findings)} checks pass: nothing speaks against the accuracy "
            "under attack."
        ),
        subject=f"{record.model} on {record.data.path}, {record.data.detail}.",
        trust=(
            level,
            word,
            "Gradients are not masked, as far as twelve kinds of checks can see."
            if not against
            else "; ".join(f"{one.name}: {one.meaning}" for one in against) + ".",
        ),
        sections=[
            Section(
                "Every check",
                [
                    Table(
                        "The checks, what was measured, and what it would mean if it failed",
                        ("check", "verdict", "measured", "meaning"),
                        [
                            [
                                Cell(one.name),
                                Cell(_VERDICTS[one.verdict][1], verdict=_VERDICTS[one.verdict][0]),
                                Cell(one.measured),
                                Cell(one.meaning),
                            ]
                            for one in findings
                        ],
                        words=True,
                    ),
                    Notes(
                        [("care", "Warning", f"{warning}.") for warning in record.warnings]
                        or [("good", "Pass", "There is no warning.")]
                    ),
                ],
            )
        ],
    )


def transfer(name: str, record: Transfer) -> Part:
    """The matrix of accuracies."""
    attack = record.attack
    others = [one for one in record.crossings if one.source != one.target]
    lowest = min(others, key=lambda one: one.adversarial_correct)
    clean = {one.target: one.clean_correct for one in record.crossings}
    rows = [
        [
            Cell("none (clean images)"),
            *(
                shaded(percent(rate(clean[one], record.n)), rate(clean[one], record.n))
                for one in record.targets
            ),
        ]
    ]
    for source in record.sources:
        crossed = [record.between(source, target) for target in record.targets]
        rows.append(
            [
                Cell(source),
                *(
                    shaded(
                        f"{percent(rate(one.adversarial_correct, one.n))}",
                        rate(one.adversarial_correct, one.n),
                    )
                    for one in crossed
                ),
            ]
        )
    ends = [
        [
            Cell(f"{one.source} → {one.target}"),
            Cell(counts(one.adversarial_correct, one.n)),
            Cell(interval(one.adversarial_correct, one.n)),
            Cell(percent(rate(one.flipped, one.clean_correct))),
        ]
        for one in record.crossings
    ]
    notes: list[tuple[Level, str, str]] = [
        ("care", "Warning", f"{warning}.") for warning in record.warnings
    ]
    notes.append(("good", "Pass", f"No pixel moved farther than {record.linf_max:.6g}."))
    return Part(
        name=name,
        kicker=(
            f"Transfer of {attack.row.title}, {attack.norm.capitalize()}, "
            f"epsilon {attack.epsilon:.4g}"
        ),
        answer=(
            f"Examples crafted on {lowest.source} leave {lowest.target} an accuracy of "
            f"{percent(rate(lowest.adversarial_correct, lowest.n))} "
            f"({interval(lowest.adversarial_correct, lowest.n)}): no other transfer does more harm."
        ),
        subject=f"{record.n:,} images: {record.data.path}, {record.data.detail}.",
        trust=(
            "care" if record.warnings else "good",
            "Measured on every pair",
            "The diagonal is each model under its own attack; a column that keeps less beside the "
            "diagonal than on it has masked gradients.",
        ),
        sections=[
            Section(
                "The matrix",
                [
                    Table(
                        "Accuracy of the model in the column on examples crafted on the row",
                        ("crafted on", *record.targets),
                        rows,
                        across="judged on",
                    ),
                    Table(
                        "Counts and intervals",
                        ("pair", "right", "95 % interval", "success rate"),
                        ends,
                        folded=True,
                    ),
                ],
            ),
            Section("Can the numbers be trusted?", [Notes(notes)]),
        ],
    )


TELLERS: Mapping[type[Any], Callable[[str, Any], Part]] = {
    Judgement: judgement.told,
    Curve: curve,
    Training: training,
    Audit: audit,
    Transfer: transfer,
    Certification: certification.told,
}
