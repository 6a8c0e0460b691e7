"""The compiled loop: many steps a call, over images that stay on the device."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..backend import compiled, keras, tf
from ..config import TrainOptions
from ..data import ImageSet
from ..distribution import ALONE, Crew
from ..errors import FgsmError
from ..models import logits
from ..norms import NORMS
from ..results import Epoch
from .checkpoint import State, restore, save
from .monitor import best_epoch, has_collapsed, probe
from .objectives import fit_of, for_all, objective
from .share import Share

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
    crew: Crew = ALONE,
) -> tuple[Epoch, ...]:
    """Train a Keras model, in place; tell what each epoch saw.

    checkpoint: where to keep, after each epoch, all that is needed to go on; with
        ``options.resume`` the training goes on from there if it exists.
    crew: who computes; of several devices each takes its share of every batch, and the model must
        have been made in the crew's scope.
    The same seed on the same machine gives the same weights, interrupted or not. Raises FgsmError
    if the loss stops being a finite number, or for the checkpoint of another training.
    """
    training, validation = split_indices(len(images), options.validation_split, options.seed)
    batch = min(options.batch_size, len(training))
    steps = -(-len(training) // batch)
    if crew.replicas > 1 and options.replays > 1:
        raise FgsmError("--replays, free training, runs on one device; expected --devices 0 or cpu")
    with crew.scope():
        optimizer = keras.optimizers.Adam(learning_rate(options, steps * options.replays))
        optimizer.build(model.trainable_variables)
    moves = tf.Variable(tf.zeros((batch if options.replays > 1 else 0, *images.shape)))
    run = _stretch(model, optimizer, images.take(training), batch, options, moves, crew)
    held_out = images.take(validation)
    shuffle = np.random.default_rng([options.seed, 1])
    best = [tf.Variable(one) for one in model.variables] if options.stop_on_collapse else []
    variables = [*model.variables, *optimizer.variables, moves, *best]
    asked = options.what_is_learned()
    if checkpoint:  # other images under the same name make another training
        asked["sha256"] = images.digest()
    attack = options.defence()

    epochs: list[Epoch] = []
    if checkpoint and options.resume:
        _give_out(checkpoint, crew)
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
        seen_of = Epoch(loss_sum, correct, len(training), right, len(held_out), watched)
        epochs.append(_chiefs(seen_of, crew))
        if best and best_epoch(epochs, options.warmup) == len(epochs):
            _copy(model.variables, best)
        if best and has_collapsed(epochs, options.warmup):
            if best_epoch(epochs, options.warmup):
                _copy(best, model.variables)
            break
        if checkpoint and epoch + 1 < options.epochs:
            save(checkpoint, variables, State(asked, shuffle.bit_generator.state, tuple(epochs)))
    return tuple(epochs)


def _give_out(checkpoint: Path, crew: Crew) -> None:
    """Let every worker have the chief's checkpoint, if there is one."""
    held = crew.is_chief and checkpoint.exists()
    content = np.frombuffer(checkpoint.read_bytes() if held and crew.size > 1 else b"", np.uint8)
    given = crew.chiefs({"content": content})["content"]
    if not crew.is_chief and len(given):
        checkpoint.write_bytes(given.tobytes())


def _chiefs(epoch: Epoch, crew: Crew) -> Epoch:
    """What the chief saw of an epoch, so that all workers go on or stop together."""
    if crew.size == 1:
        return epoch
    told = crew.chiefs({"epoch": np.array(json.dumps(asdict(epoch)))})
    return Epoch.from_dict(json.loads(str(told["epoch"])))


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
    model: Any,
    optimizer: Any,
    images: ImageSet,
    batch: int,
    options: TrainOptions,
    moves: Any,
    crew: Crew,
) -> Any:
    """The compiled run of steps start..stop over an order: the loss summed, hits counted.

    moves: (batch, ...), what free training carries from batch to batch.
    """
    pixels, labels = (crew.on_every(one) for one in (images.images, images.known_labels))
    black, width = images.range.black, images.range.width

    def learn(x: Any, y: Any, seed: Any, grown: Any, share: Share | None) -> Any:
        loss_of = objective(model, options, share.drawn if share else for_all)
        with tf.GradientTape() as tape:
            loss, losses, scores = loss_of(x, y, seed, grown)
            loss = loss * share.weight if share else loss
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return losses, scores

    def learn_freely(x: Any, y: Any, seed: Any, grown: Any, share: Share | None) -> Any:
        """Shafahi et al. 2019: each gradient serves the weights and the images."""
        del seed, share
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

    def turn(pixels: Any, labels: Any, chosen: Any) -> Any:
        """A step on one device: the loss summed over its images, and how many were right."""
        share = None
        if crew.replicas > 1:
            device = tf.distribute.get_replica_context().replica_id_in_sync_group
            share = Share.of(tf.size(chosen), device, crew.replicas)
            chosen = tf.gather(chosen, share.rows)
        x = tf.cast(tf.gather(pixels, chosen), tf.float32)
        x = (x - black if black.any() else x) / width
        y = tf.gather(labels, chosen)
        done = tf.cast(optimizer.iterations, tf.int32)
        seed = tf.stack([options.seed % 2**31, done])
        grown = tf.minimum((tf.cast(done, tf.float32) + 1) / warmup, 1) if warmup else one
        losses, scores = step_of(x, y, seed, grown, share)
        hits = tf.equal(tf.argmax(scores, axis=1), y)
        if share:
            losses, hits = losses[: share.count], hits[: share.count]
        return tf.reduce_sum(losses), tf.reduce_sum(tf.cast(hits, tf.int32))

    @compiled
    def run(order: Any, start: Any, stop: Any) -> Any:
        def step(i: Any, loss_sum: Any, correct: Any) -> Any:
            chosen = order[i * batch : (i + 1) * batch]
            loss, right = crew.together(turn, pixels, labels, chosen)
            return i + 1, loss_sum + loss, correct + tf.cast(right, tf.int32)

        return tf.while_loop(lambda i, *_: i < stop, step, (start, 0.0, 0))[1:]

    return run


def count_correct(model: Any, images: ImageSet, batch_size: int = 10_000) -> int:
    """How many images the model, at rest, classifies right."""
    return sum(
        int(np.sum(np.argmax(np.asarray(model(x, training=False)), axis=1) == y))
        for x, y in images.batches(batch_size)
    )
