"""What a training step minimises: cross-entropy, on clean, noisy or adversarial images.

    loss, losses, scores = objective(model, options)(x, y, seed, grown)

Every way of training is the one loop with other options:

- plain: cross-entropy, with label smoothing (Szegedy et al. 2016, arXiv 1512.00567) or uniform
  noise on the images (the control of Goodfellow et al. 2015) if asked for;
- adversarial: any attack of the family against the weights as they are (Madry et al. 2018, arXiv
  1706.06083; one step from a random start: Wong et al. 2020, arXiv 2001.03994);
  ``mix`` below 1 keeps a share of the clean loss (Goodfellow et al. 2015, arXiv 1412.6572);
- TRADES: clean cross-entropy, and beta times how far the attack moves the answer from the clean
  one (Zhang et al. 2019, arXiv 1901.08573);
- GradAlign: gradients at the image and nearby are held parallel, against catastrophic
  overfitting (Andriushchenko & Flammarion 2020, arXiv 2007.02617);
- certified: cross-entropy of the worst logits that interval bounds allow in the ball (Gowal et al.
  2018, arXiv 1810.12715), mixed at first with CROWN's (Zhang et al. 2020, arXiv 1906.06316).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..attacks.loop import Kind, attack_loop
from ..backend import tf
from ..config import TrainOptions
from ..data import PIXEL_RANGE
from ..family import Attack, Norm
from ..gradients import LossFunction, cross_entropy_margin, scores_and_gradient
from ..models import Model, inspect, logits
from ..norms import NORMS
from ..relaxation import Region, intervals, least, margins, network_of

Objective = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]
Draw = Callable[[Any, Any], Any]
Drawn = Callable[[Draw, Any, Any], Any]


def for_all(draw: Draw, seed: Any, x: Any) -> Any:
    """Random points of x's shape, for the batch as it is."""
    return draw(seed, tf.shape(x))


def objective(model: Model, options: TrainOptions, drawn: Drawn = for_all) -> Objective:
    """(x, y, seed, grown) -> the loss, each sample's part of it, the logits accuracy is seen by.

    x: (batch, ...), float32 in 0..1. y: (batch,), int64. seed: (2,), int32, of this step.
    grown: the share of epsilon, 0..1, that this step has, float32.
    drawn: how random points are had; a device with a share of the batch takes its own of all.
    """
    if options.certified:
        return _certified(model, options)
    attack = options.defence()
    fit = fit_of(options.label_smoothing)

    def plain(x: Any, y: Any, seed: Any, grown: Any) -> tuple[Any, Any, Any]:
        del grown
        if options.noise:
            spread = options.noise * drawn(_uniform, seed, x)
            x = tf.clip_by_value(x + spread, *PIXEL_RANGE)
        scores = logits(model, x, training=True)
        losses = fit(scores, y)
        return tf.reduce_mean(losses), losses, scores

    if attack is None:
        return plain
    adversary = _adversary(model, attack, kullback_leibler if options.trades_beta else None, drawn)

    def adversarial(x: Any, y: Any, seed: Any, grown: Any) -> tuple[Any, Any, Any]:
        x_adv = adversary(x, y, seed, grown)
        scores = logits(model, x_adv, training=True)
        losses = fit(scores, y)
        if options.mix < 1:
            clean = fit(logits(model, x, training=True), y)
            losses = options.mix * losses + (1 - options.mix) * clean
        return tf.reduce_mean(losses), losses, scores

    def trades(x: Any, y: Any, seed: Any, grown: Any) -> tuple[Any, Any, Any]:
        resting = tf.stop_gradient(logits(model, x))
        x_adv = adversary(x, resting, seed, grown)
        clean = logits(model, x, training=True)
        scores = logits(model, x_adv, training=True)
        losses = fit(clean, y) + options.trades_beta * kullback_leibler(scores, clean)
        return tf.reduce_mean(losses), losses, scores

    chosen = trades if options.trades_beta else adversarial
    if not options.gradalign:
        return chosen

    def aligned(x: Any, y: Any, seed: Any, grown: Any) -> tuple[Any, Any, Any]:
        loss, losses, scores = chosen(x, y, seed, grown)
        beside = x + drawn(_within(attack.norm, grown * attack.epsilon), seed + 7, x)
        return loss + options.gradalign * (1 - _alignment(model, x, beside, y)), losses, scores

    return aligned


def _certified(model: Model, options: TrainOptions) -> Objective:
    """The clean loss, and in a share that grows to ``mix`` the loss that no point exceeds.

    The logits that accuracy is seen by are the worst ones: what counts as right is proved.
    """
    with tf.init_scope():  # a network is taken apart by asking it, outside the step's own graph
        classifier = inspect(model)
        network = network_of(classifier, [size or 0 for size in classifier.input_shape])
    fit = fit_of(0)

    def certified(x: Any, y: Any, seed: Any, grown: Any) -> tuple[Any, Any, Any]:
        del seed
        region = Region.around(x, grown * options.epsilon, "linf")
        boxes, rows = intervals(network, region.low, region.high), margins(network, y, x.dtype)
        found = least(network, None, rows, boxes)
        if options.certified == "crown-ibp":
            found = grown * found + (1 - grown) * least(network, region, rows, boxes)
        # In the order y, y + 1, ... of ``margins``, turned back to 0, 1, ...
        worst = tf.concat([tf.zeros_like(found[:, :1]), -found], axis=1)
        places = (tf.range(network.classes) - tf.cast(y, tf.int32)[:, tf.newaxis]) % network.classes
        worst = tf.gather(worst, places, batch_dims=1)
        share = grown * options.mix
        clean = fit(logits(model, x, training=True), y)
        losses = (1 - share) * clean + share * fit(worst, y)
        return tf.reduce_mean(losses), losses, worst

    return certified


def fit_of(smoothing: float) -> LossFunction:
    """Cross-entropy (batch,); with smoothing, towards labels that leave the others a share."""

    def smoothed(scores: Any, y: Any) -> Any:
        classes = scores.shape[-1]
        labels = tf.one_hot(y, classes) * (1 - smoothing) + smoothing / classes
        return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=scores)

    def plain(scores: Any, y: Any) -> Any:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores)

    return smoothed if smoothing else plain


def kullback_leibler(scores: Any, clean: Any) -> Any:
    """KL(softmax(clean) || softmax(scores)), (batch,), from two sets of logits."""
    before, after = tf.nn.log_softmax(clean), tf.nn.log_softmax(scores)
    return tf.reduce_sum(tf.exp(before) * (before - after), axis=-1)


def _within(norm: Norm, radius: Any) -> Draw:
    """Points drawn uniformly from a ball."""
    return lambda seed, shape: NORMS[norm].draw(seed, shape, radius)


def _uniform(seed: Any, shape: Any) -> Any:
    return tf.random.stateless_uniform(shape, seed, -1, 1)


def _normal(seed: Any, shape: Any) -> Any:
    return tf.random.stateless_normal(shape, seed)


def _adversary(
    model: Model, attack: Attack, loss: LossFunction | None, drawn: Drawn
) -> Callable[..., Any]:
    """(x, aim, seed, grown) -> x_adv, inside the training step's own graph.

    Unlike the attack that judges, it does not stop where a sample is wrong: what is
    learned from is the end of the path.
    """
    kind = Kind.of(attack)
    kind = replace(kind, row=replace(kind.row, keeps=False), loss=loss or kind.loss)
    loop = attack_loop(model, kind)

    def craft(x: Any, aim: Any, seed: Any, grown: Any) -> Any:
        epsilon = grown * attack.epsilon
        length = grown * (attack.epsilon * attack.step_size)
        if kind.is_direct:
            return tf.stop_gradient(loop(x, aim, length))
        start: Any = tf.zeros((), x.dtype)
        if kind.row.start == "ball":
            start = drawn(_within(attack.norm, epsilon), seed, x)
        elif kind.row.start == "corner":
            start = drawn(_normal, seed, x)
        decay = tf.constant(attack.decay, x.dtype)
        steps = tf.constant(attack.steps) if attack.steps > 1 else 1
        x_adv = loop(x, aim, length, start, epsilon, decay, steps)
        return tf.stop_gradient(x_adv)

    return craft


def _alignment(model: Model, x: Any, beside: Any, y: Any) -> Any:
    """The mean cosine between the input gradients at two points; itself differentiable."""
    here, there = (
        tf.reshape(
            scores_and_gradient(model, at, y, loss=cross_entropy_margin)[1], (tf.shape(x)[0], -1)
        )
        for at in (x, beside)
    )
    product = tf.reduce_sum(here * there, axis=1)
    sizes = tf.norm(here, axis=1) * tf.norm(there, axis=1)
    return tf.reduce_mean(product / (sizes + 1e-12))
