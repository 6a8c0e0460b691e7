"""The evaluator: counts by hand, and a wrong number cannot hide."""

import numpy as np
import pytest
import tensorflow as tf

from fgsm_cli import FgsmError, attack_named, perturb
from fgsm_cli import evaluation as module
from fgsm_cli.backend import keras
from fgsm_cli.data import ImageSet
from fgsm_cli.evaluation import judge, judge_examples
from fgsm_cli.examples import Examples
from fgsm_cli.family import ROWS
from fgsm_cli.models import Classifier, inspect


def judged(classifier, images, *attacks, batch_size=400, keep=None):
    return judge(
        classifier, images, attacks, batch_size=batch_size, progress=lambda *_: None, keep=keep
    )


def predictions(classifier, x):
    return np.argmax(classifier(x), axis=1)


@pytest.mark.parametrize("name", ROWS)
def test_counts_are_those_of_a_plain_calculation(name, classifier, images):
    attack = attack_named(name, epsilon=0.08)
    x, y = images.pixels(), images.labels
    right = predictions(classifier, x) == y
    still = predictions(classifier, perturb(classifier, x, y, attack)) == y
    clean_correct, (result,), warnings = judged(classifier, images, attack, batch_size=1000)
    assert clean_correct == result.clean_correct == right.sum()
    assert result.adversarial_correct == still.sum()
    assert result.flipped == (right & ~still).sum()
    assert result.success_rate == (right & ~still).sum() / right.sum()
    assert result.linf_max == pytest.approx(0.08, abs=1e-6)
    assert result.zero_gradients == 0
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
    clean_correct, results, _ = judged(
        classifier, images, *(attack_named(name, epsilon=0) for name in ROWS)
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
    original = module.get_grads
    monkeypatch.setattr(module, "get_grads", lambda *a, **k: taken.append(1) or original(*a, **k))
    together = judged(classifier, images, *(attack_named(epsilon=epsilon) for epsilon in epsilons))[
        1
    ]
    assert list(together) == alone
    assert len(taken) <= 2, "traced once for full batches and once for the short last one"


def test_what_is_kept_is_what_was_judged(classifier, images):
    kept = np.zeros(images.images.shape, np.float32)

    def keep(_, start, x_adv):
        kept[start : start + len(x_adv)] = x_adv

    attack = attack_named(epsilon=0.1)
    _, (result,), _ = judged(classifier, images, attack, keep=keep)
    assert np.sum(predictions(classifier, kept) == images.labels) == result.adversarial_correct
    assert np.abs(kept.astype(np.float64) - images.pixels()).max() == result.linf_max


def test_an_attack_that_cheats_is_an_error(classifier, images, monkeypatch):
    cheats = {
        "moved a pixel by": lambda x, *_: tf.clip_by_value(x + 0.2, 0, 1),
        "left the pixel range": lambda x, *_: x + 0.1,
    }
    for sentence, cheat in cheats.items():
        monkeypatch.setattr(module, "mover", lambda norm, cheat=cheat: cheat)
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

    monkeypatch.setattr(module, "mover", lambda norm: spoil)
    _, (result,), _ = judged(classifier, few, attack_named(), batch_size=40)
    right = predictions(classifier, few.pixels()) == few.labels
    assert result.adversarial_correct == right[:-3].sum()
    assert "3 of 40 images came out as no numbers" in result.warnings[0]


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
    assert judged(classifier, images, attack_named())[1][0].zero_gradients == 0
    _, (result,), warnings = judged(dead, images, attack_named())
    assert result.zero_gradients == 1
    assert any("1 of 3 images have a zero gradient" in warning for warning in warnings)


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
    wrong = ImageSet("made", "test", images.images[:5], (images.labels[:5] + 1) % 10, 10)
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


# --- saved sets -----------------------------------------------------------------------------


def examples(images, x_adv, **changes):
    values = {"clean": images.images, "epsilon": 0.1, "attack": attack_named(), "data": ""}
    return Examples(images=x_adv, labels=images.labels, **{**values, **changes})


def scored(classifier, saved):
    return judge_examples(classifier, saved, batch_size=300, progress=lambda *_: None)


def test_a_saved_set_scores_as_the_attack_did(classifier, images):
    x_adv = perturb(classifier, images.pixels(), images.labels, attack_named()).numpy()
    clean_correct, (attacked,), _ = judged(classifier, images, attack_named(), batch_size=1000)
    again, result = scored(classifier, examples(images, x_adv))
    assert again == clean_correct
    assert result.adversarial_correct == attacked.adversarial_correct
    assert result.flipped == attacked.flipped
    assert result.linf_max == attacked.linf_max
    assert result.warnings == ()


def test_without_clean_images_nothing_is_invented(classifier, images):
    clean_correct, result = scored(classifier, examples(images, images.pixels(), clean=None))
    assert clean_correct is result.flipped is result.linf_max is result.success_rate is None
    assert any("clean images are not at hand" in warning for warning in result.warnings)


def test_a_set_that_moved_farther_than_it_says_is_pointed_out(classifier, images):
    x_adv = np.clip(images.pixels() + 0.3, 0, 1).astype(np.float32)
    _, result = scored(classifier, examples(images, x_adv))
    assert result.linf_max == pytest.approx(0.3, abs=1e-6)
    assert "a pixel moved by 0.3, more than the set's own epsilon 0.1" in result.warnings[0]


def test_a_set_that_rounded_back_to_clean_is_pointed_out(classifier, images):
    _, result = scored(classifier, examples(images, images.images, epsilon=0.001))
    assert "1,000 of 1,000 images equal their clean image" in result.warnings
