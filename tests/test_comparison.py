"""Two runs side by side, and one computed anew."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from fgsm_cli import FgsmError
from fgsm_cli.comparison import compare, verify
from fgsm_cli.config import AttackOptions, EvalOptions, TrainOptions
from fgsm_cli.experiment import Watch, attack, evaluate, train


@pytest.fixture
def runs(tmp_path: Path, model_file: Path) -> Path:
    """Two attacks and an evaluation on the same 200 images, and one on fewer."""
    shared = {"model": str(model_file), "limit": 200}
    attack(AttackOptions(**shared, output=str(tmp_path / "fgsm")), Watch())
    attack(AttackOptions(**shared, loss="margin", output=str(tmp_path / "margin")), Watch())
    both = EvalOptions(**shared, attack=("bim", "fgsm"), steps=3, output=str(tmp_path / "eval"))
    evaluate(both, Watch())
    attack(AttackOptions(model=str(model_file), limit=100, output=str(tmp_path / "fewer")), Watch())
    return tmp_path


def answers(folder: Path) -> np.ndarray:
    with np.load(folder / "outcomes.npz", allow_pickle=False) as arrays:
        return arrays["still"]


def test_pairs_are_counted_image_by_image(runs):
    found = compare(str(runs / "fgsm"), str(runs / "margin"))
    clean, attacked = found.pairs
    assert (clean.only_a, clean.only_b, clean.p_value) == (0, 0, 1)
    [a], [b] = answers(runs / "fgsm"), answers(runs / "margin")
    assert (attacked.only_a, attacked.only_b) == (np.sum(a & ~b), np.sum(b & ~a))
    assert attacked.both == np.sum(a & b)
    assert attacked.n == 200
    assert found.warnings == ()


def test_the_p_value_is_the_exact_binomial_one(runs):
    [a], [b] = answers(runs / "fgsm"), answers(runs / "margin").copy()
    b[:20] = ~a[:20]
    with np.load(runs / "margin" / "outcomes.npz") as arrays:
        right = arrays["right"]
    np.savez(runs / "margin" / "outcomes.npz", right=right, still=b[np.newaxis])
    pair = compare(str(runs / "fgsm"), str(runs / "margin")).pairs[1]
    expected = binomtest(pair.only_a, pair.only_a + pair.only_b).pvalue
    assert pair.p_value == pytest.approx(expected)
    assert pair.only_a + pair.only_b >= 20


def test_results_are_paired_by_attack_whatever_their_order(runs):
    found = compare(str(runs / "fgsm"), str(runs / "eval"))
    assert [pair.what for pair in found.pairs] == ["clean", "fgsm linf 0.1"]
    assert (found.pairs[1].only_a, found.pairs[1].only_b) == (0, 0)
    assert found.warnings == ("bim linf 0.1 is in one of the folders only",)


def test_other_images_are_refused(runs):
    with pytest.raises(FgsmError, match="must be of the same images. Received: mnist .200 test"):
        compare(str(runs / "fgsm"), str(runs / "fewer"))


@pytest.mark.parametrize("other", [{"offset": 7}, {"only": (0, 1)}, {"split": "train"}], ids=str)
def test_images_chosen_otherwise_are_other_images(other, runs, model_file):
    attack(
        AttackOptions(model=str(model_file), limit=200, output=str(runs / "other"), **other),
        Watch(),
    )
    with pytest.raises(FgsmError, match="must be of the same images"):
        compare(str(runs / "fgsm"), str(runs / "other"))


def test_models_of_other_ranges_are_compared_on_the_same_images(runs, model_file):
    other = {"model": str(model_file), "limit": 200, "input_range": (0.0, 0.5)}
    attack(AttackOptions(**other, output=str(runs / "other")), Watch())
    assert compare(str(runs / "fgsm"), str(runs / "other")).pairs[0].n == 200


def test_a_targeted_attack_is_no_pair_of_an_untargeted_one(runs, model_file):
    attack(
        AttackOptions(model=str(model_file), limit=200, target=1, output=str(runs / "aimed")),
        Watch(),
    )
    found = compare(str(runs / "fgsm"), str(runs / "aimed"))
    assert [pair.what for pair in found.pairs] == ["clean"]
    assert len(found.warnings) == 2


def test_without_labels_there_is_nothing_to_compare(runs, model_file):
    np.savez(runs / "few.npz", x=np.zeros((5, 28, 28), np.uint8))
    for name in ("a", "b"):
        attack(
            AttackOptions(
                model=str(model_file), data=str(runs / "few.npz"), output=str(runs / name)
            ),
            Watch(),
        )
    with pytest.raises(FgsmError, match="without labels"):
        compare(str(runs / "a"), str(runs / "b"))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "outcomes.npz").write_text("x"),
        lambda folder: np.savez(folder / "outcomes.npz", right=np.ones(3), still=np.ones((1, 3))),
        lambda folder: (folder / "results.json").write_text('{"command": "attack"}'),
        lambda folder: (folder / "config.yaml").unlink(),
    ],
)
def test_a_damaged_run_is_told_in_one_sentence(spoil, runs):
    spoil(runs / "margin")
    with pytest.raises(FgsmError) as caught:
        compare(str(runs / "fgsm"), str(runs / "margin"))
    assert str(runs / "margin") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_difference_is_told_by_its_place_inside(runs):
    path = runs / "eval" / "results.json"
    document = json.loads(path.read_text())
    document["results"][1]["adversarial_correct"] += 1
    path.write_text(json.dumps(document))
    found = verify(str(runs / "eval"), Watch())
    [differing] = [check for check in found.checks if not check.agrees]
    assert differing.what == "eval: results[1].adversarial_correct"
    assert differing.recorded == differing.found + 1


def test_what_is_no_run_is_refused(runs, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FgsmError, match="is no finished run"):
        compare(str(runs / "fgsm"), str(tmp_path / "empty"))
    with pytest.raises(FgsmError, match="is no finished run"):
        verify(str(tmp_path / "empty"), Watch())
    (tmp_path / "empty" / "results.json").write_text("{")
    with pytest.raises(FgsmError, match="is damaged: not a JSON document"):
        verify(str(tmp_path / "empty"), Watch())


@pytest.mark.parametrize("name", ["fgsm", "eval"])
def test_a_run_agrees_with_itself_and_nothing_is_written(name, runs):
    before = {path: path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    found = verify(str(runs / name), Watch())
    assert found.agrees, [check for check in found.checks if not check.agrees]
    assert len(found.checks) >= 8
    assert {path: path.read_bytes() for path in runs.rglob("*") if path.is_file()} == before


def test_a_number_that_was_changed_is_found(runs):
    path = runs / "fgsm" / "results.json"
    document = json.loads(path.read_text())
    document["adversarial_correct"] += 1
    path.write_text(json.dumps(document))
    found = verify(str(runs / "fgsm"), Watch())
    assert [check.what for check in found.checks if not check.agrees] == [
        "attack: adversarial_correct"
    ]


def test_a_model_that_was_changed_is_found(runs, tmp_path, model_file):
    copy = tmp_path / "copy.keras"
    copy.write_bytes(model_file.read_bytes())
    attack(AttackOptions(model=str(copy), limit=50, output=str(tmp_path / "copied")), Watch())
    train(TrainOptions(output=str(tmp_path / "other"), hidden=(8,), epochs=1, limit=500), Watch())
    copy.write_bytes((tmp_path / "other" / "model.keras").read_bytes())
    found = verify(str(tmp_path / "copied"), Watch())
    denied = [check.what for check in found.checks if not check.agrees]
    assert any("attack: sha256 of" in what for what in denied)
    assert "attack: arrays of adversarial.npz" in denied


def test_a_training_is_repeated_to_the_digit(tmp_path):
    options = TrainOptions(output=str(tmp_path / "t"), hidden=(8,), epochs=1, limit=1000)
    train(options, Watch())
    assert verify(str(tmp_path / "t"), Watch()).agrees


def test_other_versions_are_told(runs):
    path = runs / "fgsm" / "results.json"
    document = json.loads(path.read_text())
    document["versions"]["keras"] = "1.0"
    path.write_text(json.dumps(document))
    [warning] = verify(str(runs / "fgsm"), Watch()).warnings
    assert warning.startswith("keras was 1.0 then and is ")
