"""Training: it learns, it repeats itself, and it never trains on what it is judged by."""

import numpy as np
import pytest

from fgsm_cli import FgsmError
from fgsm_cli.config import TrainOptions
from fgsm_cli.data import load_images
from fgsm_cli.models import build_mlp
from fgsm_cli.training import count_correct, split_indices, train


def quiet(*_):
    pass


@pytest.fixture(scope="module")
def some():
    return load_images("mnist", "train", limit=6000)


def trained(images, **changes):
    options = TrainOptions(**{"epochs": 2, "hidden": (32,), **changes})
    model = build_mlp(options.hidden, dropout=options.dropout, head=options.head, seed=options.seed)
    return model, train(model, images, options, quiet)


def bits(model):
    return [weight.numpy().tobytes() for weight in model.weights]


def test_the_default_recipe_reaches_its_accuracy():
    options = TrainOptions()
    model = build_mlp(options.hidden, dropout=options.dropout, seed=options.seed)
    epochs = train(model, load_images("mnist", "train"), options, quiet)
    assert len(epochs) == options.epochs
    assert count_correct(model, load_images("mnist", "test")) >= 9740


@pytest.mark.parametrize("head", ["logits", "softmax"])
@pytest.mark.parametrize("hidden", [(), (32,), (32, 16)], ids=str)
def test_every_shape_learns(hidden, head, some, images):
    model, epochs = trained(some, hidden=hidden, head=head)
    assert epochs[1].loss_sum < epochs[0].loss_sum
    assert count_correct(model, images) > 650


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(some):
    first, second, other = trained(some)[0], trained(some)[0], trained(some, seed=1)[0]
    weights = [bits(first), bits(second), bits(other)]
    # Dropout keeps the state of its own seed among the weights; all of it must agree.
    assert weights[0] == weights[1]
    assert weights[0] != weights[2]


def test_validation_images_are_held_out():
    training, validation = split_indices(1000, 0.1, seed=3)
    assert (len(training), len(validation)) == (900, 100)
    assert sorted([*training, *validation]) == list(range(1000))
    assert not np.array_equal(validation, split_indices(1000, 0.1, seed=4)[1])


def test_held_out_images_do_not_move_the_weights(some):
    """Spoil the held-out images: the weights must come out the same."""
    _, validation = split_indices(len(some), 0.1, seed=0)
    spoiled = some.take(np.arange(len(some)))
    spoiled.images[validation] = 0
    first, clean = trained(some)
    second, spoiled_epochs = trained(spoiled)
    assert bits(first) == bits(second)
    assert clean[-1].validation_correct > spoiled_epochs[-1].validation_correct


def test_an_epoch_sees_every_training_image_once(some):
    seen = []
    options = TrainOptions(epochs=1, hidden=(8,), batch_size=250)
    train(build_mlp((8,)), some, options, lambda _, done, total, __: seen.append((done, total)))
    assert seen[-1] == (5400, 5400)


def test_a_batch_larger_than_the_set_is_the_whole_set(some):
    _, epochs = trained(some.take(np.arange(40)), batch_size=1000)
    assert epochs[0].n == 36


def test_no_validation_is_no_accuracy(some):
    _, epochs = trained(some, validation_split=0)
    assert epochs[-1].as_dict()["validation_accuracy"] is None
    assert epochs[-1].n == 6000


def test_a_diverging_training_says_so(some):
    broken = some.take(np.arange(500))
    model = build_mlp(())
    model.weights[0].assign(np.full((784, 10), np.nan, np.float32))
    with pytest.raises(
        FgsmError, match=r"training diverged in epoch 1: .* smaller --learning-rate"
    ):
        train(model, broken, TrainOptions(epochs=1), quiet)
