"""The compiled loop: many steps a call, over images that stay on the device."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..backend import compiled, keras, tf
from ..config import TrainOptions
from ..data import ImageSet
from ..errors import FgsmError
from ..models import logits
from ..norms import NORMS
from ..results import Epoch
from .checkpoint import State, restore, save
from .monitor import best_epoch, has_collapsed, probe
from .objectives import fit_of, objective

Progress = Callable[[str, int, int, str], None]

STRETCH = 50


def split_indices(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Positions to train on and to hold out, drawn at random by the seed."""
    order = np.random.default_rng(seed).permutation(n)
    held_out = int(n * share)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def train(
    model: Any,
    images: ImageSet,
    options: TrainOptions,
    progress: Progress,
    checkpoint: Path | None = None,
) -> tuple[Epoch, ...]:
    """Train a Keras model, in place; tell what each epoch saw.

    checkpoint: where to keep, after each epoch, all that is needed to go on; with
        ``options.resume`` the training goes on from there if it exists.
    The same seed on the same machine gives the same weights, interrupted or not. Raises FgsmError
    if the loss stops being a finite number, or for the checkpoint of another training.
    """
    training, validation = split_indices(len(images), options.validation_split, options.seed)
    batch = min(options.batch_size, len(training))
    steps = -(-len(training) // batch)
    optimizer = keras.optimizers.Adam(learning_rate(options, steps * options.replays))
    optimizer.build(model.trainable_variables)
    moves = tf.Variable(tf.zeros((batch if options.replays > 1 else 0, *images.shape)))
    run = _stretch(model, optimizer, images.take(training), batch, options, moves)
    held_out = images.take(validation)
    shuffle = np.random.default_rng([options.seed, 1])
    best = [tf.Variable(one) for one in model.variables] if options.stop_on_collapse else []
    variables = [*model.variables, *optimizer.variables, moves, *best]
    asked = options.what_is_learned()
    if checkpoint:  # other images under the same name make another training
        asked["sha256"] = images.digest()
    attack = options.defence()

    epochs: list[Epoch] = []
    if checkpoint and options.resume and checkpoint.exists():
        state = restore(checkpoint, variables, asked)
        epochs, shuffle.bit_generator.state = list(state.epochs), dict(state.order)
    for epoch in range(len(epochs), options.epochs):
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
                f"acc {correct / seen:.3f}" + "".join(_told(one) for one in epochs[-1:]),
            )
        right = count_correct(model, held_out) if len(held_out) else 0
        watched = probe(model, held_out, attack) if attack and len(held_out) else None
        epochs.append(Epoch(loss_sum, correct, len(training), right, len(held_out), watched))
        if best and best_epoch(epochs, options.warmup) == len(epochs):
            _copy(model.variables, best)
        if best and has_collapsed(epochs, options.warmup):
            if best_epoch(epochs, options.warmup):
                _copy(best, model.variables)
            break
        if checkpoint and epoch + 1 < options.epochs:
            save(checkpoint, variables, State(asked, shuffle.bit_generator.state, tuple(epochs)))
    return tuple(epochs)


def _copy(values: Sequence[Any], variables: Sequence[Any]) -> None:
    for value, variable in zip(values, variables, strict=True):
        variable.assign(value)


def _told(epoch: Epoch) -> str:
    """The last epoch in the progress line."""
    told = ""
    if epoch.validation_n:
        told += f" val {epoch.validation_correct / epoch.validation_n:.3f}"
    if found := epoch.probe:
        told += f" fgsm {found.fgsm_correct / found.n:.3f} pgd {found.pgd_correct / found.n:.3f}"
    return told


def learning_rate(options: TrainOptions, steps: int) -> Any:
    """Adam's rate over the whole training; ``steps``: weight updates an epoch."""
    rate, total = options.learning_rate, steps * options.epochs
    if options.schedule == "cosine":
        return keras.optimizers.schedules.CosineDecay(rate, total)
    if options.schedule == "cyclic":  # Wong et al. 2020: up for two fifths, then down to 0
        rise = max(1, round(0.4 * total))
        return _Triangle(rate, rise, max(1, total - rise))
    return rate


class _Triangle(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
    """Linearly from 0 to the rate, and linearly back to 0."""

    def __init__(self, rate: float, rise: int, fall: int) -> None:
        self.rate, self.rise, self.fall = rate, rise, fall

    def __call__(self, step: Any) -> Any:
        done = tf.cast(step, tf.float32)
        share = tf.minimum((done + 1) / self.rise, (self.rise + self.fall - done) / self.fall)
        return self.rate * share


def _stretch(
    model: Any, optimizer: Any, images: ImageSet, batch: int, options: TrainOptions, moves: Any
) -> Any:
    """The compiled run of steps start..stop over an order: the loss summed, hits counted.

    moves: (batch, ...), what free training carries from batch to batch.
    """
    pixels, labels = tf.constant(images.images), tf.constant(images.known_labels)
    black, width = images.range.black, images.range.width
    loss_of = objective(model, options)

    def learn(x: Any, y: Any, seed: Any, grown: Any) -> Any:
        with tf.GradientTape() as tape:
            loss, losses, scores = loss_of(x, y, seed, grown)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return losses, scores

    def learn_freely(x: Any, y: Any, seed: Any, grown: Any) -> Any:
        """Shafahi et al. 2019: each gradient serves the weights and the images."""
        del seed
        attack, fit = options.defence(), fit_of(options.label_smoothing)
        assert attack is not None
        geometry, n = NORMS[attack.norm], tf.shape(x)[0]
        epsilon = grown * attack.epsilon
        project = geometry.ball(x, epsilon)
        x_adv, weights = project(x + moves[:n]), model.trainable_variables
        for _ in range(options.replays):
            with tf.GradientTape() as tape:
                tape.watch(x_adv)
                scores = logits(model, x_adv, training=True)
                losses = fit(scores, y)
                loss = tf.reduce_mean(losses)
            *slopes, slope = tape.gradient(loss, [*weights, x_adv])
            optimizer.apply(slopes, weights)
            x_adv = project(x_adv + epsilon * geometry.steepest(slope))
        moves[:n].assign(x_adv - x)
        return losses, scores

    warmup, one = options.warmup * -(-len(images) // batch) * options.replays, tf.constant(1.0)
    step_of = learn_freely if options.replays > 1 else learn

    @compiled
    def run(order: Any, start: Any, stop: Any) -> Any:
        def step(i: Any, loss_sum: Any, correct: Any) -> Any:
            chosen = order[i * batch : (i + 1) * batch]
            x = tf.cast(tf.gather(pixels, chosen), tf.float32)
            x = (x - black if black.any() else x) / width
            y = tf.gather(labels, chosen)
            done = tf.cast(optimizer.iterations, tf.int32)
            seed = tf.stack([options.seed % 2**31, done])
            grown = tf.minimum((tf.cast(done, tf.float32) + 1) / warmup, 1) if warmup else one
            losses, scores = step_of(x, y, seed, grown)
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
