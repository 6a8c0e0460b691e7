"""How ``fgsm attack`` and ``fgsm eval`` are told."""

from ..family import Attack
from ..results import AttackResult, Judgement, Worst, rate
from .text import count, counts, interval, percent
from .view import View

PROVED = (
    "Proved: of these images no point of the ball turns the answer, whatever the attacker does."
)


def judgement_view(record: Judgement) -> View:
    """A model under one attack, or under several."""
    subject = f"{record.model} on {record.data.path}, {record.data.detail}"
    if record.command == "attack":
        [result] = record.results
        counted = (record.clean_correct, result.adversarial_correct)
        return View(
            title_of(result),
            subject,
            _two_rows(record, result),
            _of_one(record),
            spare=3,
            bars=[(part, record.n) for part in counted],
        )
    if all(result.adversarial_correct is None for result in record.results):
        told = "Changed: images that the model gives another class than before."
        return View("Answers under attack", subject, _a_row_each(record), (told,))
    sentences = (
        "Success: images classified right before the attack and wrong after it. The interval is "
        "of the accuracy.",
        *dict.fromkeys(
            f"{result.attack.title}: right is only what is right after each of them."
            for result in record.results
            if isinstance(result.attack, Worst)
        ),
        *((PROVED,) if any(one.certified_correct is not None for one in record.results) else ()),
        *(sentence for result in record.results for sentence in _over_seeds(result)),
    )
    right = [record.clean_correct, *(result.adversarial_correct for result in record.results)]
    return View(
        "Accuracy under attack",
        subject,
        _a_row_each(record),
        sentences,
        spare=5,
        bars=[(part, record.n) for part in right],
    )


def title_of(result: AttackResult) -> str:
    """The attack of a result, with every number that is not its own."""
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


def _two_rows(record: Judgement, result: AttackResult) -> list[tuple[str, ...]]:
    counted = [("clean", record.clean_correct), ("adversarial", result.adversarial_correct)]
    return [
        ("images", "correct", "accuracy", "95 % interval"),
        *(
            (
                name,
                counts(part, record.n),
                percent(rate(part, record.n)),
                interval(part, record.n),
            )
            for name, part in counted
        ),
    ]


def _a_row_each(record: Judgement) -> list[tuple[str, ...]]:
    clean = record.clean_correct
    if all(result.adversarial_correct is None for result in record.results):
        return [
            ("attack", "epsilon", "changed", "share"),
            *(
                (
                    result.attack.name if result.attack else "saved",
                    f"{result.attack.epsilon:.4g}" if result.attack else "",
                    count(result.changed),
                    percent(rate(result.changed, result.n)),
                )
                for result in record.results
            ),
        ]
    is_proved = any(result.certified_correct is not None for result in record.results)
    return [
        (
            *("attack", "epsilon", "correct", "accuracy", "success", "95 % interval"),
            *(("proved",) if is_proved else ()),
        ),
        (
            *("none", "", count(clean), percent(rate(clean, record.n)), ""),
            interval(clean, record.n),
            *(("",) if is_proved else ()),
        ),
        *(
            (
                result.attack.name if result.attack else "saved",
                f"{result.attack.epsilon:.4g}" if result.attack else "",
                count(result.adversarial_correct),
                percent(result.adversarial_accuracy),
                percent(result.success_rate),
                interval(result.adversarial_correct, result.n),
                *((percent(rate(result.certified_correct, result.n)),) if is_proved else ()),
            )
            for result in record.results
        ),
    ]


def _of_one(record: Judgement) -> tuple[str, ...]:
    [result] = record.results
    sentences = [
        f"The attack changed the prediction of {counts(result.changed, result.n)} images."
        if result.flipped is None
        else f"The attack flipped {result.flipped:,} of the {count(result.clean_correct)} images "
        f"that were classified right: success rate {percent(result.success_rate)}."
    ]
    if result.target_hits is not None and result.target_is_label is not None:
        others = result.n - result.target_is_label
        sentences.append(
            f"It brought {result.target_hits:,} of the {others:,} images whose label was another "
            f"to the target: {percent(result.target_rate)}."
        )
    sentences += _over_seeds(result)
    if record.saved:
        again = record.saved
        sentences.append(
            f"Read back from the 8-bit files, it leaves an accuracy of "
            f"{percent(again.adversarial_accuracy)} "
            f"({counts(again.adversarial_correct, again.n)}), and the farthest pixel lies "
            f"{again.linf_max:.4g} away."
        )
    health = result.gradients
    zero = "No gradient was zero" if not (health and health.zero) else "Some gradients were zero"
    moved = f"the farthest pixel moved by {result.linf_max:.4g}"
    if isinstance(result.attack, Attack) and result.attack.norm != "linf":
        norm = result.attack.norm.capitalize()
        moved = f"the farthest image moved by {result.distance_max:.4g} in {norm}"
    return (*sentences, f"{zero}; {moved}.")


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
