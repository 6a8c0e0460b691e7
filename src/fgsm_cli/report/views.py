"""The table of views: for each kind of record, how it is told to people."""

from collections.abc import Callable, Mapping
from typing import Any

from ..experiment import Record
from ..results import (
    QUANTILES,
    Audit,
    Certification,
    Comparison,
    Curve,
    Gallery,
    Judgement,
    Plot,
    Reproduction,
    Training,
    Transfer,
    Verification,
    rate,
)
from .gallery import gallery_view
from .judgement import PROVED, judgement_view
from .text import count, counts, interval, percent, short
from .view import View

Shown = Record | Comparison | Verification | Reproduction | Gallery | Plot


def training_view(record: Training) -> View:
    """A trained model and its accuracies."""
    last = record.epochs[-1]
    against = record.defence
    learned = "training, adversarial" if against else "training"
    sentences = ["Training accuracy is that of the last epoch, taken while learning."]
    if against:
        sentences = [
            f"Trained against {against.row.title}, {against.norm.capitalize()}, epsilon "
            f"{against.epsilon:.4g}; training accuracy is that on its images, in the last epoch.",
        ]
    if record.certified:
        bounds, epsilon = record.certified
        learned = "training, certified"
        sentences = [
            f"Trained on {bounds.upper()} bounds, Linf, epsilon {epsilon:.4g}; training accuracy "
            "is what these prove, in the last epoch.",
        ]
    parts = [(learned, last.correct, last.n), ("test", record.clean_correct, record.n)]
    if last.validation_n:
        parts.insert(1, ("validation", last.validation_correct, last.validation_n))
        sentences.append(
            "Validation images were held out of the training images; test images decide nothing."
        )
    if last.probe:
        parts += [
            ("held out, FGSM", last.probe.fgsm_correct, last.probe.n),
            ("held out, PGD-20", last.probe.pgd_correct, last.probe.n),
        ]
    return View(
        "Training",
        _subject(record),
        [
            ("images", "correct", "accuracy"),
            *(
                (name, counts(part, whole), percent(rate(part, whole)))
                for name, part, whole in parts
            ),
        ],
        tuple(sentences),
        bars=[(part, whole) for _, part, whole in parts],
    )


def curve_view(record: Curve) -> View:
    """Accuracy at every epsilon."""
    kept = ("correct", "accuracy") if record.labelled else ("unchanged", "share")
    whose = "images classified right" if record.labelled else "images"
    middle = record.quantiles[QUANTILES.index(0.5)]
    half = (
        f"Half of the {whose} are turned at epsilon {middle:.4g}"
        if middle is not None
        else f"Fewer than half of the {whose} are turned"
    )
    course = "never rises" if record.is_monotone else "is not monotone"
    return View(
        f"{record.attack.row.title} curve, {record.attack.norm.capitalize()}",
        _subject(record),
        [
            ("epsilon", *kept, "95 % interval", *(("proved",) if record.certified else ())),
            *(
                (
                    f"{epsilon:.4g}",
                    count(part),
                    percent(rate(part, record.n)),
                    interval(part, record.n),
                    *((percent(rate(record.certified[k], record.n)),) if record.certified else ()),
                )
                for k, (epsilon, part) in enumerate(
                    zip(record.epsilons, record.correct, strict=True)
                )
            ),
        ],
        (
            f"{half}; {record.never:,} are not turned up to epsilon {record.epsilons[-1]:.4g}. "
            f"The {kept[1]} {course}; {record.back:,} images turn back at a larger epsilon.",
            *((PROVED,) if record.certified else ()),
        ),
        spare=3,
        bars=[(part, record.n) for part in record.correct],
        curve=(
            [part / record.n for part in record.correct],
            ("0", f"epsilon {record.epsilons[-1]:.4g}"),
        ),
    )


def audit_view(record: Audit) -> View:
    """The checks and their verdicts."""
    doubts = [one for one in record.findings if one.verdict != "pass"]
    verdict = (
        f"{len(doubts)} of {len(record.findings)} checks speak against the numbers."
        if doubts
        else "Every check passes: nothing here speaks against the numbers."
    )
    return View(
        f"Audit at epsilon {record.epsilon:.4g}",
        _subject(record),
        [
            ("check", "verdict", "measured"),
            *((one.name, one.verdict, one.measured) for one in record.findings),
        ],
        (
            *(f"{one.verdict.capitalize()}: {one.name}: {one.meaning}." for one in doubts),
            verdict,
        ),
        words=True,
    )


def comparison_view(record: Comparison) -> View:
    """Two runs side by side."""
    return View(
        "Comparison",
        f"a: {record.a}, b: {record.b}",
        [
            ("right after", "a", "b", "only a", "only b", "p"),
            *(
                (
                    pair.what,
                    percent(rate(pair.both + pair.only_a, pair.n)),
                    percent(rate(pair.both + pair.only_b, pair.n)),
                    count(pair.only_a),
                    count(pair.only_b),
                    f"{pair.p_value:.3g}",
                )
                for pair in record.pairs
            ),
        ],
        (
            "p: how often chance alone would split the images on which the two differ at least so "
            "unevenly (exact McNemar test, two-sided).",
        ),
    )


def verification_view(record: Verification) -> View:
    """What of a run does not agree, and how much does."""
    agreeing = sum(check.agrees for check in record.checks)
    verdict = "The run is confirmed" if record.agrees else "The run is NOT confirmed"
    return View(
        "Verification",
        record.folder,
        [
            ("check", "recorded", "found"),
            *(
                (check.what, short(check.recorded), short(check.found))
                for check in record.checks
                if not check.agrees
            ),
        ],
        (f"{verdict}: {agreeing} of {len(record.checks)} checks agree to the digit.",),
        words=True,
    )


def transfer_view(record: Transfer) -> View:
    """The matrix of accuracies, a row a source."""
    clean = {one.target: one.clean_correct for one in record.crossings}
    return View(
        f"Transfer of {record.attack.row.title}, {record.attack.norm.capitalize()}, "
        f"epsilon {record.attack.epsilon:.4g}",
        f"{record.n:,} images: {record.data.path}, {record.data.detail}",
        [
            ("crafted on", *record.targets),
            ("none (clean)", *(percent(rate(clean[one], record.n)) for one in record.targets)),
            *(
                (
                    source,
                    *(
                        percent(rate(record.between(source, one).adversarial_correct, record.n))
                        for one in record.targets
                    ),
                )
                for source in record.sources
            ),
        ],
        (
            "A column is the accuracy that a model keeps on examples crafted on the row; on the "
            "diagonal they were made on itself.",
        ),
    )


def certification_view(record: Certification) -> View:
    """The bracket at every epsilon: proved, broken, undecided."""
    proofs = "proved by " + {"ibp": "intervals"}.get(record.bounds, record.bounds.upper())
    if record.seconds is not None:
        proofs += f", then by a search of at most {record.seconds:g} s an image"
    title = f"Robust accuracy from both sides, {record.norm.capitalize()}"
    attack = record.brackets[0].attack.title.lower()
    undecided = [one for one in record.brackets if one.undecided]
    return View(
        title,
        _subject(record),
        [
            ("epsilon", "at least", "at most", "proved", "broken", "undecided", "95 % interval"),
            *(
                (
                    f"{one.epsilon:.4g}",
                    percent(rate(one.proved, one.n)),
                    percent(rate(one.upper, one.n)),
                    count(one.proved),
                    count(one.broken),
                    count(one.undecided),
                    "{:.1f} to {:.1f} %".format(*(100 * end for end in one.interval or (0, 1))),
                )
                for one in record.brackets
            ),
        ],
        (
            f"Whatever the attacker does: {proofs}; broken by the {attack}. "
            f"{record.n - record.clean_correct:,} of the {record.n:,} images are wrong to begin "
            "with.",
            *(
                f"At epsilon {one.epsilon:.4g} a proof lacks at most {one.gap or 0:.3g} in the "
                "margin between logits."
                for one in undecided
            ),
        ),
        spare=6,
    )


def reproduction_view(record: Reproduction) -> View:
    """Published and measured figures side by side."""
    outside = [one for one in record.figures if not one.agrees]
    took = ", ".join(f"{name} {seconds:,.0f} s" for name, seconds in record.seconds.items())
    verdict = (
        f"{len(outside)} of {len(record.figures)} figures lie outside their range."
        if outside
        else f"All {len(record.figures)} figures lie in their range."
    )
    return View(
        "The literature, run again",
        took,
        [
            ("figure", "published", "measured", "expected", ""),
            *(
                (
                    f"{one.experiment}: {one.what}",
                    percent(one.published),
                    percent(one.measured),
                    f"{100 * one.low:.0f} to {100 * one.high:.0f} %",
                    "ok" if one.agrees else "NO",
                )
                for one in record.figures
            ),
        ],
        (
            *dict.fromkeys(f"{one.experiment}: {one.note}." for one in record.figures if one.note),
            verdict,
        ),
    )


def plot_view(record: Plot) -> View:
    """The lines that were drawn, a row each."""
    return View(
        "Plot",
        f"{len(record.lines)} line{'s' * (len(record.lines) != 1)}",
        [
            ("line", "norm", "points", "clean", "last epsilon", "accuracy"),
            *(
                (
                    line.label,
                    line.norm,
                    count(len(line.points)),
                    percent(line.points[0].accuracy),
                    f"{line.points[-1].epsilon:.4g}",
                    percent(line.points[-1].accuracy),
                )
                for line in record.lines
            ),
        ],
    )


VIEWS: Mapping[type[Any], Callable[[Any], View]] = {
    Training: training_view,
    Judgement: judgement_view,
    Curve: curve_view,
    Audit: audit_view,
    Certification: certification_view,
    Comparison: comparison_view,
    Verification: verification_view,
    Transfer: transfer_view,
    Reproduction: reproduction_view,
    Gallery: gallery_view,
    Plot: plot_view,
}


def _subject(record: Training | Curve | Audit | Certification) -> str:
    return f"{record.model} on {record.data.path}, {record.data.detail}"
