"""Laws of the family, over the whole table."""

from typing import get_args

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from fgsm_cli import FgsmError, attack_named, get_grads, perturb
from fgsm_cli.attacks import aims, craft, mover
from fgsm_cli.data import ImageSet
from fgsm_cli.family import ROWS, AttackName
from fgsm_cli.gradients import LOSSES
from fgsm_cli.models import Classifier, build_mlp
from fgsm_cli.norms import NORMS

SHAPES = [(784,), (28, 28), (28, 28, 1), (32, 32, 3)]

every_row = pytest.mark.parametrize("name", ROWS)
every_norm = pytest.mark.parametrize("norm", NORMS)


def noise(shape, n=3, seed=0):
    return np.random.default_rng(seed).random((n, *shape), dtype=np.float32)


def linear(seed=0, pixels=20):
    """A two-class linear model and the difference of its weights."""
    weights = np.random.default_rng(seed).normal(size=(pixels, 2)).astype(np.float32)
    return (lambda x: (x - 0.5) @ weights), weights[:, 1] - weights[:, 0]


EPSILON = {"linf": 0.1, "l2": 1.5, "l1": 4.0}

# Enough turns to leave the ball if anything lets them, few enough to run over the whole table.
STEPS = 7


def one_of(name, norm="linf", **changes):
    """An attack of the table, its iterations shortened."""
    steps = STEPS if ROWS[name].steps > 1 else None
    return attack_named(name, **{"norm": norm, "epsilon": EPSILON[norm], "steps": steps, **changes})


def size(moved, norm):
    order = {"linf": np.inf, "l2": 2, "l1": 1}[norm]
    return np.linalg.norm(moved.reshape(len(moved), -1).astype(np.float64), order, axis=1)


@every_row
@every_norm
@pytest.mark.parametrize(
    ("shape", "target"), [*((shape, None) for shape in SHAPES), ((28, 28), "next")], ids=str
)
def test_in_the_ball_and_in_the_pixel_range(name, norm, shape, target):
    model = build_mlp((16,), input_shape=shape, classes=5)
    attack = one_of(name, norm, target=target)
    for n in (1, 3, 8):
        x = noise(shape, n)
        x_adv = perturb(model, x, np.arange(n) % 5, attack).numpy()
        assert x_adv.shape == x.shape
        assert x_adv.dtype == np.float32
        assert size(x_adv.astype(np.float64) - x, norm).max() <= EPSILON[norm] * (1 + 1e-6)
        assert x_adv.min() >= 0
        assert x_adv.max() <= 1
        assert not np.array_equal(x_adv, x)


@every_row
@every_norm
def test_epsilon_zero_changes_nothing(name, norm, classifier, images):
    x = images.pixels(0, 50)
    x_adv = perturb(classifier, x, images.labels[:50], one_of(name, norm, epsilon=0))
    assert x_adv.numpy().tobytes() == x.tobytes()


@every_row
@every_norm
def test_the_input_is_never_modified(name, norm, classifier, images):
    x = images.pixels(0, 10)
    before = x.copy()
    perturb(classifier, x, images.labels[:10], one_of(name, norm))
    assert np.array_equal(x, before)


@every_row
@every_norm
def test_a_zero_gradient_moves_nothing_but_the_start(name, norm):
    x = noise((6,))
    attack = one_of(name, norm)
    x_adv = perturb(lambda x: tf.reshape(x, (-1, 6))[:, :3] * 0.0, x, [0, 1, 0], attack).numpy()
    assert np.isfinite(x_adv).all()
    if ROWS[name].start == "image":
        assert np.array_equal(x_adv, x)


@every_row
def test_a_sample_ignores_its_batch_and_its_place(name, classifier, images):
    x, y, attack = images.pixels(0, 60), images.labels[:60], one_of(name)
    places = np.arange(60)

    def crafted(chosen):
        return craft(
            classifier, tf.constant(x[chosen]), tf.constant(y[chosen]), attack, chosen, 0
        ).numpy()

    whole = crafted(places)
    assert np.array_equal(whole, perturb(classifier, x, y, attack))
    parts = np.concatenate([crafted(places[i : i + 7]) for i in range(0, 60, 7)])
    order = np.random.default_rng(0).permutation(60)
    shuffled = crafted(order)
    # Matrix products round differently in another batch, which can turn the sign of a pixel
    # whose gradient is all but zero; nothing else may differ.
    assert np.mean(whole != parts) < 1e-3
    assert np.mean(whole[order] != shuffled) < 1e-3


@every_row
def test_the_same_call_gives_the_same_bits(name, classifier, images):
    x, y, attack = images.pixels(0, 20), images.labels[:20], one_of(name, target="random")
    first, second, other = (perturb(classifier, x, y, attack, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


@every_row
@every_norm
def test_the_attack_raises_its_loss_and_lowers_its_targets(name, norm, classifier, images):
    x, y = images.pixels(0, 200), images.labels[:200]
    ascended = LOSSES[ROWS[name].loss]
    away = perturb(classifier, x, y, one_of(name, norm))
    assert np.mean(ascended(classifier(away), y)) > np.mean(ascended(classifier(x), y))
    target = (y + 1) % 10
    toward = perturb(classifier, x, y, one_of(name, norm, target="next"))
    assert np.mean(ascended(classifier(toward), target)) < np.mean(ascended(classifier(x), target))


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
        swept = mover("linf", x.ndim)(tf.constant(x), gradient, tf.constant(epsilon))
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
    for name in ROWS:
        traces = []

        def counted(x, traces=traces):
            traces.append(1)
            return model(x)

        for epsilon, steps, n in (
            (0.1, 2, 64),
            (0.2, 3, 64),
            (0.3, 5, 64),
            (0.1, 2, 17),
            (0.2, 4, 5),
        ):
            steps = steps if ROWS[name].steps > 1 else None
            attack = attack_named(name, epsilon=epsilon, steps=steps)
            x, y = tf.constant(images.pixels(0, n)), tf.constant(images.labels[:n])
            craft(counted, x, y, attack, np.arange(n), 0)
        # One trace each; that of APGD looks at the model twice, before its loop and in it.
        assert len(traces) == (2 if ROWS[name].adapts else 1), name


def test_the_table_and_its_names_agree():
    assert get_args(AttackName) == tuple(ROWS)


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
@pytest.mark.parametrize("seed", range(5))
def test_on_a_linear_model_every_norm_has_its_closed_form(norm, seed):
    """The margin rises by epsilon times the dual norm of the weight difference: L1, L2, Linf."""
    model, difference = linear(seed)
    x, y, epsilon = 0.4 + 0.2 * noise((20,), seed=seed), np.array([0, 1, 0]), 0.15
    dual = np.linalg.norm(difference, {"linf": 1, "l2": 2, "l1": np.inf}[norm])
    for name in ("fgm", "bim"):
        x_adv = perturb(model, x, y, attack_named(name, norm=norm, epsilon=epsilon)).numpy()
        rise = (x_adv.astype(np.float64) - x) @ difference * np.where(y == 0, 1, -1)
        np.testing.assert_allclose(rise, epsilon * dual, rtol=1e-4)


def test_a_tiny_gradient_still_spends_the_whole_l2_budget():
    weights = np.float32(1e-30) * np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    x = 0.4 + 0.2 * noise((20,))
    x_adv = perturb(lambda x: x @ weights, x, [0, 1, 0], attack_named("fgm", epsilon=0.2))
    np.testing.assert_allclose(size(x_adv.numpy() - x, "l2"), 0.2, rtol=1e-5)


@every_norm
def test_the_projection_is_the_nearest_point_of_the_ball(norm):
    """Of many random points of the ball none is nearer to where the projection started."""
    rng = np.random.default_rng(1)
    x = np.full((1, 5), 0.5, np.float32)
    outside = x + rng.normal(size=(1, 5)).astype(np.float32) * 0.2
    epsilon = 0.1
    nearest = NORMS[norm].ball(tf.constant(x), tf.constant(epsilon))(tf.constant(outside)).numpy()
    assert size(nearest - x, norm)[0] <= epsilon * (1 + 1e-6)
    points = x + epsilon * np.stack([NORMS[norm].sample(rng, 5) for _ in range(5000)])
    assert (
        np.linalg.norm(points - outside, axis=1).min() >= np.linalg.norm(nearest - outside) - 1e-6
    )


@every_norm
def test_starts_fill_the_unit_ball_uniformly(norm):
    """Uniform in d dimensions: the d-th power of the norm is uniform in 0..1."""
    rng = np.random.default_rng(2)
    points = np.stack([NORMS[norm].sample(rng, 6) for _ in range(4000)])
    radii = size(points, norm) ** 6
    assert kstest(radii, "uniform").pvalue > 0.001
    assert abs(points.mean()) < 0.02


def test_rfgsm_is_wongs_by_hand(classifier, images):
    """Uniform start in the ball, one step of 1.25 epsilon from it, projected."""
    x, y = images.pixels(0, 30), images.labels[:30]
    attack = attack_named("rfgsm", epsilon=0.1)
    start = perturb(classifier, x, y, attack_named("rfgsm", epsilon=0.1, step_size=1e-9)).numpy()
    moved = start + np.float32(0.125) * np.sign(get_grads(classifier, start, y).numpy())
    expected = np.clip(np.clip(moved, x - np.float32(0.1), x + np.float32(0.1)), 0, 1)
    difference = np.abs(perturb(classifier, x, y, attack).numpy() - expected) > 1e-6
    assert difference.mean() < 1e-3
    assert 0.02 < np.abs(start - x)[x > 0.2].mean() < 0.08


def test_tramers_start_is_a_corner_of_half_the_ball(classifier, images):
    x, y = images.pixels(0, 30), images.labels[:30]
    start = perturb(classifier, x, y, attack_named("rfgsm-tramer", epsilon=0.1, step_size=1e-9))
    inside = (x > 0.1) & (x < 0.9)
    np.testing.assert_allclose(np.abs(start.numpy() - x)[inside], 0.05, atol=1e-6)


def test_nifgsm_looks_ahead(classifier, images):
    """Lin et al. 2020: the gradient at x + alpha * decay * v; by hand for three steps."""
    x, y = images.pixels(0, 20), images.labels[:20]
    attack = attack_named("nifgsm", epsilon=0.1, steps=3, decay=5.0)
    x_adv, velocity = x.astype(np.float64), np.zeros_like(x, np.float64)
    for _ in range(3):
        ahead = (x_adv + 0.1 / 3 * 5.0 * velocity).astype(np.float32)
        gradient = get_grads(classifier, ahead, y).numpy().astype(np.float64)
        velocity = 5.0 * velocity + gradient / np.abs(gradient).sum(axis=(1, 2), keepdims=True)
        x_adv = np.clip(np.clip(x_adv + 0.1 / 3 * np.sign(velocity), x - 0.1, x + 0.1), 0, 1)
    assert np.mean(np.abs(perturb(classifier, x, y, attack).numpy() - x_adv) > 1e-6) < 2e-3


def still_right(classifier, x, y):
    return np.argmax(classifier(x), axis=1) == y


def test_more_steps_of_one_size_and_more_restarts_never_help_the_model(classifier, images):
    x, y = images.pixels(0, 300), images.labels[:300]
    few, many, again = (
        still_right(
            classifier,
            perturb(classifier, x, y, attack_named("pgd", epsilon=0.06, step_size=0.1, **more)),
            y,
        )
        for more in ({"steps": 5}, {"steps": 15}, {"steps": 5, "restarts": 4})
    )
    assert not np.any(many & ~few)
    assert not np.any(again & ~few)
    assert many.sum() < few.sum()


def test_the_family_is_ordered_as_the_literature_says(classifier, images):
    x, y = images.pixels(0, 500), images.labels[:500]
    left = {
        name: still_right(
            classifier, perturb(classifier, x, y, attack_named(name, epsilon=0.07)), y
        ).mean()
        for name in ("fgsm", "bim", "pgd", "apgd")
    }
    assert left["bim"] < left["fgsm"]
    assert left["pgd"] <= left["bim"] + 0.005
    assert left["apgd"] <= left["pgd"] + 0.005


def test_targets_are_chosen_as_they_are_called(classifier, images):
    x, y = tf.constant(images.pixels(0, 200)), tf.constant(images.labels[:200])
    scores, places = classifier(x), np.arange(200)

    def chosen(target, seed=0):
        return aims(attack_named(target=target), scores, y, places, seed).numpy()

    assert np.array_equal(chosen("next"), (y.numpy() + 1) % 10)
    assert np.array_equal(chosen("least-likely"), np.argmin(scores, axis=1))
    assert set(chosen(3)) == {3}
    random = chosen("random")
    assert not np.any(random == y.numpy())
    assert len(set(random)) == 10
    assert np.array_equal(random, chosen("random"))
    assert not np.array_equal(random, chosen("random", seed=1))
    predicted = aims(attack_named(labels="predicted"), scores, y, places, 0)
    assert np.array_equal(predicted, np.argmax(scores, axis=1))
    with pytest.raises(FgsmError, match="target must be a label from 0 to 9. Received: 12"):
        chosen(12)


def test_dlr_ignores_the_scale_of_the_logits_and_needs_three_classes():
    scores, y = tf.constant(np.random.default_rng(0).normal(size=(9, 5))), tf.constant([0] * 9)
    np.testing.assert_allclose(LOSSES["dlr"](100 * scores, y), LOSSES["dlr"](scores, y), rtol=1e-6)
    with pytest.raises(FgsmError, match="loss dlr needs at least three classes. Received: 2"):
        get_grads(lambda x: x[:, :2], noise((4,)), [0, 1, 0], loss="dlr")


@pytest.mark.parametrize("name", ["fgsm", "bim"])
def test_it_works_inside_a_function_of_the_users_own_and_after_it(name):
    model, x, y = build_mlp((8,)), tf.constant(noise((28, 28))), tf.constant([1, 2, 3])
    inside = tf.function(lambda x, y: perturb(model, x, y, attack_named(name)))(x, y)
    np.testing.assert_allclose(inside, perturb(model, x, y, attack_named(name)), atol=1e-6)


def test_random_numbers_are_not_drawn_inside_a_users_function():
    model = build_mlp((8,))
    with pytest.raises(FgsmError, match="pgd draws random numbers; inside tf.function it cannot"):
        tf.function(lambda x: perturb(model, x, [1, 2, 3], attack_named("pgd")))(noise((28, 28)))


@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_pgd_leaves_an_image_where_it_succeeded_and_moves_the_others_as_ever(
    decay: float, classifier: Classifier, images: ImageSet
):
    x, y = images.pixels(), images.labels
    path = {"epsilon": 0.06, "step_size": 0.1, "decay": decay, "loss": "ce-float32"}
    stopping, longer, carried = (
        perturb(classifier, x, y, attack_named(name, steps=steps, **path)).numpy()  # type: ignore[arg-type]
        for name, steps in (("pgd", 13), ("pgd", 22), ("rfgsm", 13))
    )
    stands = np.argmax(classifier(stopping), axis=1) == y
    assert 0.2 < stands.mean() < 0.8
    np.testing.assert_array_equal(stopping[~stands], longer[~stands])
    # A product of matrices may round otherwise in a smaller batch, and turn a sign near 0.
    assert np.mean(stopping[stands] != carried[stands]) < 1e-4
    assert np.any(stopping[~stands] != carried[~stands])


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
    ("y", "sentence"),
    [
        ([10], "y must hold labels from 0 to 9. Received: 10"),
        ([-1], "y must hold labels from 0 to 9. Received: -1"),
        ([1, 2], "y must hold 1 labels, one a sample. Received: 2"),
        ([0.9], "y must hold integer labels. Received: float32"),
        ([True], "y must hold integer labels. Received: bool"),
        (np.array([2**63 + 5], np.uint64), "y must hold labels from 0 to 9"),
        (np.eye(10, dtype=int)[:1], "y must hold one label a sample. Received: shape"),
        (None, "y, the labels, must be given"),
    ],
    ids=str,
)
def test_labels_that_do_not_fit_are_told_in_one_sentence(y, sentence, classifier, images):
    with pytest.raises(FgsmError, match=sentence):
        perturb(classifier, images.pixels(0, 1), y, attack_named())


def test_an_attack_is_not_a_name():
    with pytest.raises(
        FgsmError, match="attack must be an Attack, as attack_named gives. Received: 'fgsm'"
    ):
        perturb(lambda x: x, noise((4,)), [0, 1, 0], "fgsm")


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"steps": "three"}, "steps must be a whole number, at least 1. Received: 'three'"),
        ({"name": ["fgsm"]}, "attack must be one of fgsm, "),
        ({"name": "fgms"}, "attack must be one of fgsm, fgm, .* Received: 'fgms'"),
        ({"epsilon": -0.1}, "epsilon must be a number, at least 0. Received: -0.1"),
        ({"epsilon": float("nan")}, "epsilon must be a number, at least 0. Received: nan"),
        ({"epsilon": float("inf")}, "epsilon must be a number, at least 0. Received: inf"),
        ({"epsilon": True}, "epsilon must be a number, at least 0. Received: True"),
        ({"steps": 0}, "steps must be a whole number, at least 1. Received: 0"),
        ({"step_size": 0}, "step_size must be a number, above 0, at most 10. Received: 0"),
        ({"decay": -1}, "decay must be a number, at least 0, at most 1000. Received: -1"),
        ({"norm": "l7"}, "norm must be one of linf, l2, l1. Received: 'l7'"),
        ({"restarts": 0}, "restarts must be a whole number, at least 1. Received: 0"),
        (
            {"target": "far"},
            "target must be a whole number, at least 0 or one of next, .* Received: 'far'",
        ),
        ({"loss": "mse"}, "loss must be one of ce, ce-float32, margin, dlr. Received: 'mse'"),
    ],
)
def test_an_attack_that_cannot_be_is_told_in_one_sentence(keywords, sentence):
    with pytest.raises(FgsmError, match=sentence):
        attack_named(**keywords)
