"""Training: one compiled loop over images that stay on the device.

    epochs = train(model, images, options, progress)

``Model.fit`` comes back to Python after every batch; for a small MLP that is most of the time.
Here a single call runs a stretch of many steps, and Python only draws the progress between
stretches. The loss is cross-entropy on the logits, the optimizer Adam (Kingma & Ba 2015, arXiv
1412.6980), the images held out for validation never take part in a step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .backend import compiled, keras, tf
from .config import TrainOptions
from .data import ImageSet
from .errors import FgsmError
from .gradients import cross_entropy
from .models import logits
from .results import Epoch

Progress = Callable[[str, int, int, str], None]

STRETCH = 50


def split_indices(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Positions to train on and to hold out, drawn at random by the seed."""
    order = np.random.default_rng(seed).permutation(n)
    held_out = int(n * share)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def train(
    model: Any, images: ImageSet, options: TrainOptions, progress: Progress
) -> tuple[Epoch, ...]:
    """Train a Keras model, in place; tell what each epoch saw.

    The same seed on the same machine gives the same weights. Raises FgsmError if the loss
    stops being a finite number.
    """
    training, validation = split_indices(len(images), options.validation_split, options.seed)
    batch = min(options.batch_size, len(training))
    steps = -(-len(training) // batch)
    rate = options.learning_rate
    if options.schedule == "cosine":
        rate = keras.optimizers.schedules.CosineDecay(rate, steps * options.epochs)
    optimizer = keras.optimizers.Adam(rate)
    optimizer.build(model.trainable_variables)
    run = _stretch(model, optimizer, images.take(training), batch)
    held_out = images.take(validation)
    shuffle = np.random.default_rng([options.seed, 1])

    epochs: list[Epoch] = []
    for epoch in range(options.epochs):
        order = tf.constant(shuffle.permutation(len(training)))
        loss_sum, correct = 0.0, 0
        for start in range(0, steps, STRETCH):
            stop = min(start + STRETCH, steps)
            loss, right = run(order, tf.constant(start), tf.constant(stop))
            loss_sum, correct = loss_sum + float(loss), correct + int(right)
            seen = min(stop * batch, len(training))
            if not np.isfinite(loss_sum):
                raise FgsmError(
                    f"training diverged in epoch {epoch + 1}: the loss is {loss_sum}; expected a "
                    f"smaller --learning-rate. Received: {options.learning_rate:g}"
                )
            progress(
                "Training",
                epoch * len(training) + seen,
                options.epochs * len(training),
                f"epoch {epoch + 1}/{options.epochs} loss {loss_sum / seen:.3f} "
                f"acc {correct / seen:.3f}"
                + "".join(
                    f" val {one.validation_correct / one.validation_n:.3f}"
                    for one in epochs[-1:]
                    if one.validation_n
                ),
            )
        right = count_correct(model, held_out) if len(held_out) else 0
        epochs.append(Epoch(loss_sum, correct, len(training), right, len(held_out)))
    return tuple(epochs)


def _stretch(model: Any, optimizer: Any, images: ImageSet, batch: int) -> Any:
    """The compiled run of steps start..stop over an order: the loss summed, hits counted."""
    pixels, labels = tf.constant(images.images), tf.constant(images.known_labels)
    black, width = images.range.black, images.range.width

    @compiled
    def run(order: Any, start: Any, stop: Any) -> Any:
        def step(i: Any, loss_sum: Any, correct: Any) -> Any:
            chosen = order[i * batch : (i + 1) * batch]
            x = (tf.cast(tf.gather(pixels, chosen), tf.float32) - black) / width
            y = tf.gather(labels, chosen)
            with tf.GradientTape() as tape:
                scores = logits(model, x, training=True)
                losses = cross_entropy(scores, y)
                loss = tf.reduce_mean(losses)
            weights = model.trainable_variables
            optimizer.apply(tape.gradient(loss, weights), weights)
            hits = tf.equal(tf.argmax(scores, axis=1), y)
            return (
                i + 1,
                loss_sum + tf.reduce_sum(losses),
                correct + tf.reduce_sum(tf.cast(hits, tf.int32)),
            )

        return tf.while_loop(lambda i, *_: i < stop, step, (start, 0.0, 0))[1:]

    return run


def count_correct(model: Any, images: ImageSet, batch_size: int = 10_000) -> int:
    """How many images the model, at rest, classifies right."""
    return sum(
        int(np.sum(np.argmax(np.asarray(model(x, training=False)), axis=1) == y))
        for x, y in images.batches(batch_size)
    )
