"""Gradient attacks inside a ball. FGSM is one step; BIM repeats it; PGD adds a random start.

    x_adv = perturb(model, x, y, attack_named("pgd", epsilon=0.1, steps=20))

One loop serves every row of ``family.ROWS``. From x_0 = x, or a random point of the ball, with g
the gradient of the loss (of a target's, negated):

    v <- decay * v + g / |g|_1          (with decay 0: v <- g)
    x_adv <- P(x_adv + epsilon * step_size * steepest(v))

where ``steepest`` is the unit step that the norm makes longest along v (for Linf its sign) and
P projects on the ball around x and on the pixel range (``norms.py``). The loop is compiled whole;
epsilon, step size, steps and decay are tensors, so that one trace serves every value. A direct
attack, one step from x, is the loop's first turn without the loop: it cannot leave the ball.
APGD (Croce & Hein 2020) is the same step in a loop that watches its own progress.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backend import compiled, compiled_for, tf
from ..data import PIXEL_RANGE
from ..errors import FgsmError
from ..family import Attack, Norm
from ..gradients import check_labels, tensors
from ..models import Model, logits
from ..norms import NORMS
from .loop import Kind, attack_loop, moved


def perturb(model: Model, x: Any, y: Any, attack: Attack, *, seed: int = 0) -> Any:
    """Adversarial examples: x moved by the attack inside its ball, within the pixel range.

    model: as in ``get_grads``. x: float pixels in 0..1, a batch (batch, ...) or one image.
    y: integer labels (batch,), or one label for one image: the true ones, whose loss is raised
        and from which ``attack.target`` is chosen.
    seed: of random starts and targets; each sample has a stream of its own, by its position.

    Returns a tensor of x's shape, float32 (float64 if x is). epsilon 0 gives x back bit for
    bit. The loop is compiled on first use and kept for the models used last.

    Raises FgsmError for pixels outside 0..1, and as ``get_grads`` does.
    """
    if not isinstance(attack, Attack):
        raise FgsmError(f"attack must be an Attack, as attack_named gives. Received: {attack!r}")
    x, y = tensors(x, y)
    if y is None:
        raise FgsmError("y, the labels, must be given")
    if single := y.shape.rank == 0:
        x, y = x[tf.newaxis], y[tf.newaxis]
    eager = tf.executing_eagerly()
    if eager:
        check_labels(y, _classes(model, tuple(x.shape[1:]), x.dtype), len(x))
        low, high = (float(end) for end in _extent(x))
        if not PIXEL_RANGE[0] <= low <= high <= PIXEL_RANGE[1]:
            raise FgsmError(
                f"x must hold pixels in {PIXEL_RANGE[0]:g}..{PIXEL_RANGE[1]:g}. "
                f"Received: {low:.9g}..{high:.9g}"
            )
    if not eager and (attack.row.start != "image" or attack.target == "random"):
        raise FgsmError(f"{attack.name} draws random numbers; inside tf.function it cannot")
    places = np.arange(len(x)) if eager else None
    aim = y
    if attack.target is not None or attack.labels == "predicted":
        aim = aims(attack, logits(model, x), y, places, seed)
    x_adv = craft(model, x, aim, attack, places, seed)
    for restart in range(1, attack.restarts):
        standing = np.flatnonzero(~np.asarray(succeeded(attack, logits(model, x_adv), aim)))
        if not len(standing):
            break
        again, again_aim = tf.gather(x, standing), tf.gather(aim, standing)
        better = craft(model, again, again_aim, attack, standing, seed, restart)
        x_adv = tf.tensor_scatter_nd_update(x_adv, standing[:, np.newaxis], better)
    return x_adv[0] if single else x_adv


def aims(attack: Attack, scores: Any, y: Any, places: Any, seed: int) -> Any:
    """The labels that the attack's loss is taken of: those to leave, or the targets to reach.

    scores: logits at the clean images. y: true labels. places: each sample's position.
    """
    classes = scores.shape[-1]
    leave = tf.argmax(scores, axis=-1) if attack.labels == "predicted" else y
    if attack.target is None:
        return leave
    if attack.target == "next":
        return (y + 1) % classes
    if attack.target == "least-likely":
        return tf.argmin(scores, axis=-1)
    if attack.target == "random":
        skip = [int(rng.integers(1, classes)) for rng in _streams(seed, "target", places)]
        return (y + tf.constant(skip, tf.int64)) % classes
    if attack.target >= classes:
        raise FgsmError(
            f"target must be a label from 0 to {classes - 1}. Received: {attack.target}"
        )
    return tf.fill(tf.shape(y), tf.constant(attack.target, tf.int64))


def succeeded(attack: Attack, scores: Any, aim: Any) -> Any:
    """Which samples are where the attack wants them: at the target, or off the label."""
    hit = tf.equal(tf.argmax(scores, axis=-1), aim)
    return hit if attack.target is not None else ~hit


def craft(
    model: Model, x: Any, aim: Any, attack: Attack, places: Any, seed: int, restart: int = 0
) -> Any:
    """One try of an attack on a batch: the compiled loop, from this restart's starting points.

    x: (batch, ...), float pixels in 0..1. aim: from ``aims``. places: each sample's position in
    its set, which settles its random start whatever batch it stands in.
    """
    run = _crafter(model, Kind.of(attack), (None, *x.shape[1:]), x.dtype)
    length = step_length(attack, x.dtype)
    if attack.is_direct:
        return run(x, aim, length)
    start = _starts(attack, x, places, seed, restart)
    numbers = (tf.constant(one, x.dtype) for one in (attack.epsilon, attack.decay))
    return run(x, aim, length, start, *numbers, tf.constant(attack.steps))


def step_length(attack: Attack, dtype: Any) -> Any:
    """The length of a step on the pixel scale; below 0 if the loss is to fall."""
    toward = -1 if attack.target is not None else 1
    return tf.constant(toward * attack.epsilon * attack.step_size, dtype)


def _streams(seed: int, purpose: str, places: Any, restart: int = 0) -> Any:
    """A random generator for each sample, standing at the beginning of that sample's stream.

    Philox is counter-based: a sample's place is put into the counter, so that its numbers do
    not depend on the batch, the order or the number of samples.
    """
    bits = np.random.Philox(key=[seed, *purpose.encode()[:1]])
    rng, state = np.random.Generator(bits), bits.state
    for place in places:
        state["state"]["counter"][:] = (0, 0, place, restart)
        bits.state = state
        yield rng


def _starts(attack: Attack, x: Any, places: Any, seed: int, restart: int) -> Any:
    """Each sample's way to a point of the ball, or normal noise to take a corner from."""
    if attack.row.start == "image":
        return tf.zeros((), x.dtype)
    size = int(np.prod(x.shape[1:]))
    points: NDArray[np.float32] = np.empty((len(places), size), np.float32)
    for point, rng in zip(points, _streams(seed, "start", places, restart), strict=True):
        if attack.row.start == "ball":
            point[:] = NORMS[attack.norm].sample(rng, size)
        else:
            point[:] = rng.standard_normal(size, dtype=np.float32)
    start = tf.cast(points.reshape(x.shape), x.dtype)
    return start * tf.constant(attack.epsilon, x.dtype) if attack.row.start == "ball" else start


@functools.lru_cache(maxsize=64)
def _classes(model: Model, shape: tuple[int, ...], dtype: Any) -> int:
    """How many classes the model tells apart."""
    with tf.init_scope():
        return int(logits(model, tf.zeros((1, *shape), dtype)).shape[-1])


@compiled
def _extent(x: Any) -> Any:
    """The lowest and the highest value."""
    flat = tf.reshape(x, (-1,))
    return tf.reduce_min(flat), tf.reduce_max(flat)


@functools.lru_cache(maxsize=64)
def _crafter(model: Model, kind: Kind, shape: tuple[int | None, ...], dtype: Any) -> Any:
    """The compiled attack; what differs in numbers only, or in the batch, shares it."""
    image, number = tf.TensorSpec(shape, dtype), tf.TensorSpec((), dtype)
    label, count = tf.TensorSpec((None,), tf.int64), tf.TensorSpec((), tf.int32)
    loop = attack_loop(model, kind)
    if kind.is_direct:
        return compiled_for(loop, image, label, number)
    begins = number if kind.row.start == "image" else image
    return compiled_for(loop, image, label, number, begins, number, number, count)


@functools.lru_cache(maxsize=16)
def mover(norm: Norm, rank: int) -> Any:
    """The compiled step of a direct attack: (x, gradient, length) -> x_adv.

    All that is left to do once the gradient is known; a sweep over epsilon needs no more.
    x: float32, of this rank; which axes a norm is taken over depends on it.
    """
    images = tf.TensorSpec([None] * rank, tf.float32)

    def move(x: Any, gradient: Any, length: Any) -> Any:
        return moved(x, gradient, length, norm)

    return compiled_for(move, images, images, tf.TensorSpec((), tf.float32))
