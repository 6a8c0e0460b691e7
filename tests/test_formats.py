"""Results for spreadsheets, issues and CI servers, read back by what reads them there."""

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import junitparser
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fgsm_cli import attack_named
from fgsm_cli.report import as_csv, as_junit, as_markdown
from fgsm_cli.report.views import VIEWS
from fgsm_cli.results import (
    Audit,
    Bracket,
    Certification,
    Check,
    Comparison,
    Finding,
    Pair,
    Source,
    Verification,
    Worst,
    percent,
)
from test_docs import blocks
from test_report import ATTACK, EVAL, RECORDS, RESULT

ROOT = Path(__file__).parent.parent
SOURCE = Source("a", "00", "b")
ALL = {
    **RECORDS,
    "audit": Audit(
        ATTACK.model, SOURCE, 0.1,
        (Finding("a", "1", "bad", "fail"), Finding("b", "2", "odd", "suspicious"), Finding("c", "3", "", "pass")),
    ),
    "certify": Certification(
        ATTACK.model, SOURCE, 100, 90, "linf", "crown", None,
        tuple(
            Bracket(epsilon, 100, 90, proved, 5, 85 - proved, 0.1, 0, 0, Worst((attack_named(),)))
            for epsilon, proved in ((0.01, 80), (0.02, 40))
        ),
        fail_under=0.5,
    ),
    "compare": Comparison("a", "b", (Pair("clean", 1, 2, 3, 4, 0.5),)),
    "verify": Verification("runs/a", (Check("n", 1, 1), Check("m", 1, 2))),
}  # fmt: skip
ODD = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def suites(text):
    return list(junitparser.JUnitXml.fromstring(text.encode()))


@pytest.mark.parametrize("name", ALL)
def test_junit_has_a_case_for_each_number(name):
    record = ALL[name]
    [suite] = suites(as_junit([(name, record)]))
    cases = list(suite)
    assert suite.name == name
    assert suite.tests == len(cases) >= 1
    listed = {"eval": 2, "curve": 3, "audit": 3, "verify": 2, "certify": 2}
    assert len(cases) == listed.get(name, 1)
    assert suite.failures == sum(bool(case.result) for case in cases)


@pytest.mark.parametrize(("threshold", "failing"), [(None, 0), (0.0, 0), (0.2407, 1), (0.25, 2)])
def test_the_gate_is_the_assertion(threshold, failing):
    [suite] = suites(as_junit([("eval", replace(EVAL, fail_under=threshold))]))
    assert suite.failures == failing
    told = [case.result[0].message for case in suite if case.result]
    assert all(f"is under {threshold:g}" in one for one in told)


def test_what_an_audit_finds_is_a_failure_or_a_remark():
    [suite] = suites(as_junit([("audit", ALL["audit"])]))
    fails, odd, passes = suite
    assert fails.result[0].message == "bad"
    assert not odd.result
    assert "Warning: odd" in odd.system_out
    assert "Warning" not in passes.system_out


def test_the_gate_of_a_certificate_is_on_what_is_proved():
    [suite] = suites(as_junit([("certify", ALL["certify"])]))
    assert [bool(case.result) for case in suite] == [False, True]


@given(ODD)
def test_any_warning_is_xml_that_can_be_read(text):
    warned = replace(ATTACK, results=(replace(RESULT, warnings=(text,)),), warnings=(text,))
    [suite] = suites(as_junit([(text, warned)]))
    assert "Warning: " in next(iter(suite)).system_out


def cells(text):
    """The tables that a Markdown reader finds, as rows of plain text."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    tables, row = [], []
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            tables.append([])
        elif token.type in ("th_open", "td_open"):
            assert all(one.type == "text" for one in tokens[place + 1].children), token.content
            row.append("".join(one.content for one in tokens[place + 1].children))
        elif token.type == "tr_close":
            tables[-1].append(tuple(row))
            row = []
    return tables


@pytest.mark.parametrize("name", ALL)
def test_markdown_holds_the_table_as_it_is(name):
    view = VIEWS[type(ALL[name])](ALL[name])
    [table] = cells(as_markdown([(name, ALL[name])]))
    assert table == [tuple(row) for row in view.rows]


@pytest.mark.parametrize(
    "odd", ["a|b", "*x*", "<b>", "[a](b)", "`x`", "\\|", "a_b_c", "&lt;", "$x$"]
)
def test_nothing_in_a_name_is_markup(odd):
    record = Verification("runs/a", (Check(odd, 1, 2),))
    [table] = cells(as_markdown([("verify", record)]))
    assert table[1][0] == odd


def test_several_records_are_several_tables():
    assert len(cells(as_markdown([("attack", ATTACK), ("eval", EVAL)]))) == 2


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_spreadsheet_takes_no_name_for_a_formula(start):
    name = f'{start}HYPERLINK("x"),\n;'
    text = as_csv([("attack", replace(ATTACK, model=replace(ATTACK.model, path=name)))])
    [row] = csv.DictReader(io.StringIO(text, newline=""))
    assert row["model"] == f"'{name}"
    assert row["adversarial_accuracy"] == "0.2407"
    listed = as_csv([("verify", Verification("a", (Check(name, -1, 2),)))])
    [row] = csv.DictReader(io.StringIO(listed, newline=""))
    assert (row["what"], row["recorded"]) == (f"'{name}", "-1")


def shell_lines():
    """What the examples of docs/ci.md run: the workflow's steps and the hook with its file."""
    workflow, hook = (yaml.safe_load(block) for block in blocks(ROOT / "docs" / "ci.md", "yaml"))
    steps = [step["run"] for step in workflow["jobs"]["robustness"]["steps"] if "run" in step]
    [only] = hook["repos"][0]["hooks"]
    return [
        *(step for step in steps if not step.startswith("pip ")),
        f"{only['entry']} model.keras",
    ]


def test_the_examples_for_ci_run(tmp_path, model_file):
    (tmp_path / "model.keras").write_bytes(model_file.read_bytes())
    lines = [line.replace("--limit 500", "--limit 100") for line in shell_lines()]
    assert len(lines) == 4
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    for line in lines:
        result = subprocess.run(
            ["bash", "-ec", line], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
    [suite] = suites((tmp_path / "robustness.xml").read_text())
    assert (suite.tests, suite.failures) == (2, 0)
    assert "| fgsm | 0.05 |" in (tmp_path / "summary.md").read_text()


def test_a_half_is_rounded_up_as_by_hand():
    for n in (40, 2000, 10_000):
        for part in range(n + 1):
            exact = Decimal(100 * part) / n
            rounded = exact.quantize(Decimal("0.1"), ROUND_HALF_UP)
            assert percent(part / n) == f"{rounded} %"


def test_what_is_proved_is_told_in_every_format(fgsm, model_file):
    flags = (model_file, "--limit", "40", "--certify")
    document = json.loads(fgsm("eval", *flags, "-e", "0.01", "-f", "json").stdout)
    proved = document["results"][0]["certified_correct"]
    [row] = csv.DictReader(io.StringIO(fgsm("eval", *flags, "-e", "0.01", "-f", "csv").stdout))
    assert int(row["certified_correct"]) == proved
    assert float(row["adversarial_low"]) <= float(row["adversarial_accuracy"])
    assert f"proved: {proved}/40" in fgsm("eval", *flags, "-e", "0.01", "-f", "junit").stdout
    certified = fgsm("certify", model_file, "--limit", "40", "-e", "0.01", "-f", "csv").stdout
    [row] = csv.DictReader(io.StringIO(certified))
    assert row["attack"] == "Worst of pgd, apgd, pgd (margin)"
