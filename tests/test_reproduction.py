"""The literature, run again: the quick experiments here, all of them by ``make reproduce``."""

import json

import numpy as np
import pytest

from fgsm_cli import FgsmError, load_classifier
from fgsm_cli.config import command_of, read_experiment, resolve_experiment
from fgsm_cli.data import Reading, load_images
from fgsm_cli.experiment import Watch
from fgsm_cli.reproduction import FIGURES, QUICK, experiment_file, names, reproduce


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    return folder, reproduce(QUICK, Watch(), str(folder))


def test_the_quick_figures_lie_in_their_ranges(quick):
    _, record = quick
    assert [one.what for one in record.figures if not one.agrees] == []
    assert {one.experiment for one in record.figures} == set(QUICK)


def test_each_run_leaves_its_folder(quick):
    folder, record = quick
    for name in QUICK:
        document = json.loads((folder / name / "results.json").read_text())
        assert set(document) == set(read_experiment(experiment_file(name)))
    measured = {one.what: one.measured for one in record.figures}
    softmax = json.loads((folder / "goodfellow2015-softmax/results.json").read_text())
    assert measured["its mean confidence in errors"] == softmax["attack"]["error_confidence"]


def test_logistic_regression_is_its_closed_form(quick):
    """Two classes, no hidden layer: the margin falls by |w| times how far each pixel can go."""
    folder, record = quick
    model = load_classifier(str(folder / "goodfellow2015-logistic/train/model.keras"))
    images = load_images("mnist", "test", reading=Reading(only=(3, 7)))
    kernel, bias = (np.asarray(weight, np.float64) for weight in model.model.get_weights())
    toward = np.where(images.labels == 0, 1, -1)[:, None]
    weights = (kernel[:, 0] - kernel[:, 1]) * toward
    x = images.pixels().reshape(len(images), -1).astype(np.float64)
    margin = (x * weights).sum(axis=1) + (bias[0] - bias[1]) * toward[:, 0]
    room = np.where(weights > 0, np.minimum(x, 0.25), np.minimum(1 - x, 0.25))
    fallen = margin - (np.abs(weights) * room).sum(axis=1)
    measured = {one.what: one.measured for one in record.figures}
    clean, attacked = (
        measured[f"logistic 3 against 7{what}"]
        for what in (": clean accuracy", ", FGSM .25: accuracy")
    )
    assert clean == np.mean(margin > 0)
    assert attacked == np.mean(fallen > 0)


@pytest.mark.parametrize("name", names())
def test_every_experiment_is_there_and_holds_its_figures(name):
    _, resolved = resolve_experiment(read_experiment(experiment_file(name)), {"output": "out"})
    for figure in FIGURES:
        if figure.experiment == name:
            section, *_ = figure.where.split(".")
            assert command_of(section) in ("attack", "eval", "transfer", "certify")
            assert section in resolved
            assert 0 <= figure.low <= figure.high <= 1


def test_an_unknown_experiment_is_refused():
    with pytest.raises(FgsmError, match="Received: 'goodfellow'"):
        reproduce(["goodfellow"], Watch())
