"""Certificates: proved <= exact <= attack, image by image, and what is known by algebra."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgsm_cli import FgsmError, attack_named
from fgsm_cli.backend import keras, tf
from fgsm_cli.branching import Query, settle
from fgsm_cli.certification import Search, bracket, certifier_of
from fgsm_cli.certification.exact import program_of, settled
from fgsm_cli.config import TrainOptions, build
from fgsm_cli.data import load_images
from fgsm_cli.models import build_mlp, inspect
from fgsm_cli.relaxation import (
    BOUNDS,
    Region,
    intervals,
    least,
    margins,
    network_of,
    others_of,
    refined,
)
from fgsm_cli.relaxation.rounding import _errors
from fgsm_cli.training import train

L = keras.layers
rng = np.random.default_rng(0)


def quiet(*_):
    pass


def stacked(*layers, entry=(6, 6, 1), seed=0):
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input(entry), *layers])
    for weight in model.weights:  # biases, means and variances that are not 0 and 1
        values = np.asarray(weight)
        weight.assign(values + np.random.default_rng(seed).uniform(0.01, 0.3, values.shape))
    return inspect(model)


def residual():
    keras.utils.set_random_seed(1)
    entry = keras.Input((6, 6, 1))
    a = L.Conv2D(3, 3, padding="same", activation="relu")(entry)
    b = L.Conv2D(3, 3, padding="same")(a)
    c = keras.ops.relu((L.Add()([a, b]) + a) * 0.5)
    return inspect(keras.Model(entry, L.Dense(4)(L.Flatten()(L.AveragePooling2D(2)(c)))))


NETWORKS = {
    "mlp": lambda: stacked(L.Flatten(), L.Dense(9, "relu"), L.Dense(8, "relu"), L.Dense(4)),
    "softmax": lambda: stacked(
        L.Rescaling(2.0, -1.0), L.Flatten(), L.Dense(8), L.LeakyReLU(0.1), L.Dropout(0.5),
        L.Dense(4, "softmax"),
    ),
    "pooled": lambda: stacked(
        L.Conv2D(3, 3, activation="relu"), L.MaxPooling2D(2), L.Reshape((12,)),
        L.BatchNormalization(), L.Activation("relu"), L.Dense(4),
    ),
    "residual": residual,
    "binary": lambda: stacked(L.Flatten(), L.Dense(6, "relu"), L.Dense(1, "sigmoid")),
}  # fmt: skip


@pytest.fixture(scope="module", params=NETWORKS)
def network_and_images(request):
    classifier = NETWORKS[request.param]()
    x = rng.random((5, 6, 6, 1), dtype=np.float32)
    return classifier, network_of(classifier, (6, 6, 1)), x, np.argmax(classifier(x), axis=1)


def points_of_ball(x, norm, epsilon, n):
    """Points of each ball in the pixel range, many at its surface; n of each image."""
    moved = rng.standard_normal((n, *x.shape))
    axes = tuple(range(2, moved.ndim))
    if norm == "linf":
        moved = np.where(rng.random((n, 1, 1, 1, 1)) < 0.5, np.sign(moved), np.clip(moved, -1, 1))
    elif norm == "l2":
        moved /= np.sqrt((moved**2).sum(axis=axes, keepdims=True))
    else:
        moved = np.sign(moved) * np.abs(moved) ** 4
        moved /= np.abs(moved).sum(axis=axes, keepdims=True)
    return np.clip(x + epsilon * moved, 0, 1).astype(np.float32)


def least_margin(scores, y):
    own = scores[np.arange(len(y)), y]
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    return own - others.max(axis=1)


@pytest.mark.parametrize(("norm", "epsilon"), [("linf", 0.05), ("l2", 0.3), ("l1", 1.0)])
def test_no_point_of_the_ball_beats_a_bound(network_and_images, norm, epsilon):
    """Ten thousand points, asked in float32; and each method is at least as tight as the last."""
    classifier, _, x, y = network_and_images
    points = points_of_ball(x, norm, epsilon, 2000)
    scores = np.asarray(classifier(points.reshape(-1, 6, 6, 1)))
    lowest = least_margin(scores, np.tile(y, 2000)).reshape(2000, -1).min(axis=0)
    found = {}
    for name in BOUNDS if norm == "linf" else ("ibp", "crown"):
        certifier = certifier_of(classifier, (6, 6, 1), norm, name)
        sure, lost, _ = certifier.margins(x, y, tf.constant(epsilon, tf.float64))
        assert (lost.numpy() > 0).all()
        found[name] = sure.numpy().min(axis=1)
        assert (found[name] <= lowest).all()
    if norm == "linf":
        assert (found["ibp"] <= found["crown-ibp"] + 1e-6).all()
        assert (found["crown"] <= found["alpha-crown"] + 1e-4).mean() > 0.5


def test_every_value_lies_in_its_box(network_and_images):
    _, network, x, _ = network_and_images
    region = Region.around(tf.constant(x, tf.float64), 0.05, "linf")
    boxes = refined(network, region)
    loose = intervals(network, region.low, region.high)
    for (low, high), (lower, higher) in zip(boxes, loose, strict=True):
        assert (low >= lower - 1e-9).numpy().all()
        assert (high <= higher + 1e-9).numpy().all()
    for point in points_of_ball(x, "linf", 0.05, 50):
        scores = network(tf.constant(point, tf.float64))
        assert (scores >= boxes[-1][0]).numpy().all()
        assert (scores <= boxes[-1][1]).numpy().all()


def test_float32_stays_within_its_error_of_float64(network_and_images):
    _, network, x, _ = network_and_images
    region = Region.around(tf.constant(x, tf.float64), 0.0, "linf")
    errors, _ = _errors(network, intervals(network, region.low, region.high))
    exact = network(tf.constant(x, tf.float64)).numpy()
    rounded = network(tf.constant(x, tf.float32)).numpy().astype(np.float64)
    assert (np.abs(rounded - exact) <= errors[-1].numpy()).all()
    assert errors[-1].numpy().max() < 1e-3


def test_an_exact_search_is_between_bound_and_attack(network_and_images):
    """Proved <= exact <= any point, and where the search breaks an image its point does so."""
    classifier, network, x, y = network_and_images
    program = program_of(network)
    flat = x.reshape(5, -1).astype(np.float64)
    np.testing.assert_allclose(
        [program(one) for one in flat], network(tf.constant(x, tf.float64)), atol=1e-9
    )
    for epsilon in (0.02, 0.1):
        region = Region.around(tf.constant(x, tf.float64), epsilon, "linf")
        exact, boxes = BOUNDS["crown"](network, region, tf.constant(y))
        for i in range(3):
            found = settle(program, query_of(network, boxes, region, exact, y, i))
            if found.state == "robust":
                points = points_of_ball(x[i : i + 1], "linf", epsilon, 300)[:, 0]
                assert (np.argmax(classifier(points), axis=1) == y[i]).all()
            else:
                assert exact.numpy()[i].min() <= 0
                assert found.state == "broken"
                point = found.x.reshape(1, 6, 6, 1).astype(np.float32)
                assert np.argmax(classifier(point), axis=1)[0] != y[i]
                assert np.abs(point - x[i]).max() <= epsilon + 1e-6


def query_of(network, boxes, region, bounds, y, i, seconds=60.0):
    others = others_of(tf.constant(y), network.classes).numpy()[i]
    order = [k for k in np.argsort(bounds[i]) if bounds[i, k] <= 0]
    return Query(
        index=i,
        low=region.low.numpy()[i].reshape(-1),
        high=region.high.numpy()[i].reshape(-1),
        label=int(y[i]),
        others=tuple(int(others[k]) for k in order),
        bounds=tuple(float(bounds[i, k]) for k in order),
        slacks=(1e-6,) * len(order),
        boxes={
            k: tuple(end.numpy()[i].reshape(-1) for end in boxes[network.steps[k].inputs[0]])
            for k in network.rectifiers
        },
        seconds=seconds,
    )


@settings(max_examples=12)
@given(
    widths=st.lists(st.integers(1, 7), min_size=0, max_size=3),
    epsilon=st.sampled_from([0.0, 0.01, 0.1, 0.4]),
    seed=st.integers(0, 1000),
)
def test_proved_exact_and_attacked_never_cross(widths, epsilon, seed):
    """Random networks, widths, depths, epsilons and inputs; what a grid finds is no lower."""
    draw = np.random.default_rng(seed)
    model = build_mlp(widths, input_shape=(2,), classes=3, dropout=0, seed=seed)
    classifier = inspect(model)
    network = network_of(classifier, (2,))
    x = draw.random((2, 2), dtype=np.float32)
    y = np.argmax(classifier(x), axis=1)
    region = Region.around(tf.constant(x, tf.float64), epsilon, "linf")
    exact, boxes = BOUNDS["crown"](network, region, tf.constant(y))
    steps = np.linspace(-epsilon, epsilon, 41)
    grid = np.array(list(itertools.product(steps, steps)))
    program = program_of(network)
    for i in range(2):
        points = np.clip(x[i] + grid, 0, 1).astype(np.float32)
        lowest = least_margin(classifier(points).numpy(), np.full(len(points), y[i])).min()
        assert exact.numpy()[i].min() <= lowest + 1e-5
        found = settle(program, query_of(network, boxes, region, exact.numpy(), y, i))
        assert found.state == "robust" or lowest < 0.5
        if found.state == "robust":
            assert lowest > 0
        if lowest < -1e-3:
            assert found.state == "broken"


def test_a_linear_model_is_its_closed_form():
    classifier = stacked(L.Flatten(), L.Dense(4))
    network = network_of(classifier, (6, 6, 1))
    x = rng.random((5, 6, 6, 1)).astype(np.float32)
    y = np.argmax(classifier(x), axis=1)
    kernel, bias = (np.asarray(one, np.float64) for one in classifier.model.get_weights())
    others = others_of(tf.constant(y), 4).numpy()
    rows = kernel.T[y][:, None] - kernel.T[others]
    flat = x.reshape(5, 1, 36).astype(np.float64)
    clean = (rows * flat).sum(axis=-1) + bias[y][:, None] - bias[others]
    room = np.where(rows > 0, np.minimum(flat, 0.1), np.minimum(1 - flat, 0.1))
    region = Region.around(tf.constant(x, tf.float64), 0.1, "linf")
    for bound in BOUNDS.values():
        found = bound(network, region, tf.constant(y))[0]
        np.testing.assert_allclose(found, clean - (np.abs(rows) * room).sum(-1), atol=1e-5)


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_small_ball_within_the_range_falls_by_the_dual_norm(norm):
    """And a large one by what the pixel range leaves, never by more."""
    x = tf.constant(rng.uniform(0.4, 0.6, (3, 7)))
    rows = tf.constant(rng.normal(size=(3, 2, 7)))
    dual = np.linalg.norm(rows, axis=-1) if norm == "l2" else np.abs(rows).max(axis=-1)
    value = (rows.numpy() * x.numpy()[:, None]).sum(-1)
    np.testing.assert_allclose(
        Region.around(x, 0.2, norm).least(rows), value - 0.2 * dual, atol=1e-6
    )
    ends = np.where(rows.numpy() > 0, 0, 1)
    np.testing.assert_allclose(
        Region.around(x, 9.0, norm).least(rows), (rows.numpy() * ends).sum(-1), atol=1e-6
    )


def test_two_neurons_are_bounded_by_the_area_under_their_lines():
    """relu(a) + relu(-a) over a in [-1, 2]: intervals give [0, 3], the truth is [0, 2]."""
    model = keras.Sequential(
        [keras.Input((1,)), L.Rescaling(3.0, -1.0), L.Dense(2, "relu"), L.Dense(2)]
    )
    model.layers[1].set_weights([np.array([[1.0, -1.0]]), np.zeros(2)])
    model.layers[2].set_weights([np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([2.5, 0.0])])
    network = network_of(inspect(model), (1,))
    region = Region.around(tf.constant([[0.5]], tf.float64), 0.5, "linf")
    found = {
        name: bound(network, region, tf.constant([0]))[0].numpy().item()
        for name, bound in BOUNDS.items()
    }
    assert found["ibp"] == pytest.approx(-0.5, abs=1e-6)
    # The chords 2/3 a + 2/3 and 2/3 - a/3 add up to 2 at a = 2.
    assert found["crown"] == pytest.approx(0.5, abs=1e-6) == found["alpha-crown"]


@pytest.fixture(scope="module")
def small(images):
    return images.take(np.arange(120))


def known(classifier, images, epsilons, bounds="crown", search=None):
    return bracket(
        classifier,
        images,
        [(attack_named("pgd", epsilon=epsilon, steps=10),) for epsilon in epsilons],
        certifier_of(classifier, images.shape, "linf", bounds),
        search=search,
        batch_size=50,
        seed=0,
        progress=quiet,
    )


def test_the_bracket_holds_its_laws(classifier, small):
    epsilons = [0.0, 0.01, 0.02, 0.05]
    right, found, _ = known(classifier, small, epsilons)
    np.testing.assert_array_equal(found[0].robust, right)  # a ball of one point
    for one in found:
        assert not np.any(one.robust & one.broken)
        assert not np.any((one.robust | one.broken) & ~right)
        for i in np.flatnonzero(one.broken):
            x_adv = one.x_adv[i]
            assert np.argmax(classifier(x_adv[None])) != small.labels[i]
            assert np.abs(x_adv - small.pixels()[i]).max() <= one.epsilon + 1e-6
    for before, after in itertools.pairwise(found):
        assert not np.any(after.robust & ~before.robust)
        assert not np.any(before.broken & ~after.broken)
    assert found[1].robust.sum() > 60
    assert found[3].broken.sum() > 10


def test_an_attack_never_turns_what_is_proved(classifier, images):
    from fgsm_cli.evaluation import judge

    certifier = certifier_of(classifier, images.shape, "linf", "crown")
    for epsilon in (0.01, 0.03):
        proved = certifier.least(images, epsilon, 500) > 0
        contest = [(attack_named("pgd", epsilon=epsilon, restarts=2, loss="margin"),)]
        still = judge(classifier, images, contest, batch_size=500, seed=1, progress=quiet).still[0]
        assert proved.sum() > 100
        assert not np.any(proved & ~still)


def test_a_search_settles_what_bounds_leave_open(classifier, small):
    few = small.take(np.arange(60))
    _, [before], _ = known(classifier, few, [0.015])
    right, [after], _ = known(classifier, few, [0.015], search=Search(60, 2))
    assert after.searched == np.sum(right & ~before.robust & ~before.broken) > 0
    assert after.settled == after.searched
    assert not np.any(before.robust & ~after.robust)
    np.testing.assert_array_equal(after.robust | after.broken, right)


def test_the_searching_processes_load_no_tensorflow():
    code = "import sys, fgsm_cli.branching; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_search_without_time_keeps_its_bound(network_and_images):
    _, network, x, y = network_and_images
    region = Region.around(tf.constant(x, tf.float64), 0.3, "linf")
    exact, boxes = BOUNDS["ibp"](network, region, tf.constant(y))
    query = query_of(network, boxes, region, exact.numpy(), y, 0, seconds=1e-9)
    [found] = settled(program_of(network), [query], 1)
    assert found.state == "undecided"
    assert found.lowest == pytest.approx(exact.numpy()[0].min())


class Identity(keras.layers.Layer):
    """A namesake that cuts off what is large."""

    def call(self, x):
        return keras.ops.clip(x, -8.0, 8.0)


def relu(x):
    """Another."""
    return keras.ops.minimum(keras.ops.relu(x), 1e12)


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        (L.Activation("tanh"), r"activation \(Activation\), whose activation tanh"),
        (L.Dense(4, activation="gelu"), r"\(Dense\), whose activation gelu"),
        (L.ReLU(max_value=6.0), r"\(ReLU\), whose activation"),
        (L.LayerNormalization(), r"\(LayerNormalization\), neither"),
        (L.Softmax(), r"\(Softmax\), a softmax"),
        # What no probe of numbers would find: a cap beyond them, somebody's own layer or function.
        (L.ReLU(max_value=1e12), r"\(ReLU\), whose activation"),
        (L.ReLU(threshold=1e-6), r"\(ReLU\), whose activation"),
        (Identity(), r"\(Identity\), which is not one of Keras's own"),
        (L.Dense(4, activation=relu), r"\(Dense\), whose activation relu"),
    ],
    ids=str,
)
def test_what_cannot_be_bounded_is_refused_by_name(layer, sentence):
    classifier = inspect(keras.Sequential([keras.Input((4,)), layer, L.Dense(3)]))
    with pytest.raises(FgsmError, match=sentence):
        network_of(classifier, (4,))


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "lanczos3"])
def test_pictures_that_are_interpolated_have_no_bounds(interpolation):
    grown = L.UpSampling2D(2, interpolation=interpolation)
    layers = [keras.Input((4, 4, 1)), grown, L.Flatten(), L.Dense(3)]
    with pytest.raises(FgsmError, match=f"which interpolates \\({interpolation}\\)"):
        network_of(inspect(keras.Sequential(layers)), (4, 4, 1))


class Capped(keras.Model):
    """Layers that can be walked, and a call that does more than they do."""

    def call(self, *args, **kwargs):
        return keras.ops.minimum(super().call(*args, **kwargs), 1e12)


@pytest.mark.parametrize("is_inner", [False, True])
def test_a_model_with_a_call_of_its_own_is_refused(is_inner):
    x = keras.Input((4,))
    model = Capped(x, L.Dense(3)(x), name="capped")
    if is_inner:
        outer = keras.Input((4,))
        model = keras.Model(outer, L.Dense(3)(model(outer)))
    with pytest.raises(FgsmError, match=r"capped \(Capped\), whose layers are hidden in its code"):
        network_of(inspect(model), (4,))


def test_a_model_within_that_takes_two_inputs_is_refused():
    one, two = keras.Input((4,)), keras.Input((4,))
    inner = keras.Model([one, two], L.Add()([one, two]), name="inner")
    x = keras.Input((4,))
    whole = keras.Model(x, L.Dense(3)(inner([x, L.Dense(4)(x)])))
    with pytest.raises(FgsmError, match=r"inner \(Functional\), which takes several inputs"):
        network_of(inspect(whole), (4,))


def test_margins_hold_every_other_class_once():
    y = tf.constant([2, 0])
    assert others_of(y, 3).numpy().tolist() == [[0, 1], [1, 2]]
    scores = tf.constant([[1.0, 2.0, 5.0], [4.0, 1.0, 3.0]], tf.float64)
    network = network_of(stacked(L.Dense(3), entry=(3,)), (3,))
    found = least(
        network,
        None,
        margins(network, y, tf.float64),
        [(scores, scores)] * (len(network.steps) + 1),
        at=0,
    )
    assert found.numpy().tolist() == [[4.0, 3.0], [3.0, 1.0]]


def test_the_command_prints_and_keeps_the_bracket(fgsm, model_file, tmp_path):
    arguments = ("certify", model_file, "-n", "60", "-e", "0.02", "-e", "0.01", "-f", "json")
    done = fgsm(*arguments, "--output", "out", "--fail-under", "0.99")
    assert done.returncode == 1
    assert "Gate failed: certified accuracy" in done.stderr
    document = json.loads(done.stdout)
    assert [one["epsilon"] for one in document["results"]] == [0.01, 0.02]
    for one in document["results"]:
        counted = one["proved"] + one["broken"] + one["undecided"] + one["clean_mistakes"]
        assert counted == one["n"] == 60
        assert one["certified_accuracy"] <= one["adversarial_accuracy"]
        low, high = one["robust_interval"]
        assert low < one["certified_accuracy"] <= one["adversarial_accuracy"] < high
    with np.load(tmp_path / "out/certificates.npz") as kept:
        assert kept["robust"].sum(axis=1).tolist() == [one["proved"] for one in document["results"]]
    assert "undecided" in (tmp_path / "out/certify.svg").read_text()
    broken = document["results"][1]["broken"]
    again = json.loads(
        fgsm("eval", model_file, "--examples", "out/broken-0.02.npz", "-f", "json").stdout
    )
    assert (again["n"], again["results"][0]["adversarial_correct"]) == (broken, 0)
    table = fgsm("run", "out/config.yaml").stdout
    assert "at least" in table
    assert json.loads(fgsm("verify", "out", "-f", "json").stdout)["agrees"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--exact", "--norm", "l2"), "--exact searches boxes"),
        (("--jobs", "2"), "--jobs needs --exact"),
        (("--plot", "a.txt"), "--plot must name"),
        (("--exact", "--time-limit", "soon"), "--time-limit must be a number, above 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(fgsm, flags, sentence):
    done = fgsm("certify", *flags)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_eval_and_curve_tell_what_is_proved(fgsm, model_file):
    both = ("-n", "60", "--certify", "-f", "json")
    judged = json.loads(fgsm("eval", model_file, "-e", "0.01", "-e", "0.03", *both).stdout)
    traced = json.loads(
        fgsm("curve", model_file, "--epsilon-max", "0.03", "--points", "4", *both).stdout
    )
    for one in (*judged["results"], *traced["points"]):
        assert 0 < one["certified_correct"] <= one["adversarial_correct"]
    assert traced["points"][0]["certified_correct"] == traced["clean_correct"]
    assert traced["points"][1]["certified_correct"] == judged["results"][0]["certified_correct"]
    table = fgsm("eval", model_file, "-e", "0.01", "-n", "60", "--certify").stdout
    assert "proved" in table
    assert "proved" not in fgsm("eval", model_file, "-e", "0.01", "-n", "60").stdout


@pytest.mark.parametrize("method", ["ibp", "crown-ibp"])
def test_training_on_bounds_gives_a_guarantee(method, classifier, images):
    """A network trained so is proved where the plain one, as good, is not."""
    options = build(
        TrainOptions,
        {"certified": method, "epsilon": 0.1, "warmup": 3, "mix": 0.5, "epochs": 5, "dropout": 0},
    )
    model = build_mlp((64,), dropout=0)
    learned = load_images("mnist", "train", limit=8000)
    train(model, learned, options, quiet)
    few = images.take(np.arange(300))
    guarded = certifier_of(inspect(model), images.shape, "linf", "ibp").least(few, 0.1, 300)
    plain = certifier_of(classifier, images.shape, "linf", "crown").least(few, 0.1, 300)
    assert (plain > 0).mean() < 0.05
    assert (guarded > 0).mean() > 0.25


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"certified": "ibp", "adversarial": "fgsm"}, "--adversarial has no effect with --cert"),
        ({"certified": "ibp", "gradalign": 1}, "--gradalign has no effect with --certified"),
        ({"certified": "crown-ibp"}, "--certified crown-ibp needs --warmup"),
        ({"certified": "ibp", "warmup": 7}, "--warmup must be at most --epochs, 6"),
    ],
)
def test_certified_training_makes_no_examples(options, sentence):
    with pytest.raises(FgsmError, match=sentence):
        build(TrainOptions, options)
