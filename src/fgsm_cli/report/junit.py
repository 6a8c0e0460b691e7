"""A record for CI servers: JUnit's XML, a test case for each number that may be too low.

    write(as_junit([("eval", record)]))

A case fails where ``--fail-under``, a check or an expected range says so; warnings are its output.
There is no standard; these are the elements and attributes that every reader knows.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from ..results import (
    AttackResult,
    Audit,
    Bracket,
    Certification,
    Comparison,
    Curve,
    Judgement,
    Reproduction,
    Transfer,
    Verification,
    rate,
)
from .text import counts, percent, short
from .views import VIEWS, Shown

# What XML 1.0 has no place for, even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """What was asked, what was found, and why that is a failure, if it is one."""

    name: str
    found: str
    failure: str | None = None
    warnings: Sequence[str] = ()


def as_junit(records: Sequence[tuple[str, Shown]]) -> str:
    """A document of one suite a record. Its cases are what the record lists."""
    root = ElementTree.Element("testsuites", name="fgsm")
    for name, record in records:
        cases = list(_cases(record))
        failures = str(sum(case.failure is not None for case in cases))
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_clean(name),
            tests=str(len(cases)),
            failures=failures,
            errors="0",
            skipped="0",
        )
        for case in cases:
            element = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"fgsm.{_clean(name)}",
                name=_clean(case.name),
                time="0",
            )
            if case.failure is not None:
                failure = ElementTree.SubElement(element, "failure", message=_clean(case.failure))
                failure.text = _clean(case.found)
            output = ElementTree.SubElement(element, "system-out")
            output.text = _clean("\n".join([case.found, *(f"Warning: {w}" for w in case.warnings)]))
        if record.warnings:
            output = ElementTree.SubElement(suite, "system-out")
            output.text = _clean("\n".join(f"Warning: {warning}" for warning in record.warnings))
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _cases(record: Shown) -> Iterator[Case]:
    match record:
        case Judgement():
            for result in record.results:
                yield _judged(record, result)
        case Curve():
            proved = dict(zip(record.epsilons, record.certified or (), strict=False))
            for epsilon, part in zip(record.epsilons, record.correct, strict=True):
                name = f"{record.attack.name} {record.attack.norm} epsilon {epsilon:.4g}"
                yield Case(name, _share(part, record.n) + _proof(proved.get(epsilon), record.n))
        case Certification():
            for bracket in record.brackets:
                yield _proved(record, bracket)
        case Transfer():
            for one in record.crossings:
                name = f"crafted on {one.source}, judged on {one.target}"
                yield Case(name, _share(one.adversarial_correct, one.n))
        case Audit():
            for finding in record.findings:
                failure = finding.meaning if finding.verdict == "fail" else None
                suspicion = [finding.meaning] if finding.verdict == "suspicious" else []
                yield Case(finding.name, finding.measured, failure, suspicion)
        case Comparison():
            for pair in record.pairs:
                told = (
                    f"only a is right: {pair.only_a}, only b: {pair.only_b}, p {pair.p_value:.3g}"
                )
                yield Case(pair.what, told)
        case Verification():
            for check in record.checks:
                told = f"recorded {short(check.recorded)}, found {short(check.found)}"
                yield Case(check.what, told, None if check.agrees else "not confirmed")
        case Reproduction():
            for figure in record.figures:
                outside = f"outside {100 * figure.low:.0f} to {100 * figure.high:.0f} %"
                yield Case(
                    f"{figure.experiment}: {figure.what}",
                    f"measured {percent(figure.measured)}, published {percent(figure.published)}",
                    None if figure.agrees else outside,
                )
        case _:
            view = VIEWS[type(record)](record)
            yield Case(view.title, "\n".join("  ".join(row) for row in view.rows))


def _judged(record: Judgement, result: AttackResult) -> Case:
    attack, reached, bar = result.attack, result.adversarial_accuracy, record.fail_under
    under = bar is not None and (reached is None or reached < bar)
    return Case(
        f"{attack.name} epsilon {attack.epsilon:.4g}" if attack else "saved adversarial set",
        f"{_share(result.adversarial_correct, result.n)}; clean: "
        f"{_share(result.clean_correct, result.n)}"
        f"{_proof(result.certified_correct, result.n)}",
        f"adversarial accuracy {reached or 0:.6g} is under {bar:.9g}" if under else None,
        result.warnings,
    )


def _proved(record: Certification, bracket: Bracket) -> Case:
    share, bar = rate(bracket.proved, bracket.n) or 0, record.fail_under
    return Case(
        f"proved {record.norm} epsilon {bracket.epsilon:.4g}",
        f"{counts(bracket.proved, bracket.n)} proved, {bracket.broken:,} broken, "
        f"{bracket.undecided:,} undecided",
        f"proved accuracy {share:.6g} is under {bar:.9g}"
        if bar is not None and share < bar
        else None,
    )


def _proof(proved: int | None, n: int) -> str:
    return "" if proved is None else f"; proved: {counts(proved, n)}"


def _share(part: int | None, whole: int) -> str:
    return f"{counts(part, whole)} right, {percent(rate(part, whole))}"
