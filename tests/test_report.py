"""Reports: every format of a record, narrow screens, and nothing that JSON does not know."""

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console
from scipy.stats import binomtest

from fgsm_cli import attack_named
from fgsm_cli.report import as_csv, as_json, print_table
from fgsm_cli.results import (
    AttackResult,
    Curve,
    Epoch,
    GradientHealth,
    Judgement,
    OverSeeds,
    Source,
    Training,
    Worst,
    wilson_interval,
)

RESULT = AttackResult(
    attack=attack_named(epsilon=0.1),
    n=10_000,
    clean_correct=9_768,
    adversarial_correct=2_407,
    flipped=7_361,
    changed=7_400,
    target_hits=None,
    target_is_label=None,
    gradients=GradientHealth(0, 0, 0, 0),
    linf_max=0.1,
    distance_max=0.1,
)
ATTACK = Judgement(
    command="attack",
    model=Source("a/model.keras", "00ff", "logits"),
    data=Source("mnist", None, "10,000 test images"),
    n=10_000,
    clean_correct=9_768,
    results=(RESULT,),
    warnings=(),
    fail_under=None,
)
EVAL = replace(ATTACK, command="eval", results=(RESULT, replace(RESULT, adversarial_correct=0)))
TRAINING = Training(
    model=ATTACK.model,
    data=ATTACK.data,
    test=ATTACK.data,
    n=10_000,
    clean_correct=9_768,
    epochs=(Epoch(54.0, 500, 540, 55, 60),),
)
UNKNOWN = replace(
    EVAL,
    clean_correct=None,
    results=(replace(RESULT, attack=None, clean_correct=None, flipped=None, linf_max=None),),
)
TARGETED = replace(
    ATTACK,
    results=(replace(RESULT, attack=attack_named(target=3), target_hits=90, target_is_label=1010),),
)
WORST = replace(
    EVAL, results=(replace(RESULT, attack=Worst((attack_named(), attack_named("bim")))),)
)
CURVE = Curve(
    model=ATTACK.model,
    data=ATTACK.data,
    attack=attack_named(epsilon=0.2),
    n=100,
    epsilons=(0.0, 0.1, 0.2),
    correct=(90, 20, 25),
    quantiles=(0.01, 0.02, 0.05, 0.15, None),
    never=3,
    back=7,
    zero_gradients=0,
)
RECORDS = {
    "curve": CURVE,
    "attack": ATTACK,
    "eval": EVAL,
    "train": TRAINING,
    "examples": UNKNOWN,
    "targeted": TARGETED,
    "worst": WORST,
}


def printed(record, width=80, **keywords):
    screen = io.StringIO()
    print_table(
        record, Console(file=screen, width=width, markup=False, highlight=False, **keywords)
    )
    return screen.getvalue()


def test_the_attack_table_says_what_was_counted():
    text = printed(ATTACK)
    for part in (
        "9,768/10,000",
        "97.7 %",
        "2,407/10,000",
        "24.1 %",
        "75.4 %",
        "7,361 of the 9,768",
    ):
        assert part in text


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("width", [20, 40, 200])
def test_nothing_is_cut_off_however_narrow(name, width):
    def words(text):
        return text.split()

    text = printed(RECORDS[name], width)
    assert "…" not in text
    # Below 60 columns the intervals are left out; all that is left stands there whole.
    assert words(text) == words(printed(RECORDS[name], 400 if width >= 60 else 59))


@pytest.mark.parametrize("name", RECORDS)
def test_a_table_fits_forty_columns(name):
    table = printed(RECORDS[name], 40).split("\n\n")[1]
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 40


def test_paths_are_shown_as_they_are():
    odd = replace(ATTACK, model=Source("[red]x[/red] :smile: <b>.keras"), files=("[bold]é.npz",))
    assert "[red]x[/red] :smile: <b>.keras" in printed(odd)
    assert "[bold]é.npz" in printed(odd)


def test_warnings_stand_under_the_table_once():
    warned = replace(
        ATTACK,
        warnings=("3 of 9 are odd",),
        results=(replace(RESULT, warnings=("3 of 9 are odd",)),),
    )
    assert printed(warned).count("Warning: 3 of 9 are odd.") == 1


@pytest.mark.parametrize("name", RECORDS)
def test_json_is_one_document_without_nan(name):
    document = RECORDS[name].as_dict()
    assert json.loads(as_json(document)) == json.loads(json.dumps(document))
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({**document, "x": float("nan")})


def test_rates_are_fractions_and_the_undefined_is_null():
    assert ATTACK.as_dict()["clean_accuracy"] == 0.9768
    assert ATTACK.as_dict()["success_rate"] == 7361 / 9768
    assert UNKNOWN.as_dict()["clean_accuracy"] is None
    assert UNKNOWN.as_dict()["results"][0]["success_rate"] is None
    assert replace(RESULT, clean_correct=0, flipped=0).success_rate is None


CONTRACT = {
    "n", "clean_accuracy", "adversarial_accuracy", "clean_correct", "adversarial_correct",
    "success_rate", "attack", "zero_gradients", "linf_max", "warnings",
}  # fmt: skip


def test_the_documents_keep_the_contract():
    assert ATTACK.as_dict().keys() >= CONTRACT
    assert {"n", "clean_accuracy", "warnings", "results"} <= EVAL.as_dict().keys()
    for result in EVAL.as_dict()["results"]:
        assert result.keys() >= CONTRACT
    assert {"name", "norm", "epsilon", "steps", "step_size"} <= ATTACK.as_dict()["attack"].keys()


def test_csv_has_a_line_a_result_under_one_header():
    rows = list(csv.DictReader(io.StringIO(as_csv([("train", TRAINING), ("eval", EVAL)]))))
    assert [row["command"] for row in rows] == ["train", "eval", "eval"]
    assert [row["adversarial_accuracy"] for row in rows] == ["", "0.2407", "0.0"]
    assert rows[1]["attack"] == "fgsm"


@pytest.mark.parametrize(("threshold", "passed"), [(None, None), (0.2, True), (0.25, False)])
def test_the_gate(threshold, passed):
    assert replace(ATTACK, fail_under=threshold).passed is passed


@pytest.mark.parametrize(("part", "whole"), [(0, 10), (10, 10), (3, 10), (2407, 10_000), (1, 3)])
def test_the_interval_is_wilsons(part, whole):
    expected = binomtest(part, whole).proportion_ci(0.95, method="wilson")
    assert wilson_interval(part, whole) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_interval_where_there_is_no_rate():
    assert wilson_interval(0, 0) is wilson_interval(None, 5) is None


def test_the_target_is_told():
    assert (
        "It brought 90 of the 8,990 images whose label was another to the target: 1.0 %."
        in printed(TARGETED).replace("\n", " ")
    )


def test_a_curve_is_reported_as_measured():
    text = printed(CURVE).replace("\n", " ")
    assert (
        "turned at epsilon 0.05; 3 are not turned up to epsilon 0.2. The accuracy is not monotone; "
        "7 images turn back" in text
    )
    document = CURVE.as_dict()
    assert document["smallest_epsilon"]["quantiles"]["0.95"] is None
    assert document["monotone"] is False
    rows = list(csv.DictReader(io.StringIO(as_csv([("curve", CURVE)]))))
    assert [(row["epsilon"], row["adversarial_correct"]) for row in rows] == [
        ("0.0", "90"),
        ("0.1", "20"),
        ("0.2", "25"),
    ]


def test_several_seeds_give_the_mean_and_its_interval():
    found = OverSeeds((3, 4, 5), (10, 20, 30), 100)
    assert found.mean == pytest.approx(0.2)
    # Student's t with two degrees of freedom: 4.3027 times .1 / sqrt(3), cut at 0.
    assert found.interval == pytest.approx((0.0, 0.2 + 4.30265 * 0.1 / 3**0.5), abs=1e-6)
    document = replace(RESULT, over_seeds=found).as_dict()["over_seeds"]
    assert document["seeds"] == [3, 4, 5]
    assert document["mean_adversarial_accuracy"] == pytest.approx(0.2)
