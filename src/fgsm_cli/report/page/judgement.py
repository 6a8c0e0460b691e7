"""How a model under attack is told: the answer, whether to trust it, how it came about."""

from collections.abc import Iterator, Sequence

from ...family import Attack
from ...results import AttackResult, Judgement, Worst, rate
from ..judgement import title_of
from ..text import count, counts, interval, percent
from .blocks import Block, Level, Notes, Number, Numbers, Part, Section, Table, shaded
from .certification import proved_up_to
from .charts import MARKS, Series
from .gallery import gallery, of_set
from .portrait import accuracy_chart, classes, smallest_chart


def told(name: str, record: Judgement) -> Part:
    """A judgement as a part of a page."""
    lowest = min(record.results, key=_left)
    asked = lowest.attack.epsilon if lowest.attack else None
    portrait = record.portrait
    seen: list[Block] = [Numbers(list(_numbers(record, lowest)))]
    if portrait:
        seen += [
            accuracy_chart(portrait, asked, [*_judged(record), *_proved(record)]),
            smallest_chart(portrait.course, asked),
        ]
    if len(record.results) > 1:
        seen.append(_each(record))
    sections = [Section("How much is left", seen)]
    if portrait:
        sections.append(Section("Which classes", classes(portrait)))
        if pictures := gallery(portrait):
            sections.append(Section("What it looks like", [pictures]))
    elif record.pictured:
        sections.append(Section("What it looks like", [of_set(record.pictured)]))
    sections.append(Section("Can the number be trusted?", list(_checks(record))))
    return Part(
        name=name,
        kicker=title_of(lowest),
        answer=_answer(record, lowest),
        subject=f"{record.model} on {record.data.path}, {record.data.detail}.",
        trust=_trust(record),
        sections=sections,
    )


def _left(result: AttackResult) -> int:
    if result.adversarial_correct is not None:
        return result.adversarial_correct
    return result.n - (result.changed or 0)


def _is_saved(result: AttackResult) -> bool:
    """Whether the images were made before this run, so that no gradient was taken."""
    return result.gradients is None


def _by(result: AttackResult) -> str:
    attack = result.attack
    if attack is None:
        return "on the saved adversarial set"
    name = attack.row.title if isinstance(attack, Attack) else f"the {attack.title.lower()}"
    made = f"{name} at epsilon {attack.epsilon:.4g}"
    return f"on the saved adversarial set, made by {made}" if _is_saved(result) else f"under {made}"


def _answer(record: Judgement, result: AttackResult) -> str:
    by = _by(result)
    if result.adversarial_correct is None:
        changed = result.changed or 0
        return (
            f"The model changes {percent(rate(changed, result.n))} of its answers "
            f"({interval(changed, result.n)}) {by}."
        )
    several = ", the strongest of those tried" if len(record.results) > 1 else ""
    return (
        f"The model keeps an accuracy of {percent(result.adversarial_accuracy)} "
        f"({interval(result.adversarial_correct, result.n)}) {by}{several}."
    )


def _trust(record: Judgement) -> tuple[Level, str, str]:
    """Whether the number may be believed, as far as this run can tell."""
    doubts = [warning for result in record.results for warning in result.warnings]
    if doubts or any(_misleading(result) for result in record.results):
        return (
            "bad",
            "Do not rely on it",
            f"{len(dict.fromkeys(doubts)) or 'Some'} of the checks below speak against the number.",
        )
    if record.warnings:
        return (
            "care",
            "Read it with care",
            "The attack did what it should, but model or images leave a doubt; see below.",
        )
    if all(map(_is_saved, record.results)):
        return (
            "care",
            "True of these images",
            "Other attacks on this model may leave less.",
        )
    if all(isinstance(one.attack, Attack) and one.attack.steps == 1 for one in record.results):
        return (
            "good",
            "An upper bound, soundly measured",
            "Gradients are sound and the budget was kept. One step is the weakest attack: "
            "fgsm eval --attack pgd may leave less, and fgsm audit looks for masked gradients.",
        )
    return (
        "good",
        "An upper bound, soundly measured",
        "Gradients are sound and the budget was kept. A stronger attack may leave less; "
        "fgsm audit looks for masked gradients.",
    )


def _misleading(result: AttackResult) -> bool:
    health = result.gradients
    return bool(health and (health.zero or health.not_finite))


def _numbers(record: Judgement, result: AttackResult) -> Iterator[Number]:
    n, clean = record.n, record.clean_correct
    if clean is not None:
        yield Number(
            "Clean accuracy",
            percent(rate(clean, n)),
            f"{counts(clean, n)} right; 95 % interval {interval(clean, n)}",
        )
    if result.adversarial_correct is not None:
        yield Number(
            "Adversarial accuracy",
            percent(result.adversarial_accuracy),
            f"{counts(result.adversarial_correct, n)} right; 95 % interval "
            f"{interval(result.adversarial_correct, n)}",
        )
    if result.flipped is not None:
        yield Number(
            "Success rate",
            percent(result.success_rate),
            f"{counts(result.flipped, result.clean_correct or 0)} of the images that were right "
            "are wrong under attack",
        )
    if result.target_hits is not None and result.target_is_label is not None:
        others = n - result.target_is_label
        yield Number(
            "Brought to the target",
            percent(result.target_rate),
            f"{counts(result.target_hits, others)} of the images whose label was another",
        )
    if result.adversarial_correct is None:
        yield Number(
            "Answers changed",
            percent(rate(result.changed, n)),
            f"{counts(result.changed, n)} images",
        )
    if result.error_confidence is not None:
        yield Number(
            "Confidence when wrong",
            percent(result.error_confidence),
            "mean probability of the wrong answers under attack",
        )


def _each(record: Judgement) -> Table:
    """Every attack, a row each."""
    rows = []
    for result in record.results:
        attack, left = result.attack, _left(result)
        rows.append(
            [
                shaded(attack.name if attack else "saved", None),
                shaded(f"{attack.epsilon:.4g}" if attack else "-", None),
                shaded(count(left), None),
                shaded(percent(rate(left, result.n)), rate(left, result.n)),
                shaded(interval(left, result.n), None),
                shaded(percent(result.success_rate), None),
            ]
        )
    labelled = record.clean_correct is not None or record.results[0].adversarial_correct is not None
    return Table(
        "Every attack",
        (
            "attack",
            "epsilon",
            "right" if labelled else "unchanged",
            "accuracy" if labelled else "share",
            "95 % interval",
            "success rate",
        ),
        rows,
    )


def _judged(record: Judgement) -> list[Series]:
    """What was judged beside the course: each attack that has an epsilon, as marks."""
    found: dict[str, list[AttackResult]] = {}
    for result in record.results:
        attack = result.attack
        if attack is not None and not (isinstance(attack, Attack) and attack.is_direct):
            found.setdefault(
                attack.row.title if isinstance(attack, Attack) else "Worst of all", []
            ).append(result)
    series: list[Series] = []
    for name, results in found.items():
        ordered = sorted(results, key=lambda one: one.attack.epsilon if one.attack else 0)
        shares = [(one.attack.epsilon if one.attack else 0, *_ends(one)) for one in ordered]
        xs, ys, low, high = (list(column) for column in zip(*shares, strict=True))
        series.append(Series(name, xs, ys, low, high, look=MARKS + len(series) % 4))
    return series


def _proved(record: Judgement) -> list[Series]:
    """What is proved at each epsilon where that was asked, up to the least that an attack left."""
    least: dict[float, tuple[int, int]] = {}
    for one in record.results:
        if one.attack is not None and one.certified_correct is not None:
            _, before = least.get(one.attack.epsilon, (0, one.n))
            least[one.attack.epsilon] = one.certified_correct, min(before, _left(one))
    if not least:
        return []
    ordered = sorted(least.items())
    proved, upper = ([counts[end] for _, counts in ordered] for end in (0, 1))
    return [proved_up_to([epsilon for epsilon, _ in ordered], proved, upper, record.n)]


def _ends(result: AttackResult) -> tuple[float, float, float]:
    from ...results import wilson_interval

    left = _left(result)
    low, high = wilson_interval(left, result.n) or (0.0, 1.0)
    return left / result.n, low, high


def _checks(record: Judgement) -> Iterator[Block]:
    """Gradient health, the budget, and every warning."""
    yield Table(
        "Gradients and budget, measured by the judge and not by the attack",
        (
            "attack",
            "zero gradient",
            "partly zero",
            "not finite",
            "unchanged",
            "farthest pixel",
            "farthest image",
            "allowed",
        ),
        [[shaded(text, None) for text in _health(result)] for result in record.results],
    )
    if again := record.saved:
        yield Table(
            "The saved 8-bit files, read back",
            ("", "right", "accuracy", "farthest pixel"),
            [
                [
                    shaded(text, None)
                    for text in (
                        "from the files",
                        counts(again.adversarial_correct, again.n),
                        percent(again.adversarial_accuracy),
                        "-" if again.linf_max is None else f"{again.linf_max:.4g}",
                    )
                ]
            ],
        )
    yield Notes(list(_notes(record)))


def _health(result: AttackResult) -> Sequence[str]:
    health, attack = result.gradients, result.attack
    name = f"{attack.name}, epsilon {attack.epsilon:.4g}" if attack else "saved set"
    measured = [
        "-" if number is None else f"{number:.6g}"
        for number in (result.linf_max, result.distance_max)
    ]
    norm = attack.attacks[0].norm if isinstance(attack, Worst) else attack.norm if attack else ""
    found = (
        ("-",) * 4
        if health is None
        else (
            count(health.zero),
            count(health.partly_zero),
            count(health.not_finite),
            count(health.unchanged),
        )
    )
    allowed = f"{attack.epsilon:.6g} in {norm.capitalize()}" if attack else "-"
    return (name, *found, *measured, allowed)


def _notes(record: Judgement) -> Iterator[tuple[Level, str, str]]:
    from ..screen import warnings_of

    warnings = warnings_of(record)
    for warning in warnings:
        yield "bad", "Warning", warning if warning.endswith("?") else f"{warning}."
    healths = [result.gradients for result in record.results if result.gradients]
    if healths and not any(one.zero or one.not_finite for one in healths):
        yield "good", "Pass", "Every image has a finite gradient that is not zero."
    if not any(map(_is_saved, record.results)):
        yield (
            "good",
            "Pass",
            "No image moved farther than epsilon and no pixel left 0..1, measured in float64; a "
            "run that breaks its budget ends in an error and makes no report.",
        )
    if not warnings:
        yield "good", "Pass", "There is no warning."
