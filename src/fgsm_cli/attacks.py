"""Gradient attacks inside a ball. FGSM is one step; BIM repeats it; MI-FGSM adds momentum.

    x_adv = perturb(model, x, y, attack_named("fgsm", epsilon=0.1))

One loop serves every row of ``family.ROWS``. From x_0 = x, with g the gradient of the loss:

    v <- decay * v + g / |g|_1          (with decay 0: v <- g)
    x_adv <- P(x_adv + epsilon * step_size * steepest(v))

where ``steepest`` is the unit step that the norm makes longest along v (for Linf its sign) and
P projects on the ball around x and on the pixel range. The loop is compiled whole; epsilon,
step size, steps and decay are tensors, so that one trace serves every value. A direct attack, one
step from x, is the loop's first turn without the loop: it cannot leave the ball.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .backend import compiled, tf
from .data import PIXEL_RANGE
from .errors import FgsmError
from .family import Attack, Loss, Norm
from .gradients import get_grads
from .models import Model


@dataclass(frozen=True)
class Geometry:
    """What a norm means to the loop.

    steepest(g): the step of norm 1 that raises <step, g> most; 0 where g is 0.
    ball(x, epsilon): the projection on the ball around x, within the pixel range.
    """

    steepest: Callable[[Any], Any]
    ball: Callable[[Any, Any], Callable[[Any], Any]]


def _linf_ball(x: Any, epsilon: Any) -> Callable[[Any], Any]:
    low, high = PIXEL_RANGE
    lowest, highest = tf.maximum(x - epsilon, low), tf.minimum(x + epsilon, high)
    return lambda x_adv: tf.clip_by_value(x_adv, lowest, highest)


NORMS: Mapping[Norm, Geometry] = {"linf": Geometry(steepest=tf.sign, ball=_linf_ball)}


def perturb(model: Model, x: Any, y: Any, attack: Attack) -> Any:
    """Adversarial examples: x moved by the attack inside its ball, within the pixel range.

    model: as in ``get_grads``. x: float pixels in 0..1, a batch (batch, ...) or one image.
    y: integer labels (batch,), or one label for one image; the loss of these is raised.

    Returns a tensor of x's shape, float32 (float64 if x is). epsilon 0 gives x back bit for
    bit. The loop is compiled on first use and kept for the models used last.

    Raises FgsmError for pixels outside 0..1, and as ``get_grads`` does.
    """
    x = tf.convert_to_tensor(x)
    x = x if x.dtype == tf.float64 else tf.cast(x, tf.float32)
    if tf.executing_eagerly():
        low, high = (float(end) for end in _extent(x))
        if not PIXEL_RANGE[0] <= low <= high <= PIXEL_RANGE[1]:
            raise FgsmError(
                f"x must hold pixels in {PIXEL_RANGE[0]:g}..{PIXEL_RANGE[1]:g}. "
                f"Received: {low:g}..{high:g}"
            )
    y = tf.convert_to_tensor(y)
    if single := y.shape.rank == 0:
        x, y = x[tf.newaxis], y[tf.newaxis]
    x_adv = crafter(model, attack)(x, tf.cast(y, tf.int64), *hyperparameters(attack, x.dtype))
    return x_adv[0] if single else x_adv


@compiled
def _extent(x: Any) -> Any:
    """The lowest and the highest value."""
    flat = tf.reshape(x, (-1,))
    return tf.reduce_min(flat), tf.reduce_max(flat)


def hyperparameters(attack: Attack, dtype: Any) -> tuple[Any, ...]:
    """epsilon, step_size, steps and decay as tensors, in the order of the crafter."""
    return (
        tf.constant(attack.epsilon, dtype),
        tf.constant(attack.step_size, dtype),
        tf.constant(attack.steps),
        tf.constant(attack.decay, dtype),
    )


def crafter(model: Model, attack: Attack) -> Any:
    """The compiled attack: (x, y, epsilon, step_size, steps, decay) -> x_adv.

    Attacks that differ in these numbers only share it.
    """
    return _crafter(model, attack.norm, attack.loss, attack.is_direct, attack.decay > 0)


@functools.lru_cache(maxsize=16)
def _crafter(model: Model, norm: Norm, loss: Loss, is_direct: bool, has_momentum: bool) -> Any:
    geometry = NORMS[norm]

    def once(x: Any, y: Any, epsilon: Any, step_size: Any, *_: Any) -> Any:
        return _moved(x, get_grads(model, x, y, loss=loss), epsilon * step_size, geometry)

    def repeated(x: Any, y: Any, epsilon: Any, step_size: Any, steps: Any, decay: Any) -> Any:
        project = geometry.ball(x, epsilon)

        def step(i: Any, x_adv: Any, velocity: Any) -> tuple[Any, Any, Any]:
            ascent = get_grads(model, x_adv, y, loss=loss)
            if has_momentum:
                velocity = ascent = decay * velocity + _unit_l1(ascent)
            x_adv = project(x_adv + epsilon * step_size * geometry.steepest(ascent))
            return i + 1, x_adv, velocity

        velocity = tf.zeros_like(x) if has_momentum else tf.zeros((), x.dtype)
        return tf.while_loop(lambda i, *_: i < steps, step, (0, x, velocity))[1]

    return compiled(once if is_direct else repeated)


@functools.lru_cache(maxsize=16)
def mover(norm: Norm) -> Any:
    """The compiled step of a direct attack: (x, gradient, length) -> x_adv.

    All that is left to do once the gradient is known; a sweep over epsilon needs no more.
    """

    @compiled
    def move(x: Any, gradient: Any, length: Any) -> Any:
        return _moved(x, gradient, length, NORMS[norm])

    return move


def _moved(x: Any, gradient: Any, length: Any, geometry: Geometry) -> Any:
    """One step from x itself: in the ball by its length, so only the pixel range is left."""
    return tf.clip_by_value(x + length * geometry.steepest(gradient), *PIXEL_RANGE)


def _unit_l1(gradient: Any) -> Any:
    """Each sample's gradient divided by its L1 norm; zero stays zero."""
    axes = tf.range(1, tf.rank(gradient))
    size = tf.reduce_sum(tf.abs(gradient), axis=axes, keepdims=True)
    return tf.math.divide_no_nan(gradient, size)
