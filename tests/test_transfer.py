"""Transfer: each cell is a plain calculation, the diagonal is the attack itself."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fgsm_cli import FgsmError, attack_named, perturb
from fgsm_cli.config import TransferOptions, build
from fgsm_cli.evaluation import judge
from fgsm_cli.models import build_mlp, inspect, save_model
from fgsm_cli.transfer import ensemble, transfer_matrix


def quiet(*_):
    pass


@pytest.fixture(scope="module")
def other(images):
    """Softmax regression by least squares: another network, of another kind."""
    model = build_mlp(())
    x = np.hstack([images.pixels().reshape(1000, -1), np.ones((1000, 1), np.float32)])
    solution = np.linalg.lstsq(x, np.eye(10, dtype=np.float32)[images.labels], rcond=1e-3)[0]
    model.set_weights([solution[:-1], solution[-1]])
    return inspect(model, path="other")


def crossed(sources, targets, images, attack):
    return transfer_matrix(sources, targets, images, attack, batch_size=300, seed=0, progress=quiet)


@pytest.mark.parametrize("attack", [attack_named(), attack_named("pgd", steps=5)], ids=str)
def test_a_cell_is_a_plain_calculation(attack, classifier, other, images):
    models = [classifier, other]
    found = crossed(models, models, images, attack)
    for row, source in enumerate(models):
        x_adv = perturb(source, images.pixels(), images.labels, attack)
        for column, target in enumerate(models):
            right = np.sum(np.argmax(target(x_adv), axis=1) == images.labels)
            assert found[row][column].adversarial_correct == right


def test_the_diagonal_is_the_attack_itself(classifier, other, images):
    attack = attack_named()
    found = crossed([classifier, other], [classifier, other], images, attack)
    for place, model in enumerate((classifier, other)):
        [alone] = judge(model, images, [(attack,)], batch_size=300, seed=0, progress=quiet).results
        assert found[place][place].adversarial_correct == alone.adversarial_correct
        off = found[place][1 - place]
        assert off.adversarial_correct > found[1 - place][1 - place].adversarial_correct


def test_an_ensemble_is_the_mean_of_the_logits(classifier, other, images):
    both = ensemble([classifier, other])
    x = images.pixels(0, 10)
    np.testing.assert_allclose(both(x), (classifier(x) + other(x)) / 2, rtol=1e-6)
    found = crossed([both], [classifier, other], images, attack_named())[0]
    alone = crossed([classifier], [other], images, attack_named())[0]
    assert found[1].adversarial_correct < alone[0].adversarial_correct


def test_an_ensemble_agrees_on_its_classes(classifier, other):
    with pytest.raises(FgsmError, match="must agree on its classes. Received: 10 of .* and 3"):
        ensemble([classifier, replace(other, classes=3)])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"models": ["a"]}, "two models or more. Received: 1"),
        ({"models": ["a", "a"]}, "different models. Received: a, a"),
        ({"models": ["a", "b"], "plot": "x.txt"}, "--plot must name"),
    ],
)
def test_what_cannot_be_crossed_is_refused(options, sentence):
    with pytest.raises(FgsmError, match=sentence):
        build(TransferOptions, options)


def test_the_command_writes_matrix_and_heat_map(fgsm, classifier, other, tmp_path):
    save_model(classifier.model, tmp_path / "one.keras")
    save_model(other.model, tmp_path / "two.keras")
    arguments = ("transfer", "one.keras", "two.keras", "-n", "200", "--ensemble", "-f", "json")
    done = fgsm(*arguments, "--output", "out")
    document = json.loads(done.stdout)
    assert document["sources"] == ["one.keras", "two.keras", "ensemble"]
    assert [(one["source"], one["target"]) for one in document["results"]] == [
        (source, target) for source in document["sources"] for target in document["targets"]
    ]
    assert json.loads((tmp_path / "out/results.json").read_text()) == document
    picture = (tmp_path / "out/transfer.svg").read_text()
    assert "crafted on" in picture
    assert "one.keras" in picture
    table = fgsm("run", "out/config.yaml").stdout
    assert "none (clean)" in table
    assert json.loads(fgsm("verify", "out", "-f", "json").stdout)["agrees"]
