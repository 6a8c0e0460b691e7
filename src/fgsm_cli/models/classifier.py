"""The classifier that every attack works with: pixels in 0..1 in, logits out.

classifier = load_classifier("model.keras")
classifier(x)                         # logits (batch, classes) at pixels in 0..1
logits(model, x)                      # of any Keras model, by what Keras recorded
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

from ..backend import keras, tf
from ..config import OutputKind
from ..errors import FgsmError
from ..ranges import UNIT, PixelRange
from .shapes import arrangement

Model = Callable[..., Any]


def logits(model: Model, x: Any, *, training: bool = False) -> Any:
    """The model's logits at x (batch, ...), by default at rest: dropout off, batch norm fixed.

    A Keras model whose last operation is a softmax gives what went into it: Keras records
    that on the output. Any other callable gives what it returns.
    """
    outputs = model(x, training=training) if isinstance(model, keras.Model) else model(x)
    return getattr(outputs, "_keras_logits", outputs)


@dataclass(frozen=True, eq=False)
class Classifier:
    """A Keras model that was looked at, and answers with logits.

    head: what the model itself gives: "logits", "log-softmax", "softmax", whose logits are
        recovered, or "probabilities" whose logits are not, so that their logarithm stands in;
        where one number tells two classes apart, "sigmoid" or "logit".
    input_shape: the shape of one image, None where any size will do.
    range: the values that the model takes for black and white; range_source: how that is known.
    scores: what gives the head's logits at the model's own input, (batch, ...); by default the
        model itself. is_exact: whether these are the logits, and not computed back from
        probabilities, which may have rounded to 0 or 1.
    notes: what a reader of the numbers should know of the model, in sentences.
    others: the same classifier on the further devices that compute, one each.
    """

    model: Any
    head: OutputKind
    classes: int
    input_shape: tuple[int | None, ...]
    path: str = ""
    sha256: str = ""
    range: PixelRange = UNIT
    range_source: str = "assumed"
    scores: Model | None = None
    is_exact: bool = True
    notes: tuple[str, ...] = ()
    others: tuple["Classifier", ...] = ()

    @property
    def copies(self) -> tuple["Classifier", ...]:
        """The classifier on every device, the first one first."""
        return (self, *self.others)

    def __call__(self, x: Any) -> Any:
        """Logits (batch, classes), float32, at pixels x (batch, ...) in 0..1.

        x may have another shape than the model's input, as ``check`` allows it.
        """
        taken = self.taken(x)
        outputs = self.scores(taken) if self.scores else logits(self.model, taken)
        outputs = tf.cast(outputs, tf.float32)
        if self.is_binary and outputs.shape[-1] == 1:
            outputs = tf.concat([tf.zeros_like(outputs), outputs], axis=-1)
        return outputs

    @property
    def is_binary(self) -> bool:
        """Whether one number tells two classes apart."""
        return self.head in ("sigmoid", "logit") and self.classes == 2

    def taken(self, x: Any) -> Any:
        """What the model takes for pixels x (batch, ...) in 0..1: its range, its shape."""
        shape = tuple(x.shape[1:])
        if not self.range.is_unit:
            low, width = self._ends(shape)
            x = tf.cast(low, x.dtype) + x * tf.cast(width, x.dtype)
        if None in shape:
            return tf.reshape(x, (-1, *self.input_shape))
        fit = arrangement(shape, self.input_shape)
        if fit is None:
            self._refuse(shape)
        if fit.axes:
            x = tf.reshape(x, (-1, *fit.bare))
            x = tf.transpose(x, (0, *(axis + 1 for axis in fit.axes)))
        return tf.reshape(x, (-1, *fit.shape))

    def check(self, image_shape: Sequence[int]) -> None:
        """Raise FgsmError unless the model takes images of that shape."""
        shape = tuple(image_shape)
        if arrangement(shape, self.input_shape) is None:
            self._refuse(shape)
        if not self.range.is_unit:
            self._ends(shape)

    def _refuse(self, shape: tuple[int, ...]) -> NoReturn:
        wanted = str(tuple(self.input_shape)).replace("None", "any")
        same_size = prod(shape) == prod(size or 0 for size in self.input_shape)
        is_flat = 1 in (len(shape), len(self.input_shape))
        reason = ", whose pixels may be in any order" if same_size and is_flat else ""
        raise FgsmError(
            f"{self.path or 'the model'} takes images of shape {wanted}. Received: {shape}{reason}"
        )

    def _ends(self, shape: tuple[int | None, ...]) -> tuple[Any, Any]:
        """The low end and the width of the range, shaped to be combined with a batch of images."""
        low, width = self.range.black, self.range.width
        channels = len(low)
        if channels == 1:
            return low[0], width[0]
        if len(shape) == 3 and shape[-1] == channels:
            return low, width
        if len(shape) == 3 and shape[0] == channels:
            return low.reshape(-1, 1, 1), width.reshape(-1, 1, 1)
        raise FgsmError(
            f"{self.range_source} gives {channels} values, one a channel; expected images of "
            f"{channels} channels. Received: {shape}"
        )
