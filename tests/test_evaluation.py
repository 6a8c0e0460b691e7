"""The evaluator: counts by hand, and a wrong number cannot hide."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import FgsmError, attack_named, perturb
from fgsm_cli.backend import keras
from fgsm_cli.data import ImageSet
from fgsm_cli.evaluation import judge, judge_examples, measure, trying
from fgsm_cli.examples import Examples
from fgsm_cli.family import ROWS
from fgsm_cli.models import Classifier, build_mlp, inspect
from fgsm_cli.results import GradientHealth, Worst


def judged(classifier, images, *contests, batch_size=400, seed=0, keep=None):
    """The clean count, the results and the warnings; a lone attack is a contest of one."""
    contests = [one if isinstance(one, tuple) else (one,) for one in contests]
    found = judge(
        classifier,
        images,
        contests,
        batch_size=batch_size,
        seed=seed,
        progress=lambda *_: None,
        keep=keep,
    )
    assert [row.sum() for row in found.still] == [one.adversarial_correct for one in found.results]
    return found.right.sum(), found.results, found.warnings


def predictions(classifier, x):
    return np.argmax(classifier(x), axis=1)


@pytest.mark.parametrize("name", ROWS)
def test_counts_are_those_of_a_plain_calculation(name, classifier, images):
    attack = attack_named(
        name, norm="linf", epsilon=0.08, steps=5 if ROWS[name].steps > 1 else None
    )
    x, y = images.pixels(), images.labels
    right = predictions(classifier, x) == y
    still = predictions(classifier, perturb(classifier, x, y, attack)) == y
    clean_correct, (result,), warnings = judged(classifier, images, attack, batch_size=1000)
    assert clean_correct == result.clean_correct == right.sum()
    assert result.adversarial_correct == still.sum()
    assert result.flipped == (right & ~still).sum()
    assert result.success_rate == (right & ~still).sum() / right.sum()
    assert result.linf_max == pytest.approx(0.08, abs=1e-6)
    shares = tf.nn.softmax(classifier(perturb(classifier, x, y, attack))).numpy()[~still]
    assert result.error_confidence == pytest.approx(shares.max(axis=1).mean(), abs=1e-5)
    # The ratio of logits is constant, and its gradient zero, where the label comes third.
    assert result.gradients.zero <= (0 if attack.loss != "dlr" else 1000 - right.sum())
    assert result.gradients.not_finite == result.gradients.partly_zero == 0
    assert warnings == ()


@pytest.mark.parametrize("batch_size", [1, 7, 13, 64])
def test_counts_do_not_depend_on_the_batch(batch_size, classifier, images):
    few = images.take(np.arange(50))
    attacks = [attack_named("fgsm"), attack_named("bim", steps=3)]
    whole, parts = (judged(classifier, few, *attacks, batch_size=size) for size in (50, batch_size))
    assert [result.adversarial_correct for result in whole[1]] == [
        result.adversarial_correct for result in parts[1]
    ]
    assert whole[0] == parts[0]


def test_epsilon_zero_leaves_every_answer(classifier, images):
    few = images.take(np.arange(100))
    clean_correct, results, _ = judged(
        classifier,
        few,
        *(
            attack_named(name, epsilon=0, steps=3 if ROWS[name].steps > 1 else None)
            for name in ROWS
        ),
    )
    for result in results:
        assert result.adversarial_correct == clean_correct
        assert (result.flipped, result.linf_max) == (0, 0)


def test_a_sweep_takes_one_gradient_and_the_same_numbers(classifier, images, monkeypatch):
    epsilons = [0.0, 0.05, 0.1, 0.2, 0.3]
    alone = [
        judged(classifier, images, attack_named(epsilon=epsilon))[1][0] for epsilon in epsilons
    ]
    taken = []
    original = measure.get_grads
    monkeypatch.setattr(measure, "get_grads", lambda *a, **k: taken.append(1) or original(*a, **k))
    together = judged(classifier, images, *(attack_named(epsilon=epsilon) for epsilon in epsilons))[
        1
    ]
    assert list(together) == alone
    assert len(taken) <= 2, "traced once for full batches and once for the short last one"


def test_what_is_kept_is_what_was_judged(classifier, images):
    kept = np.zeros(images.images.shape, np.float32)

    def keep(_, indices, x_adv):
        kept[indices] = x_adv

    attack = attack_named(epsilon=0.1)
    _, (result,), _ = judged(classifier, images, attack, keep=keep)
    assert np.sum(predictions(classifier, kept) == images.labels) == result.adversarial_correct
    assert np.abs(kept.astype(np.float64) - images.pixels()).max() == result.linf_max


def test_an_attack_that_cheats_is_an_error(classifier, images, monkeypatch):
    cheats = {
        "moved an image by": lambda x, *_: tf.clip_by_value(x + 0.2, 0, 1),
        "left the pixel range": lambda x, *_: x + 0.05,
    }
    for sentence, cheat in cheats.items():
        monkeypatch.setattr(trying, "mover", lambda *_, cheat=cheat: cheat)
        with pytest.raises(FgsmError, match=sentence):
            judged(classifier, images, attack_named(epsilon=0.1))


class Broken(keras.layers.Layer):
    """Logits that are not finite wherever the first pixel is above one half."""

    def call(self, x):
        flat = tf.reshape(x, (-1, 4))
        scores = tf.stack([flat[:, 0], flat[:, 1]], axis=1)
        return tf.where(flat[:, :1] > 0.5, float("nan"), scores)


def test_logits_that_are_not_finite_are_never_right():
    x = np.array([[0.9, 0.1, 0, 0], [0.1, 0.3, 0, 0], [0.2, 0.4, 0, 0]], np.float32)
    images = ImageSet("made", "test", x, np.array([0, 1, 1]), 2)
    model = keras.Sequential([keras.Input((4,)), Broken()])
    classifier = Classifier(model, "logits", 2, (4,))
    clean_correct, (result,), warnings = judged(classifier, images, attack_named(epsilon=0))
    assert clean_correct == result.adversarial_correct == 2
    assert "1 of 3 images have logits that are not finite; they are counted as wrong" in warnings


def test_images_that_are_no_numbers_are_never_right(classifier, images, monkeypatch):
    few = images.take(np.arange(40))

    def spoil(x, *_):
        return tf.concat([x[:-3], x[-3:] * float("nan")], axis=0)

    monkeypatch.setattr(trying, "mover", lambda *_: spoil)
    _, (result,), _ = judged(classifier, few, attack_named(), batch_size=40)
    right = predictions(classifier, few.pixels()) == few.labels
    assert result.adversarial_correct == right[:-3].sum()
    assert "3 of 40 images came out as no numbers" in result.warnings[0]


def test_without_labels_the_answers_stand_in_and_no_accuracy_is_invented(classifier, images):
    unlabelled = replace(images, labels=None)
    answers = predictions(classifier, images.pixels())
    attack = attack_named(epsilon=0.05)
    found = judge(
        classifier,
        unlabelled,
        [(attack,)],
        batch_size=300,
        seed=0,
        progress=lambda *_: None,
    )
    [result] = found.results
    x_adv = perturb(classifier, images.pixels(), answers, attack)
    changed = np.sum(predictions(classifier, x_adv) != answers)
    assert result.changed == changed > 100
    assert result.attack.labels == "predicted"
    unknown = (found.clean_correct, result.clean_correct, result.adversarial_correct)
    assert {*unknown, result.flipped, result.success_rate, result.adversarial_accuracy} == {None}
    assert "have no labels" in found.warnings[0]


def test_changed_answers_are_counted_whether_right_or_wrong(classifier, images):
    attack = attack_named(epsilon=0.05, labels="predicted")
    _, (result,), _ = judged(classifier, images, attack)
    answers = predictions(classifier, images.pixels())
    x_adv = perturb(classifier, images.pixels(), images.labels, attack)
    assert result.changed == np.sum(predictions(classifier, x_adv) != answers)
    assert result.changed >= result.flipped


def constant_where_bright(x):
    """A classifier whose logits stop depending on an image with a bright first pixel."""
    flat = tf.reshape(x, (-1, 4))
    return tf.where(flat[:, :1] > 0.5, tf.constant([[1.0, 0.0]]), flat[:, :2])


def test_vanished_gradients_are_counted_and_told():
    x = np.array([[0.9, 0.1, 0, 0], [0.1, 0.3, 0, 0], [0.2, 0.4, 0, 0]], np.float32)
    images = ImageSet("made", "test", x, np.array([0, 1, 1]), 2)
    classifier = inspect(
        keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, use_bias=False)])
    )
    dead = Classifier(constant_where_bright, "logits", 2, (4,))
    assert judged(classifier, images, attack_named())[1][0].gradients.zero == 0
    _, (result,), _ = judged(dead, images, attack_named())
    assert result.gradients.zero == 1
    assert any("1 of 3 images have a zero gradient" in warning for warning in result.warnings)


def test_a_model_without_gradient_is_refused_not_called_robust(images):
    model = keras.Sequential(
        [keras.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(10)]
    )
    rounded = Classifier(lambda x: model(tf.round(x)), "logits", 10, (28, 28))
    with pytest.raises(FgsmError, match="does not depend differentiably on its input"):
        judged(rounded, images, attack_named())


def test_an_epsilon_in_grey_levels_is_pointed_out(classifier, images):
    _, (result,), _ = judged(classifier, images, attack_named(epsilon=8))
    assert result.warnings == (
        "epsilon 8 is wider than the pixel range 0..1; a value counted in grey levels is written 8/255",
    )


def test_an_epsilon_that_float32_loses_is_pointed_out(classifier, images):
    _, (result,), _ = judged(classifier, images.take(np.arange(10)), attack_named(epsilon=1e-46))
    assert result.warnings == ("10 of 10 images came out unchanged although they have a gradient",)


def test_no_right_answer_is_no_success_rate(images):
    wrong = replace(images.take(np.arange(5)), labels=(images.labels[:5] + 1) % 10)
    sure = inspect(network_that_knows(images))
    _, (result,), _ = judged(sure, wrong, attack_named(epsilon=0))
    assert result.clean_correct == 0
    assert result.success_rate is None


def network_that_knows(images):
    """A linear model fitted exactly to five images."""
    x = images.pixels(0, 5).reshape(5, -1)
    weights = np.linalg.lstsq(x, np.eye(10, dtype=np.float32)[images.labels[:5]], rcond=None)[0]
    model = keras.Sequential(
        [keras.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(10)]
    )
    model.set_weights([weights, np.zeros(10, np.float32)])
    return model


def test_no_finite_gradient_at_all_is_refused_not_a_perfect_attack(images):
    model = keras.Sequential(
        [keras.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(10)]
    )
    broken = Classifier(lambda x: model(tf.sqrt(x * 0.0)), "logits", 10, (28, 28))
    with pytest.raises(FgsmError, match="no image has a finite gradient of the loss ce"):
        judged(broken, images.take(np.arange(20)), attack_named())


# --- contests, targets, labels --------------------------------------------------------------


def test_the_worst_of_several_is_the_worst_image_by_image(classifier, images):
    few = images.take(np.arange(300))
    attacks = (attack_named("fgsm"), attack_named("margin-fgsm"), attack_named("bim", steps=5))
    x, y = few.pixels(), few.labels
    stands = [predictions(classifier, perturb(classifier, x, y, one)) == y for one in attacks]
    _, (worst,), _ = judged(classifier, few, attacks, batch_size=300)
    assert worst.attack == Worst(attacks)
    assert worst.adversarial_correct == pytest.approx(np.all(stands, axis=0).sum(), abs=1)
    assert worst.adversarial_correct <= min(one.sum() for one in stands)
    assert worst.as_dict()["attack"]["name"] == "worst"
    assert [one["name"] for one in worst.as_dict()["attack"]["attacks"]] == [
        "fgsm",
        "margin-fgsm",
        "bim",
    ]


def test_what_is_turned_already_is_not_attacked_again(classifier, images, monkeypatch):
    met = []
    original = trying.craft

    def spy(model, x, *arguments):
        met.append(len(x))
        return original(model, x, *arguments)

    monkeypatch.setattr(trying, "craft", spy)
    attack = attack_named("pgd", steps=5, epsilon=0.05, restarts=3)
    _, (result,), _ = judged(classifier, images, attack, batch_size=1000)
    assert met[0] == 1000
    assert 1000 > met[1] >= met[2] >= result.adversarial_correct
    assert result.attack.restarts == 3


@pytest.mark.parametrize("batch_size", [7, 64])
def test_restarts_do_not_depend_on_the_batch(batch_size, classifier, images):
    few = images.take(np.arange(60))
    attack = attack_named("pgd", steps=3, epsilon=0.05, restarts=3)
    whole, parts = (
        judged(classifier, few, attack, batch_size=size)[1][0] for size in (60, batch_size)
    )
    assert whole.adversarial_correct == parts.adversarial_correct


def test_what_is_kept_of_restarts_is_what_counts(classifier, images):
    few = images.take(np.arange(200))
    kept = np.full(few.images.shape, np.nan, np.float32)

    def keep(_, indices, x_adv):
        kept[indices] = x_adv

    attack = attack_named("pgd", steps=5, epsilon=0.05, restarts=3)
    _, (result,), _ = judged(classifier, few, attack, keep=keep)
    assert np.sum(predictions(classifier, kept) == few.labels) == result.adversarial_correct


def test_targets_are_counted_over_the_images_that_have_another_label(classifier, images):
    _, (result,), _ = judged(classifier, images, attack_named("bim", target=3, epsilon=0.2))
    threes = np.sum(images.labels == 3)
    assert result.target_is_label == threes
    assert 0.5 < result.target_rate == result.target_hits / (1000 - threes) <= 1
    assert f"{threes} of 1,000 images have their own label as target" in result.warnings[0]


def test_an_image_whose_target_is_its_label_is_left_alone(classifier, images):
    """Aimed at their own labels, images would only become easier: accuracy must not rise."""
    threes = images.take(np.flatnonzero(images.labels == 3))
    clean_correct, (result,), _ = judged(classifier, threes, attack_named("bim", target=3))
    assert result.adversarial_correct == clean_correct
    assert result.linf_max == 0
    assert result.target_rate is None


def test_predicted_labels_are_weaker_than_true_ones(classifier, images):
    true, predicted = judged(classifier, images, attack_named(), attack_named(labels="predicted"))[
        1
    ]
    assert predicted.adversarial_correct > true.adversarial_correct


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_the_budget_is_measured_in_the_norm_of_the_attack(norm, classifier, images):
    attack = attack_named("bim", norm=norm, epsilon=1.0)
    _, (result,), _ = judged(classifier, images.take(np.arange(50)), attack)
    assert 0.5 < result.distance_max <= 1 + 1e-6


def test_partly_zero_gradients_are_counted(images):
    """A network that never looks at the left half of an image."""
    model = build_mlp((8,), dropout=0)
    mask = (np.arange(28) >= 14).astype(np.float32)
    half = Classifier(lambda x: model(x * mask), "logits", 10, (28, 28))
    few = images.take(np.arange(20))
    _, (result,), _ = judged(half, few, attack_named())
    assert result.gradients == GradientHealth(0, 20, 0, 0)


# --- saved sets -----------------------------------------------------------------------------


def examples(images, x_adv, **changes):
    values = {
        "clean": images.images,
        "clean_range": images.range,
        "epsilon": 0.1,
        "attack": attack_named(),
    }
    return Examples(images=x_adv, labels=images.labels, **{**values, **changes})


def scored(classifier, saved):
    return judge_examples(classifier, saved, batch_size=300, progress=lambda *_: None)


def test_a_saved_set_scores_as_the_attack_did(classifier, images):
    x_adv = perturb(classifier, images.pixels(), images.labels, attack_named()).numpy()
    clean_correct, (attacked,), _ = judged(classifier, images, attack_named(), batch_size=1000)
    result = scored(classifier, examples(images, x_adv))
    assert result.clean_correct == clean_correct
    assert result.adversarial_correct == attacked.adversarial_correct
    assert result.flipped == attacked.flipped
    assert result.linf_max == attacked.linf_max
    assert result.warnings == ()


def test_without_clean_images_nothing_is_invented(classifier, images):
    result = scored(classifier, examples(images, images.pixels(), clean=None))
    assert result.clean_correct is result.flipped is result.linf_max is result.success_rate is None
    assert any("clean images are not at hand" in warning for warning in result.warnings)


def test_a_set_that_moved_farther_than_it_says_is_pointed_out(classifier, images):
    x_adv = np.clip(images.pixels() + 0.3, 0, 1).astype(np.float32)
    result = scored(classifier, examples(images, x_adv))
    assert result.linf_max == pytest.approx(0.3, abs=1e-6)
    assert "an image moved by 0.3, more than the set's own epsilon 0.1" in result.warnings[0]


def test_a_set_that_rounded_back_to_clean_is_pointed_out(classifier, images):
    result = scored(classifier, examples(images, images.images, epsilon=0.001))
    assert "1,000 of 1,000 images equal their clean image" in result.warnings
