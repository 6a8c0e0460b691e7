"""The curve: the same numbers as attack by attack, from one gradient, and each image's flip."""

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import attack_named, perturb
from fgsm_cli import curve as module
from fgsm_cli.config import CurveOptions
from fgsm_cli.curve import RESOLUTION, trace_curve
from fgsm_cli.data import ImageSet
from fgsm_cli.evaluation import judge
from fgsm_cli.models import Classifier

GRID = (0.0, 0.05, 0.1, 0.2, 0.3)


def traced(classifier, images, attack=None, grid=GRID, batch_size=300):
    return trace_curve(
        classifier,
        images,
        attack or attack_named(),
        grid,
        batch_size=batch_size,
        progress=lambda *_: None,
    )


@pytest.mark.parametrize(
    "attack",
    [attack_named("fgsm"), attack_named("fgm"), attack_named("margin-fgsm")],
    ids=lambda one: one.name,
)
def test_the_curve_is_the_attack_at_every_epsilon(attack, classifier, images):
    grid = tuple(attack.epsilon * 10 * share for share in GRID)
    found = traced(classifier, images, attack, grid)
    contests = [(attack_named(attack.name, epsilon=epsilon),) for epsilon in grid]
    results = judge(
        classifier, images, contests, batch_size=300, seed=0, progress=lambda *_: None
    ).results
    assert found.right.sum(axis=1).tolist() == [one.adversarial_correct for one in results]


def test_it_takes_one_gradient(classifier, images, monkeypatch):
    taken = []
    original = module.gradient_of

    def spy(*arguments):
        gradient = original(*arguments)
        return lambda *given: taken.append(1) or gradient(*given)

    monkeypatch.setattr(module, "gradient_of", spy)
    traced(classifier, images, batch_size=250)
    assert len(taken) == 4, "one a batch, however many epsilons"


def test_the_smallest_epsilon_turns_the_image_and_a_little_less_does_not(classifier, images):
    found = traced(classifier, images)
    turned = np.flatnonzero(found.smallest > 0)
    assert len(turned) > 500
    x, y = images.pixels(), images.labels
    for shift, right in ((0, False), (-1.01 * RESOLUTION, True)):
        answers = [
            np.argmax(
                classifier(
                    perturb(
                        classifier,
                        x[[i]],
                        y[[i]],
                        attack_named(epsilon=max(0, found.smallest[i] + shift)),
                    )
                )
            )
            == y[i]
            for i in turned[:40]
        ]
        # A batch of one rounds its products otherwise, which may decide right at the edge.
        assert np.mean(np.array(answers) == right) > 0.94


def linear_classifier(seed=0, pixels=20):
    weights = np.random.default_rng(seed).normal(size=(pixels, 2)).astype(np.float32)
    return Classifier(lambda x: (x - 0.5) @ weights, "logits", 2, (pixels,)), weights[
        :, 1
    ] - weights[:, 0]


@pytest.mark.parametrize(("name", "order"), [("fgsm", 1), ("fgm", 2)])
def test_on_a_linear_model_it_is_the_margin_over_the_dual_norm(name, order):
    classifier, difference = linear_classifier()
    x = 0.4 + 0.2 * np.random.default_rng(1).random((200, 20), dtype=np.float32)
    margins = (x - 0.5) @ difference
    images = ImageSet("made", "test", x, (margins > 0).astype(np.int64), 2)
    grid = tuple(np.linspace(0, 0.35, 8))
    found = traced(classifier, images, attack_named(name), grid)
    expected = np.abs(margins) / np.linalg.norm(difference, order)
    inside = expected < 0.35
    assert inside.sum() > 50
    np.testing.assert_allclose(found.smallest[inside], expected[inside], atol=1.1 * RESOLUTION)
    assert np.isnan(found.smallest[expected > 0.351]).all()


def test_wrong_to_begin_with_is_zero(classifier, images):
    found = traced(classifier, images)
    assert np.array_equal(found.smallest == 0, ~found.right[0])


def test_an_image_that_turns_back_is_seen():
    """A class that holds a band only: wrong inside it, right again beyond."""

    def band(x):
        score = 0.05 - tf.abs(x[:, :1] - 0.6)
        return tf.concat([0 * score, score], axis=1)

    images = ImageSet("made", "test", np.full((1, 1), 0.5, np.float32), np.array([0]), 2)
    found = traced(Classifier(band, "logits", 2, (1,)), images, grid=(0.0, 0.1, 0.2))
    assert found.right[:, 0].tolist() == [True, False, True]
    assert found.smallest[0] == pytest.approx(0.05, abs=RESOLUTION)


def test_the_grid_is_even_from_zero_to_the_end():
    grid = CurveOptions(epsilon_max=0.3, points=31).grid()
    assert len(grid) == 31
    assert grid[0] == 0
    assert grid[-1] == 0.3
    assert grid[10] == 0.1
