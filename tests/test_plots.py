"""Figures of finished runs: what is drawn is what was counted."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fgsm_cli.cli import main
from fgsm_cli.errors import FgsmError
from fgsm_cli.finished import plot
from fgsm_cli.plots import MARKERS, STYLES, curves
from fgsm_cli.results import Line, Point, lines_of, wilson_interval
from test_report import ATTACK, CURVE, EVAL, RESULT, TRAINING, UNKNOWN


def run(folder, record):
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(record.as_dict()))
    return str(folder)


def line(name, shares=(0.97, 0.5, 0.1)):
    points = tuple(Point.of(0.1 * place, int(1000 * one), 1000) for place, one in enumerate(shares))
    return Line(name, "linf", points)


def test_a_curve_is_one_line_of_its_points():
    [found] = lines_of(CURVE.as_dict(), "a")
    assert [point.epsilon for point in found.points] == list(CURVE.epsilons)
    assert [point.accuracy for point in found.points] == [0.9, 0.2, 0.25]
    assert (found.points[1].low, found.points[1].high) == wilson_interval(20, 100)


def test_an_eval_is_a_line_an_attack_from_the_clean_accuracy_on():
    small = replace(RESULT, attack=replace(RESULT.attack, epsilon=0.05), adversarial_correct=7_000)
    [found] = lines_of(replace(EVAL, results=(RESULT, small)).as_dict(), "a")
    assert found.label == "a, fgsm"
    assert [(one.epsilon, one.accuracy) for one in found.points] == [
        (0.0, 0.9768), (0.05, 0.7), (0.1, 0.2407),
    ]  # fmt: skip


def test_a_whole_run_has_the_lines_of_its_sections():
    document = {"train": TRAINING.as_dict(), "curve": CURVE.as_dict(), "attack": ATTACK.as_dict()}
    assert [one.label for one in lines_of(document, "a")] == ["a, curve", "a, attack, fgsm"]


def test_where_no_accuracy_is_known_there_is_no_line():
    unlabelled = replace(CURVE, labelled=False)
    assert lines_of(unlabelled.as_dict(), "a") == lines_of(UNKNOWN.as_dict(), "a") == []


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_a_figure_is_as_wide_as_a_column_and_the_same_every_time(suffix, tmp_path):
    paths = [str(tmp_path / f"{name}.{suffix}") for name in "ab"]
    for path in paths:
        curves([line("a"), line("$x_1$ <b>")], path)
    first, second = (Path(path).read_bytes() for path in paths)
    assert first == second
    if suffix == "png":
        with Image.open(paths[0]) as image:
            assert image.width == 3.4 * 300
    elif suffix == "svg":
        assert b"$x_1$ &lt;b&gt;" in first


def test_lines_can_be_told_apart_without_colour(tmp_path):
    """No two of them share both dash pattern and marker, up to more than fit a figure."""
    looks = {(STYLES[n % len(STYLES)], MARKERS[n % len(MARKERS)]) for n in range(36)}
    assert len(looks) == 36
    path = tmp_path / "many.svg"
    curves([line(f"line {place}", (1, place / 9, 0)) for place in range(8)], str(path))
    text = path.read_text()
    assert len(set(re.findall(r"stroke-dasharray: ([^;\"]+)", text))) >= 3
    shapes = re.findall(r'<g id="line2d_\d+">\s*<path[^>]*>\s*<defs>\s*<path id="(\w+)"', text)
    assert len(set(shapes)) >= 8


def test_runs_are_drawn_into_one_figure(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folders = [run(tmp_path / "a", CURVE), run(tmp_path / "b", EVAL), run(tmp_path / "t", TRAINING)]
    assert main(["plot", *folders, "--output", "new/all.pdf", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["label"] for one in document["lines"]] == ["a", "b, fgsm"]
    assert document["files"] == ["new/all.pdf"]
    assert "t has no accuracies over epsilon" in document["warnings"][0]
    assert Path("new/all.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "is no finished run"),
        ("{", "not a JSON document"),
        ("[]", "not the results of a run"),
        ('{"command": "curve", "clean_correct": 1}', "is damaged"),
        ('{"command": "eval", "clean_correct": 1, "results": [3]}', "is damaged"),
        ('{"x": 3}', "is damaged"),
        ('{"command": "train"}', "a plot needs a finished attack, eval or curve"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(content, sentence, tmp_path):
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    with pytest.raises(FgsmError, match=sentence):
        plot([str(tmp_path)], str(tmp_path / "x.svg"))
    assert not (tmp_path / "x.svg").exists()


def test_epsilons_of_two_norms_are_not_drawn_together(tmp_path):
    other = replace(CURVE, attack=replace(CURVE.attack, norm="l2"))
    folders = [run(tmp_path / "a", CURVE), run(tmp_path / "b", other)]
    with pytest.raises(FgsmError, match="must be of one norm. Received: l2, linf"):
        plot(folders, str(tmp_path / "x.svg"))


def test_a_curve_draws_itself(model_file, tmp_path, monkeypatch, capsys, images):
    monkeypatch.chdir(tmp_path)
    drawn = ["curve", str(model_file), "-n", "50", "--points", "4", "--plot", "curve.svg"]
    assert main([*drawn, "--format", "json", "--output", "run"]) == 0
    assert "curve.svg" in json.loads(capsys.readouterr().out)["files"]
    assert main(["plot", "run", "--output", "again.svg"]) == 0
    assert "<svg" in Path("again.svg").read_text()
    assert main(["curve", str(model_file), "--plot", "x.gif"]) == 2
    np.save("x.npy", images.pixels(0, 5))
    assert main(["curve", str(model_file), "-d", "x.npy", "--plot", "curve.svg"]) == 2
    assert "--plot needs labels" in capsys.readouterr().err
