"""The loop that all attacks share, as a plain function of tensors: compiled by whoever calls it.

    loop = attack_loop(model, Kind.of(attack))
    x_adv = loop(x, aim, length, start, epsilon, decay, steps)

``perturb`` compiles it for itself, a training step takes it into its own graph.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..backend import tf
from ..data import PIXEL_RANGE
from ..family import Attack, Loss, Norm, Row
from ..gradients import LOSSES, LossFunction, scores_and_gradient
from ..models import Model
from ..norms import NORMS

# After so many steps the samples that have won leave the batch. The images come out the same;
# PGD-40 on MNIST takes less than half the time with 3, 5 or 10.
STRETCH = 5


@dataclass(frozen=True)
class Kind:
    """What of an attack is built into its graph; all the rest is a tensor.

    loss: a key of ``LOSSES``, or a function of logits and aim that gives one number a sample.
    """

    row: Row
    norm: Norm
    loss: Loss | LossFunction
    is_direct: bool
    has_momentum: bool
    is_targeted: bool

    @classmethod
    def of(cls, attack: Attack) -> "Kind":
        """The kind of an attack."""
        return cls(
            row=attack.row,
            norm=attack.norm,
            loss=attack.loss,
            is_direct=attack.is_direct,
            has_momentum=attack.decay > 0,
            is_targeted=attack.target is not None,
        )


def attack_loop(model: Model, kind: Kind) -> Callable[..., Any]:
    """(x, aim, length, start, epsilon, decay, steps) -> x_adv; of a direct attack, the first three.

    x: (batch, ...), float pixels in 0..1. aim: what the loss is taken of, (batch,). length: of a
    step, on the pixel scale, below 0 if the loss is to fall. start: each sample's way to its random
    start in the ball, or noise whose corner is taken, or a number that is not used. steps: a
    tensor, or the number 1.
    """
    row, loss, geometry = kind.row, kind.loss, NORMS[kind.norm]
    value_of = LOSSES[loss] if isinstance(loss, str) else loss

    def direct(x: Any, aim: Any, length: Any) -> Any:
        gradient = scores_and_gradient(model, x, aim, loss=loss)[1]
        return moved(x, gradient, length, kind.norm)

    def first(x: Any, start: Any, epsilon: Any) -> Any:
        """Within the ball by what is drawn, so only the pixel range is left."""
        if row.start == "image":
            return x
        move = start if row.start == "ball" else epsilon / 2 * geometry.steepest(start)
        return tf.clip_by_value(x + move, *PIXEL_RANGE)

    def wins(scores: Any, aim: Any) -> Any:
        hit = tf.equal(tf.argmax(scores, axis=-1), aim)
        return hit if kind.is_targeted else ~hit

    def repeated(
        x: Any, aim: Any, length: Any, start: Any, epsilon: Any, decay: Any, steps: Any
    ) -> Any:
        def walk(x: Any, aim: Any, i: Any, x_adv: Any, velocity: Any, until: Any) -> Any:
            """From step i until another: (x_adv, velocity, who had won before the last step)."""
            project = geometry.ball(x, epsilon)

            def step(i: Any, x_adv: Any, velocity: Any, won: Any) -> tuple[Any, Any, Any, Any]:
                point = x_adv + length * decay * velocity if row.looks_ahead else x_adv
                scores, ascent = scores_and_gradient(model, point, aim, loss=loss)
                if kind.has_momentum:
                    velocity = ascent = decay * velocity + _unit_l1(ascent)
                ahead = project(x_adv + length * geometry.steepest(ascent))
                if row.keeps:
                    won = wins(scores, aim)
                    ahead = chosen(won, x_adv, ahead)
                return i + 1, ahead, velocity, won

            begin = (i, x_adv, velocity, tf.zeros(tf.shape(x)[:1], tf.bool))
            if isinstance(until, int) and until == 1:  # known beforehand: no loop at all
                return step(*begin)[1:]
            return tf.while_loop(lambda i, *_: i < until, step, begin)[1:]

        def thinned(i: Any, x_adv: Any, velocity: Any, left: Any) -> tuple[Any, Any, Any, Any]:
            """A stretch for the samples that are left; who has won stays and need not walk on."""
            until = tf.minimum(i + STRETCH, steps)
            some, some_aim, near = (tf.gather(one, left) for one in (x, aim, x_adv))
            near, velocity, won = walk(some, some_aim, i, near, velocity, until)
            x_adv = tf.tensor_scatter_nd_update(x_adv, left[:, tf.newaxis], near)
            if kind.has_momentum:
                velocity = tf.boolean_mask(velocity, ~won)
            return until, x_adv, velocity, tf.boolean_mask(left, ~won)

        velocity = tf.zeros_like(x) if kind.has_momentum else tf.zeros((), x.dtype)
        x_adv = first(x, start, epsilon)
        if not row.keeps:
            return walk(x, aim, 0, x_adv, velocity, steps)[0]
        begin = (0, x_adv, velocity, tf.range(tf.shape(x)[0]))
        return tf.while_loop(
            lambda i, _x_adv, _velocity, left: (i < steps) & (tf.size(left) > 0), thinned, begin
        )[1]

    def adaptive(
        x: Any,
        aim: Any,
        length: Any,
        start: Any,
        epsilon: Any,
        decay: Any,
        steps: Any,
    ) -> Any:
        """Croce & Hein 2020, algorithm 1, with the constants of their code; decay has no part."""
        del decay
        project = geometry.ball(x, epsilon)

        def look(point: Any) -> tuple[Any, Any, Any]:
            scores, gradient = scores_and_gradient(model, point, aim, loss=loss)
            toward = -1 if kind.is_targeted else 1
            value = toward * wide(value_of(scores, aim), x)
            return value, toward * gradient, wide(wins(scores, aim), x)

        def span(share: float) -> Any:
            return tf.maximum(tf.cast(share * tf.cast(steps, tf.float32), tf.int32), 1)

        def step(i: Any, now: _Adapting) -> tuple[Any, _Adapting]:
            ahead = project(now.x_adv + now.length * geometry.steepest(now.gradient))
            share = tf.where(i > 0, tf.constant(0.75, x.dtype), tf.constant(1, x.dtype))
            mixed = now.x_adv + share * (ahead - now.x_adv) + (1 - share) * (now.x_adv - now.before)
            x_adv = project(mixed)
            value, gradient, won = look(x_adv)
            better = value > now.best_value
            best, best_gradient = (
                chosen(narrow(better), new, old)
                for new, old in ((x_adv, now.best), (gradient, now.best_gradient))
            )
            best_value = tf.maximum(value, now.best_value)
            rises = now.rises + tf.cast(value > now.value, x.dtype)
            checks = tf.equal(i + 1, now.check_at)
            stuck = rises <= 0.75 * tf.cast(now.period, x.dtype)
            flat = ~now.halved & (best_value <= now.checked_value)
            halve = checks & (stuck | flat)
            period = tf.where(checks, tf.maximum(now.period - span(0.03), span(0.06)), now.period)
            return i + 1, _Adapting(
                x_adv=chosen(narrow(halve), best, x_adv),
                before=now.x_adv,
                gradient=chosen(narrow(halve), best_gradient, gradient),
                value=value,
                length=tf.where(halve, now.length / 2, now.length),
                best=best,
                best_gradient=best_gradient,
                best_value=best_value,
                winner=chosen(narrow(now.won | ~won), now.winner, x_adv),
                won=now.won | won,
                rises=tf.where(checks, tf.zeros_like(rises), rises),
                halved=tf.where(checks, halve, now.halved),
                checked_value=tf.where(checks, best_value, now.checked_value),
                period=period,
                check_at=tf.where(checks, i + 1 + period, now.check_at),
            )

        x_adv = first(x, start, epsilon)
        value, gradient, won = look(x_adv)
        begin = _Adapting(
            x_adv=x_adv,
            before=x_adv,
            gradient=gradient,
            value=value,
            length=tf.abs(length) * tf.ones_like(value),
            best=x_adv,
            best_gradient=gradient,
            best_value=value,
            winner=x_adv,
            won=won,
            rises=tf.zeros_like(value),
            halved=tf.zeros_like(won),
            checked_value=value,
            period=span(0.22),
            check_at=span(0.22),
        )
        _, end = tf.while_loop(lambda i, _: i < steps, step, (0, begin))
        return chosen(narrow(end.won), end.winner, end.best)

    if kind.is_direct:
        return direct
    return adaptive if row.adapts else repeated


class _Adapting(NamedTuple):
    """Where APGD stands; what concerns a sample has shape (batch, 1, ...)."""

    x_adv: Any
    before: Any
    gradient: Any
    value: Any
    length: Any
    best: Any
    best_gradient: Any
    best_value: Any
    winner: Any
    won: Any
    rises: Any
    halved: Any
    checked_value: Any
    period: Any
    check_at: Any


def moved(x: Any, gradient: Any, length: Any, norm: Norm) -> Any:
    """One step from x itself: in the ball by its length, so only the pixel range is left."""
    return tf.clip_by_value(x + length * NORMS[norm].steepest(gradient), *PIXEL_RANGE)


def wide(values: Any, x: Any) -> Any:
    """One value a sample, shaped to be combined with x."""
    return tf.reshape(values, (-1, *([1] * (x.shape.rank - 1))))


def narrow(flags: Any) -> Any:
    """Flags that were shaped to be combined with x, one a sample again."""
    return tf.reshape(flags, (-1,))


def chosen(flags: Any, x: Any, other: Any) -> Any:
    """The samples of x where flags (batch,) says so, of the other where not.

    The older ``where`` copies whole samples; the newer, which spreads a flag over the pixels,
    takes three times as long.
    """
    return tf.compat.v1.where(flags, x, other)


def _unit_l1(gradient: Any) -> Any:
    """Each sample's gradient divided by its L1 norm; zero stays zero."""
    axes = list(range(1, gradient.shape.rank))
    size = tf.reduce_sum(tf.abs(gradient), axis=axes, keepdims=True)
    return tf.math.divide_no_nan(gradient, size)
