"""Training: the default of ``fgsm train`` against ``Model.fit`` of the textbook recipe.

The recipe is that of the beginners' tutorials: 784-128-10, dropout 0.2 and a softmax, Adam at
0.001, batches of 32, five epochs over all 60,000 images. Each repeat has a seed of its own.
"""

import time
from collections.abc import Callable
from typing import Any

from fgsm_cli.backend import keras
from fgsm_cli.config import TrainOptions
from fgsm_cli.data import ImageSet, load_images
from fgsm_cli.models import build_mlp
from fgsm_cli.training import count_correct, train

from .measure import Plan, Row, Sample, at_least, compare, interleaved, median, ratio

GOAL = 10.0


def run(plan: Plan) -> list[Row]:
    """Time both; score each model on the test images, outside the clock."""
    images, test = load_images("mnist", "train"), load_images("mnist", "test")
    pixels = images.pixels()

    def measured(fit: Callable[[int], Any]) -> Callable[[int], Sample]:
        def measure(seed: int) -> Sample:
            start = time.perf_counter()
            model = fit(seed)
            seconds = time.perf_counter() - start
            return Sample(seconds, accuracy=accuracy(model, test))

        return measure

    samples = interleaved(
        {
            "fgsm train": measured(train_default),
            "Model.fit": measured(lambda seed: fit_textbook(pixels, images.labels, seed)),
        },
        plan.repeats,
    )
    own, theirs = samples["fgsm train"], samples["Model.fit"]
    goals = {
        # As good as the other, or better.
        "fgsm train": at_least(median(theirs, "accuracy"), median(own, "accuracy"), "accuracy"),
        "Model.fit": at_least(GOAL, ratio(theirs, own), "times ours"),
    }
    return compare("training", samples, ours="fgsm train", goals=goals)


def train_default(seed: int) -> Any:
    """What ``fgsm train`` does; it also reads the images, which ``fit`` is handed for free."""
    options = TrainOptions(seed=seed)
    images = load_images(options.data, "train")
    model = build_mlp(
        options.hidden,
        dropout=options.dropout,
        head=options.head,
        seed=options.seed,
        input_shape=images.images.shape[1:],
        classes=images.classes,
    )
    train(model, images, options, lambda *_: None)
    return model


def fit_textbook(x: Any, y: Any, seed: int) -> Any:
    """The recipe as the tutorials write it."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((28, 28)),
            keras.layers.Flatten(),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=5, batch_size=32, verbose=0)
    return model


def accuracy(model: Any, test: ImageSet) -> float:
    """The share of the test images that a model classifies right."""
    return count_correct(model, test) / len(test)
