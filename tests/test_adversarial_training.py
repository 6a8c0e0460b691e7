"""Adversarial training: the objectives in closed form, collapse seen, and kills survived."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import FgsmError, attack_named, perturb
from fgsm_cli.backend import keras
from fgsm_cli.config import TrainOptions, build
from fgsm_cli.data import load_images
from fgsm_cli.models import build_mlp
from fgsm_cli.norms import NORMS
from fgsm_cli.results import Epoch, Probe
from fgsm_cli.training import best_epoch, has_collapsed, learning_rate, train
from fgsm_cli.training.loop import split_indices
from fgsm_cli.training.objectives import fit_of, kullback_leibler, objective

SEED = tf.constant([3, 5])
FULL = tf.constant(1.0)


def quiet(*_):
    pass


@pytest.fixture(scope="module")
def some():
    return load_images("mnist", "train", limit=6000)


@pytest.fixture(scope="module")
def batch(some):
    return tf.constant(some.pixels(0, 40)), tf.constant(some.labels[:40])


@pytest.fixture(scope="module")
def network(some):
    model = build_mlp((32,), dropout=0, seed=2)
    train(model, some, TrainOptions(epochs=1), quiet)
    return model


def asked(**options):
    return build(TrainOptions, options)


def plain_loss(model, x, y):
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y, model(x)).numpy()


# --- objectives -----------------------------------------------------------------------------


def test_plain_training_minimises_cross_entropy(network, batch):
    loss, losses, scores = objective(network, asked())(*batch, SEED, FULL)
    assert float(loss) == pytest.approx(plain_loss(network, *batch), rel=1e-6)
    assert losses.shape == (40,)
    np.testing.assert_array_equal(scores, network(batch[0]))


def test_label_smoothing_is_that_of_keras(network, batch):
    x, y = batch
    loss, *_ = objective(network, asked(label_smoothing=0.1))(x, y, SEED, FULL)
    theirs = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    assert float(loss) == pytest.approx(theirs(tf.one_hot(y, 10), network(x)).numpy(), rel=1e-6)


def test_noise_stays_within_its_size_and_the_range(batch):
    x, y = batch
    _, _, seen = objective(lambda x: tf.reshape(x, (len(x), -1)), asked(noise=0.2))(
        x, y, SEED, FULL
    )
    moved = np.abs(seen - np.reshape(x, (40, -1)))
    assert 0.15 < moved.max() <= 0.2
    assert 0 <= np.min(seen) <= np.max(seen) <= 1


@pytest.mark.parametrize(
    "options",
    [
        {"adversarial": "fgsm"},
        {"adversarial": "rfgsm"},
        {"adversarial": "pgd", "steps": 3, "trades_beta": 2.0},
        {"adversarial": "fgsm", "gradalign": 0.5},
    ],
    ids=str,
)
def test_half_of_epsilon_is_an_epsilon_of_half(options, network, batch):
    grown, full = (
        objective(network, asked(**options, epsilon=size))(*batch, SEED, tf.constant(share))[1]
        for size, share in ((0.2, 0.5), (0.1, 1.0))
    )
    np.testing.assert_allclose(grown, full, rtol=1e-5)


def test_epsilon_grows_over_the_warmup(some):
    """One step an epoch, so that the loss of an epoch is the loss of its step."""
    options = asked(adversarial="fgsm", epsilon=0.2, warmup=2, epochs=3, batch_size=6000,
                    learning_rate=1e-9, dropout=0)  # fmt: skip
    model = build_mlp((32,), dropout=0, seed=2)
    epochs = train(model, some, options, quiet)
    training, _ = split_indices(len(some), options.validation_split, options.seed)
    x, y = tf.constant(some.take(training).pixels()), tf.constant(some.known_labels[training])
    for epoch, share in zip(epochs, (0.5, 1, 1), strict=True):
        losses = objective(model, options)(x, y, SEED, tf.constant(share, tf.float32))[1]
        assert epoch.loss_sum == pytest.approx(float(tf.reduce_sum(losses)), rel=1e-4)


def test_goodfellows_objective_is_half_clean_and_half_adversarial(network, batch):
    x, y = batch
    parts = [
        objective(network, asked(adversarial="fgsm", epsilon=0.2, mix=mix))(x, y, SEED, FULL)[0]
        for mix in (1, 0.5)
    ]
    x_adv = perturb(network, x, y, attack_named("fgsm", epsilon=0.2))
    adversarial = plain_loss(network, x_adv, y)
    assert float(parts[0]) == pytest.approx(adversarial, rel=1e-5)
    assert float(parts[1]) == pytest.approx((adversarial + plain_loss(network, x, y)) / 2, rel=1e-5)


@pytest.mark.parametrize("name", ["rfgsm", "rfgsm-tramer", "pgd", "apgd"])
def test_a_random_start_is_drawn_anew_each_step_and_again_by_the_same_seed(name, network, batch):
    steps = {} if name.startswith("rfgsm") or name == "apgd" else {"steps": 3}
    of = objective(network, asked(adversarial=name, epsilon=0.1, **steps))
    first, again, other = (
        of(*batch, tf.constant([3, step]), FULL)[0].numpy() for step in (5, 5, 6)
    )
    assert first == again != other
    assert first > plain_loss(network, *batch)


def test_trades_is_cross_entropy_and_beta_times_the_divergence(network, batch):
    x, y = batch
    losses = [
        objective(network, asked(adversarial="pgd", steps=3, trades_beta=beta))(x, y, SEED, FULL)[
            0
        ].numpy()
        for beta in (1, 3)
    ]
    clean = plain_loss(network, x, y)
    assert losses[0] > clean
    assert losses[1] - clean == pytest.approx(3 * (losses[0] - clean), rel=1e-4)


def test_the_divergence_is_that_of_scipy():
    from scipy.special import rel_entr, softmax

    scores, clean = np.random.default_rng(0).normal(size=(2, 5, 4)).astype(np.float32)
    expected = rel_entr(softmax(clean, axis=1), softmax(scores, axis=1)).sum(axis=1)
    np.testing.assert_allclose(kullback_leibler(scores, clean), expected, rtol=1e-4)
    np.testing.assert_allclose(kullback_leibler(clean, clean), 0, atol=1e-7)


def test_gradalign_is_nothing_for_a_linear_model_and_something_for_a_network(network, batch):
    """Two classes and no hidden layer: one gradient direction everywhere, cosine 1."""
    x, y = batch
    linear = keras.Sequential(
        [keras.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    for model, labels, is_penalised in ((linear, y % 2, False), (network, y, True)):
        with_it, without = (
            objective(model, asked(adversarial="fgsm", gradalign=weight))(x, labels, SEED, FULL)[
                0
            ].numpy()
            for weight in (1.0, 0.0)
        )
        assert (with_it - without > 1e-3) == is_penalised
        assert with_it - without == pytest.approx(0, abs=1e-5) or is_penalised


def test_gradalign_reaches_the_weights(network, batch):
    of = objective(network, asked(adversarial="fgsm", gradalign=1.0))
    without = objective(network, asked(adversarial="fgsm"))
    slopes = []
    for one in (of, without):
        with tf.GradientTape() as tape:
            loss, *_ = one(*batch, SEED, FULL)
        slopes.append(tape.gradient(loss, network.trainable_variables[0]).numpy())
    assert np.isfinite(slopes[0]).all()
    assert np.abs(slopes[0] - slopes[1]).max() > 1e-5


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_starts_drawn_in_a_graph_fill_the_ball(norm):
    """Uniform in d dimensions: the norm is distributed as u^(1/d), its mean is d / (d + 1)."""
    points = NORMS[norm].draw(SEED, tf.constant([4000, 3, 1]), 0.5)
    size = NORMS[norm].size(points).numpy() / 0.5
    assert points.shape == (4000, 3, 1)
    assert size.max() <= 1 + 1e-5
    assert size.mean() == pytest.approx(3 / 4, abs=0.02)
    assert np.mean(points, axis=0) == pytest.approx(np.zeros((3, 1)), abs=0.015)


def test_the_cyclic_rate_rises_for_two_fifths_and_falls_to_nothing():
    rate = learning_rate(TrainOptions(schedule="cyclic", learning_rate=0.01, epochs=2), steps=50)
    found = np.array([rate(step) for step in range(100)])
    assert found.argmax() in (39, 40)
    assert found.max() == pytest.approx(0.01)
    assert np.all(np.diff(found[:40]) > 0)
    assert np.all(np.diff(found[40:]) < 0)
    assert found[-1] < 0.001


# --- what comes of it -----------------------------------------------------------------------


def under_pgd(model, images):
    x, y = images.pixels(0, 300), images.labels[:300]
    x_adv = perturb(model, x, y, attack_named("pgd", epsilon=0.1, steps=10))
    return np.mean(np.argmax(model(x_adv), axis=1) == y)


def trained(images, checkpoint=None, progress=quiet, **options):
    options = asked(**{"hidden": [32], "batch_size": 128, "epochs": 4, **options})
    model = build_mlp(options.hidden, dropout=options.dropout, seed=options.seed)
    return model, train(model, images, options, progress, checkpoint)


@pytest.mark.parametrize(
    "options",
    [
        {"adversarial": "fgsm"},
        {"adversarial": "rfgsm", "gradalign": 0.2},
        {"adversarial": "pgd", "steps": 3, "mix": 0.5},
        {"adversarial": "pgd", "steps": 3, "trades_beta": 4},
        {"adversarial": "fgsm", "replays": 3},
    ],
    ids=str,
)
def test_every_way_of_adversarial_training_helps(options, some, images):
    shape = {"dropout": 0, "hidden": [64], "batch_size": 64, "epochs": 5}
    robust, epochs = trained(some, **shape, **options)
    plain, plain_epochs = trained(some, **shape)
    assert under_pgd(robust, images) > under_pgd(plain, images) + 0.2
    assert epochs[-1].probe.n == 500
    assert plain_epochs[-1].probe is None


def test_a_real_collapse_is_seen_and_the_best_weights_are_kept():
    """FGSM at 0.2 on a wide network: PGD accuracy rises, then falls while FGSM accuracy rises."""
    images = load_images("mnist", "train", limit=10_000)
    options = {
        "adversarial": "fgsm",
        "epsilon": 0.2,
        "hidden": [256, 256],
        "dropout": 0,
        "batch_size": 250,
        "learning_rate": 0.003,
        "schedule": "constant",
        "epochs": 12,
        "stop_on_collapse": True,
    }
    model, epochs = trained(images, **options)
    assert has_collapsed(epochs)
    assert not has_collapsed(epochs[:-1])
    assert len(epochs) < 12, "it stopped"
    probes = [epoch.probe for epoch in epochs]
    best = max(probe.pgd_correct for probe in probes)
    assert probes[-1].pgd_correct < best
    held_out = images.take(np.sort(np.random.default_rng(0).permutation(10_000)[:1000]))
    x, y = held_out.pixels(0, 500), held_out.labels[:500]
    x_adv = perturb(model, x, y, attack_named("pgd", epsilon=0.2, steps=20))
    assert np.sum(np.argmax(model(x_adv), axis=1) == y) == best


@pytest.mark.parametrize(
    ("found", "is_collapse"),
    [
        ([(80, 75)], False),
        ([(80, 49)], True),
        ([(60, 50), (60, 26)], True),
        ([(60, 50), (40, 24)], True),
        ([(60, 50), (50, 30)], False),
    ],
)
def test_a_collapse_is_a_wide_gap_or_a_deep_fall(found, is_collapse):
    epochs = [Epoch(1.0, 1, 1, 1, 1, Probe(100, fgsm, pgd)) for fgsm, pgd in found]
    assert has_collapsed(epochs) == is_collapse
    assert not has_collapsed([replace(epoch, probe=None) for epoch in epochs])
    assert not has_collapsed(epochs, warmup=len(epochs))


@pytest.mark.parametrize(
    ("found", "best"),
    [
        ([(60, 50), (70, 60), (80, 49)], 2),
        ([(60, 50), (60, 50), (80, 20)], 2),
        ([(60, 50), (90, 59), (70, 69)], 1),
        ([(60, 10), (60, 55)], None),
    ],
)
def test_the_best_epoch_is_one_before_any_collapse(found, best):
    epochs = [Epoch(1.0, 1, 1, 1, 1, Probe(100, fgsm, pgd)) for fgsm, pgd in found]
    assert best_epoch(epochs) == best
    assert best_epoch(epochs, warmup=len(epochs)) is None
    assert best_epoch([replace(epoch, probe=None) for epoch in epochs]) is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"adversarial": "rfgsm", "dropout": 0.5},
        {"adversarial": "fgsm", "replays": 2, "stop_on_collapse": True},
    ],
    ids=str,
)
def test_a_training_cut_short_goes_on_to_the_same_weights(options, some, tmp_path):
    def interrupted(_, done, total, __):
        if done > 0.6 * total:
            raise KeyboardInterrupt

    whole, epochs = trained(some, **options)
    place = tmp_path / "checkpoint.npz"
    with pytest.raises(KeyboardInterrupt):
        trained(some, place, interrupted, **options)
    resumed, again = trained(some, place, resume=True, **options)
    assert again == epochs
    for one, other in zip(resumed.weights, whole.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_the_checkpoint_of_another_training_is_refused(some, tmp_path):
    def interrupted(_, done, total, __):
        if done > 0.6 * total:
            raise KeyboardInterrupt

    place = tmp_path / "checkpoint.npz"
    with pytest.raises(KeyboardInterrupt):
        trained(some, place, interrupted)
    with pytest.raises(FgsmError, match="made with other options: learning_rate, seed"):
        trained(some, place, resume=True, seed=3, learning_rate=0.01)
    place.write_bytes(place.read_bytes()[:-100])
    with pytest.raises(FgsmError, match="damaged"):
        trained(some, place, resume=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mix": 0.5}, "--mix needs --adversarial"),
        ({"gradalign": 1}, "--gradalign needs --adversarial"),
        ({"adversarial": "fgsm", "trades_beta": 6}, "needs an attack with a random start"),
        ({"adversarial": "pgd", "replays": 4}, "free training, by --adversarial fgsm"),
        ({"adversarial": "fgsm", "replays": 4, "mix": 0.5}, "--mix has no effect with --replays"),
        (
            {"adversarial": "pgd", "trades_beta": 6, "mix": 0.5},
            "--mix has no effect with --trades-beta",
        ),
        ({"adversarial": "pgd", "noise": 0.1}, "--noise has no effect with --adversarial"),
        ({"stop_on_collapse": True}, "--stop-on-collapse needs --adversarial"),
        ({"adversarial": "fgsm", "epsilon": 25}, "grey levels are written 25/255"),
        ({"adversarial": "rfgsm", "steps": 4}, "--steps does not fit rfgsm: one step only"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, sentence):
    with pytest.raises(FgsmError, match=sentence):
        asked(**options)


def test_smoothing_nothing_is_plain_cross_entropy(batch):
    scores, y = tf.random.stateless_normal((40, 10), SEED), batch[1]
    np.testing.assert_allclose(fit_of(0.0)(scores, y), fit_of(1e-9)(scores, y), rtol=1e-5)
