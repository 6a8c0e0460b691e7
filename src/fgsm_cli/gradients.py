"""The loss, and get_grads: the input gradient.

    gradient = get_grads(model, x, y)                      # of a classifier's loss
    get_grads(lambda x: x**2 + x + 4, 3.14)                # 7.28

The loss of a label is cross-entropy, softplus(m), where m = logsumexp(other logits) - logit of
the label. What is differentiated is m itself: d softplus(m) = sigmoid(m) dm with sigmoid(m) > 0,
so both gradients point the same way, but where a network is sure of itself sigmoid(m) rounds to
zero in float32, and m goes on. ``docs/gradients.md`` tells the whole story.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from .backend import as_written, tf
from .errors import FgsmError
from .family import Loss
from .models import Model, logits

LossFunction = Callable[[Any, Any], Any]


def cross_entropy_margin(logits: Any, y: Any) -> Any:
    """M = logsumexp(other logits) - logit of the label; cross-entropy is softplus(m).

    logits: (batch, classes). y: (batch,), integers. Returns (batch,).
    """
    own = tf.one_hot(y, tf.shape(logits)[-1], on_value=True, off_value=False, dtype=tf.bool)
    others = tf.where(own, tf.constant(-float("inf"), logits.dtype), logits)
    return tf.reduce_logsumexp(others, axis=-1) - tf.gather(logits, y, batch_dims=1)


def cross_entropy(logits: Any, y: Any) -> Any:
    """Cross-entropy as it is written, -log softmax(logits)[y], in the dtype of the logits.

    What Foolbox, ART and CleverHans ascend; saturates. Same shapes as above.
    """
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)


def margin(logits: Any, y: Any) -> Any:
    """The largest other logit minus the label's: above 0 where the label is not the answer.

    Carlini & Wagner 2017, arXiv 1608.04644. Same shapes as above.
    """
    own = tf.one_hot(y, tf.shape(logits)[-1], on_value=True, off_value=False, dtype=tf.bool)
    others = tf.where(own, tf.constant(-float("inf"), logits.dtype), logits)
    return tf.reduce_max(others, axis=-1) - tf.gather(logits, y, batch_dims=1)


def dlr(logits: Any, y: Any) -> Any:
    """Difference of logits ratio: the margin over the largest minus the third largest logit.

    Croce & Hein 2020, arXiv 2003.01690; it does not change when the logits are scaled.
    Raises FgsmError where there are fewer than three classes. Same shapes as above.
    """
    if logits.shape[-1] is not None and logits.shape[-1] < 3:
        raise FgsmError(f"loss dlr needs at least three classes. Received: {logits.shape[-1]}")
    largest = tf.math.top_k(logits, 3).values
    return margin(logits, y) / (largest[:, 0] - largest[:, 2] + 1e-12)


LOSSES: Mapping[Loss, LossFunction] = {
    "ce": cross_entropy_margin,
    "ce-float32": cross_entropy,
    "margin": margin,
    "dlr": dlr,
}


@as_written
def get_grads(
    model: Model,
    x: Any,
    y: Any = None,
    *,
    loss: Loss = "ce",
    unconnected: Literal["raise", "zero"] = "raise",
) -> Any:
    """The gradient of each sample's loss with respect to the sample itself.

    model: a Keras model, a ``Classifier``, or any function of a tensor; a classifier gives
        logits or a softmax (whose logits Keras recorded), shape (batch, classes).
    x: a batch (batch, ...) or, with a single label, one image; a tensor, a variable, an array
        or nested lists, of any float or integer type. float32 and float64 are kept,
        everything else becomes float32. Integers are not scaled.
    y: integer labels (batch,), or one label for one image. None differentiates the output
        itself, summed: for a function that gives one number a sample.
    loss: a key of ``LOSSES``: "ce" never saturates, "ce-float32" is the literal form.
    unconnected: what to do where the output does not depend on the input.

    Returns a tensor of x's shape: losses are summed, never averaged, so that a sample's
    gradient does not depend on its batch. The model runs at rest (``training=False``) and its
    weights are neither watched nor changed. Works eagerly and inside ``tf.function``.

    Raises FgsmError if the output does not depend differentiably on the input
    (unless ``unconnected="zero"``), or for arguments that do not fit.
    """
    if unconnected not in ("raise", "zero"):
        raise FgsmError(f"unconnected must be raise or zero. Received: {unconnected!r}")
    x, y = tensors(x, y)
    if single := y is not None and y.shape.rank == 0:
        x, y = x[tf.newaxis], y[tf.newaxis]
    _, gradient = scores_and_gradient(model, x, y, loss=loss, unconnected=unconnected)
    return gradient[0] if single else gradient


def scores_and_gradient(
    model: Model,
    x: Any,
    y: Any,
    *,
    loss: Loss | LossFunction,
    unconnected: Literal["raise", "zero"] = "raise",
) -> tuple[Any, Any]:
    """The model's output at x, and the gradient of ``get_grads``, from one forward pass.

    x: a batch of float tensors. y: int64 labels, or None; whatever a loss that is a function
    takes. What the attack loops call.
    """
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x)
        outputs = logits(model, x)
        ascended = _ascended(outputs, y, loss)
    gradient = tape.gradient(ascended, x)
    if gradient is None:
        if unconnected != "zero":
            raise FgsmError(
                "the model's output does not depend differentiably on its input, so there is no "
                "gradient; expected a network without rounding, argmax or integer casts"
            )
        gradient = tf.zeros_like(x)
    return outputs, tf.convert_to_tensor(gradient)  # a gather on x gives slices


def tensors(x: Any, y: Any) -> tuple[Any, Any]:
    """X as a float tensor that can be watched, y as an integer tensor."""
    try:
        x = tf.convert_to_tensor(x)
    except (TypeError, ValueError) as error:
        raise FgsmError(f"x must be an array of numbers. Received: {type(x).__name__}") from error
    if x.dtype not in (tf.float32, tf.float64):
        if not (x.dtype.is_floating or x.dtype.is_integer or x.dtype.is_bool):
            raise FgsmError(f"x must hold real numbers. Received: {x.dtype.name}")
        x = tf.cast(x, tf.float32)
    if y is not None:
        try:
            y = tf.convert_to_tensor(y)
        except (TypeError, ValueError) as error:
            raise FgsmError(f"y must hold integers. Received: {type(y).__name__}") from error
        if not y.dtype.is_integer:
            raise FgsmError(f"y must hold integer labels. Received: {y.dtype.name}")
        if y.shape.rank not in (0, 1):
            raise FgsmError(f"y must hold one label a sample. Received: shape {tuple(y.shape)}")
        y = tf.cast(y, tf.int64)
    if y is not None and x.shape.rank == 0:
        raise FgsmError("x must hold a batch of samples, or one. Received: a single number")
    if 0 in x.shape.as_list()[: 1 if y is None or y.shape.rank else 0]:
        raise FgsmError("x must hold at least one sample. Received: none")
    return x, y


def _ascended(outputs: Any, y: Any, loss: Loss | LossFunction) -> Any:
    """What is differentiated, one number a sample, checked as far as it is known."""
    if not tf.is_tensor(outputs):
        raise FgsmError(
            f"the model must give one tensor of scores. Received: {type(outputs).__name__}"
        )
    if y is None:
        if outputs.shape.rank is not None and outputs.shape.rank > 1 and outputs.shape[-1] != 1:
            raise FgsmError(
                f"y, the labels, must be given for a model with {outputs.shape[-1]} scores"
            )
        return outputs
    if not isinstance(loss, str) and callable(loss):
        return loss(outputs, y)
    if not isinstance(loss, str) or loss not in LOSSES:
        raise FgsmError(f"loss must be one of {', '.join(LOSSES)}. Received: {loss!r}")
    if outputs.shape.rank != 2 or (outputs.shape[1] is not None and outputs.shape[1] < 2):
        raise FgsmError(
            "the model must give at least two scores a sample, (batch, classes). "
            f"Received: {tuple(outputs.shape)}"
        )
    if tf.executing_eagerly():
        check_labels(y, outputs.shape[1], len(outputs))
    return LOSSES[loss](outputs, y)


def check_labels(y: Any, classes: int, n: int) -> None:
    """Raise FgsmError unless y, an eager tensor, holds n labels in 0..classes - 1."""
    if len(y) != n:
        raise FgsmError(f"y must hold {n} labels, one a sample. Received: {len(y)}")
    worst = y[tf.argmax(tf.abs(2 * y - (classes - 1)))]
    if not 0 <= int(worst) < classes:
        raise FgsmError(f"y must hold labels from 0 to {classes - 1}. Received: {int(worst)}")
