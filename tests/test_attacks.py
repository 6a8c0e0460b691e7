"""Laws of the family, over the whole table."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from fgsm_cli import FgsmError, attack_named, get_grads, perturb
from fgsm_cli.attacks import NORMS, mover
from fgsm_cli.data import ImageSet
from fgsm_cli.family import ROWS
from fgsm_cli.models import Classifier, build_mlp

SHAPES = [(784,), (28, 28), (28, 28, 1), (32, 32, 3)]

every_row = pytest.mark.parametrize("name", ROWS)
every_norm = pytest.mark.parametrize("norm", NORMS)


def noise(shape, n=3, seed=0):
    return np.random.default_rng(seed).random((n, *shape), dtype=np.float32)


def linear(seed=0, pixels=20):
    """A two-class linear model and the difference of its weights."""
    weights = np.random.default_rng(seed).normal(size=(pixels, 2)).astype(np.float32)
    return (lambda x: (x - 0.5) @ weights), weights[:, 1] - weights[:, 0]


@every_row
@every_norm
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("n", [1, 3, 8])
def test_in_the_ball_and_in_the_pixel_range(name, norm, shape, n):
    model = build_mlp((16,), input_shape=shape, classes=5)
    x = noise(shape, n)
    x_adv = perturb(model, x, np.arange(n) % 5, attack_named(name, norm=norm, epsilon=0.1)).numpy()
    assert x_adv.shape == x.shape
    assert x_adv.dtype == np.float32
    assert np.abs(x_adv.astype(np.float64) - x).max() <= 0.1 + 1e-6
    assert x_adv.min() >= 0
    assert x_adv.max() <= 1
    assert not np.array_equal(x_adv, x)


@every_row
def test_epsilon_zero_changes_nothing(name, classifier, images):
    x = images.pixels(0, 50)
    x_adv = perturb(classifier, x, images.labels[:50], attack_named(name, epsilon=0))
    assert x_adv.numpy().tobytes() == x.tobytes()


@every_row
def test_the_input_is_never_modified(name, classifier, images):
    x = images.pixels(0, 10)
    before = x.copy()
    perturb(classifier, x, images.labels[:10], attack_named(name))
    assert np.array_equal(x, before)


@every_row
def test_a_zero_gradient_moves_nothing(name):
    x = noise((6,))
    x_adv = perturb(lambda x: tf.reshape(x, (-1, 6))[:, :2] * 0.0, x, [0, 1, 0], attack_named(name))
    assert np.array_equal(x_adv, x)


@every_row
def test_a_sample_ignores_its_batch_and_its_place(name, classifier, images):
    x, y, attack = images.pixels(0, 60), images.labels[:60], attack_named(name)
    whole = perturb(classifier, x, y, attack).numpy()
    parts = np.concatenate(
        [perturb(classifier, x[i : i + 7], y[i : i + 7], attack) for i in range(0, 60, 7)]
    )
    order = np.random.default_rng(0).permutation(60)
    shuffled = perturb(classifier, x[order], y[order], attack).numpy()
    # Matrix products round differently in another batch, which can turn the sign of a pixel
    # whose gradient is all but zero; nothing else may differ.
    assert np.mean(whole != parts) < 1e-3
    assert np.mean(whole[order] != shuffled) < 1e-3


@every_row
def test_the_same_call_gives_the_same_bits(name, classifier, images):
    x, y, attack = images.pixels(0, 20), images.labels[:20], attack_named(name)
    assert np.array_equal(perturb(classifier, x, y, attack), perturb(classifier, x, y, attack))


@every_row
def test_the_loss_rises(name, classifier, images):
    x, y = images.pixels(0, 200), images.labels[:200]
    x_adv = perturb(classifier, x, y, attack_named(name, epsilon=0.05))

    def right(x):
        return np.sum(np.argmax(classifier(x), axis=1) == y)

    assert right(x_adv) < right(x)


def test_fgsm_is_the_formula(classifier, images):
    x, y = images.pixels(0, 100), images.labels[:100]
    by_hand = np.clip(x + np.float32(0.1) * np.sign(get_grads(classifier, x, y)), 0, 1)
    assert np.array_equal(perturb(classifier, x, y, attack_named("fgsm", epsilon=0.1)), by_hand)


def test_one_bim_step_is_fgsm(classifier, images):
    x, y = images.pixels(0, 100), images.labels[:100]
    once = perturb(classifier, x, y, attack_named("bim", steps=1, epsilon=0.1))
    assert np.array_equal(once, perturb(classifier, x, y, attack_named("fgsm", epsilon=0.1)))


def test_mifgsm_without_memory_is_bim(classifier, images):
    x, y = images.pixels(0, 100), images.labels[:100]
    forgetful = perturb(classifier, x, y, attack_named("mifgsm", decay=0))
    assert np.array_equal(forgetful, perturb(classifier, x, y, attack_named("bim")))


def test_momentum_is_accumulated_before_the_sign(classifier, images):
    """Dong et al. 2018: v <- decay * v + g / |g|_1, then the sign; by hand for three steps."""
    x, y = images.pixels(0, 20), images.labels[:20]
    attack = attack_named("mifgsm", epsilon=0.1, steps=3, decay=0.7)
    x_adv, velocity = x.astype(np.float64), 0.0
    for _ in range(3):
        gradient = get_grads(classifier, x_adv.astype(np.float32), y).numpy().astype(np.float64)
        velocity = 0.7 * velocity + gradient / np.abs(gradient).sum(axis=(1, 2), keepdims=True)
        x_adv = np.clip(np.clip(x_adv + 0.1 / 3 * np.sign(velocity), x - 0.1, x + 0.1), 0, 1)
    assert np.mean(np.abs(perturb(classifier, x, y, attack).numpy() - x_adv) > 1e-6) < 1e-3


def test_a_known_gradient_moves_as_the_attack_does(classifier, images):
    """What the evaluator does for a sweep, against what perturb does for one epsilon."""
    x, y = images.pixels(0, 100), images.labels[:100]
    gradient = get_grads(classifier, x, y)
    for epsilon in (0.0, 0.03, 0.1, 0.3):
        swept = mover("linf")(tf.constant(x), gradient, tf.constant(epsilon))
        assert np.array_equal(swept, perturb(classifier, x, y, attack_named(epsilon=epsilon)))


@given(st.integers(0, 1000), st.floats(0.0009765625, 0.375, width=32))
@settings(max_examples=25, deadline=None)
def test_on_a_linear_model_the_margin_rises_by_epsilon_times_the_l1_norm(seed, epsilon):
    model, difference = linear(seed)
    x = 0.4 + 0.2 * noise((20,), seed=seed)  # far enough from 0 and 1 that nothing is clipped
    y = np.array([0, 1, 0])
    x_adv = perturb(model, x, y, attack_named("fgsm", epsilon=epsilon)).numpy()
    rise = (x_adv.astype(np.float64) - x) @ difference * np.where(y == 0, 1, -1)
    np.testing.assert_allclose(rise, epsilon * np.abs(difference).sum(), rtol=1e-4)


def test_a_linear_model_flips_exactly_below_its_margin():
    model, difference = linear(7)
    x = 0.35 + 0.3 * noise((20,), 400, seed=7)
    scores = (x - 0.5) @ difference
    y = (scores > 0).astype(np.int64)
    epsilon = 0.02
    x_adv = perturb(model, x, y, attack_named("fgsm", epsilon=epsilon)).numpy()
    flipped = ((x_adv - 0.5) @ difference > 0) != (y == 1)
    reach = epsilon * np.abs(difference).sum()
    clear = np.abs(np.abs(scores) - reach) > 1e-4
    assert np.array_equal(flipped[clear], (np.abs(scores) < reach)[clear])
    assert 50 < flipped.sum() < 350


def test_one_trace_serves_every_epsilon_and_a_short_last_batch(images: ImageSet):
    model = build_mlp((16,))
    traces = 0

    def counted(x):
        nonlocal traces
        traces += 1
        return model(x)

    for name in ROWS:
        for epsilon, steps, n in (
            (0.1, 2, 64),
            (0.2, 3, 64),
            (0.3, 5, 64),
            (0.1, 2, 17),
            (0.2, 4, 5),
        ):
            attack = attack_named(name, epsilon=epsilon, steps=steps)
            perturb(counted, images.pixels(0, n), images.labels[:n], attack)
    # fgsm and bim share one compiled loop, mifgsm has its own; each may be traced twice.
    assert traces <= 4


def test_one_image_keeps_its_shape(classifier: Classifier, images: ImageSet):
    x_adv = perturb(classifier, images.pixels(0, 1)[0], int(images.labels[0]), attack_named())
    assert x_adv.shape == (28, 28)


@pytest.mark.parametrize(
    "x", [np.full((1, 4), 25.0), np.full((1, 4), -0.1), np.full((1, 4), np.nan)]
)
def test_pixels_outside_the_range_are_refused(x):
    with pytest.raises(FgsmError, match=r"x must hold pixels in 0..1. Received: "):
        perturb(lambda x: x[:, :2], x, [0], attack_named())


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"name": "fgms"}, "attack must be one of fgsm, bim, mifgsm. Received: 'fgms'"),
        ({"epsilon": -0.1}, "epsilon must be a number, at least 0. Received: -0.1"),
        ({"epsilon": float("nan")}, "epsilon must be a number, at least 0. Received: nan"),
        ({"epsilon": float("inf")}, "epsilon must be a number, at least 0. Received: inf"),
        ({"epsilon": True}, "epsilon must be a number, at least 0. Received: True"),
        ({"steps": 0}, "steps must be a whole number, at least 1. Received: 0"),
        ({"step_size": 0}, "step_size must be a number, above 0, at most 1. Received: 0"),
        ({"decay": -1}, "decay must be a number, at least 0. Received: -1"),
        ({"norm": "l7"}, "norm must be one of linf|norm must be linf"),
        ({"loss": "mse"}, "loss must be one of ce, ce-float32. Received: 'mse'"),
    ],
)
def test_an_attack_that_cannot_be_is_told_in_one_sentence(keywords, sentence):
    with pytest.raises(FgsmError, match=sentence):
        attack_named(**keywords)
