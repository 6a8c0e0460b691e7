"""What the machine itself allows: the least that a gradient-sign step can take on these shapes.

The products of matrices that the gradient of an MLP needs, forward and backward, by the same
library and in batches of whatever size is fastest, and one pass over the images that reads two
arrays and writes one. Nothing else is done: no bias, no activation, no loss, no sign, no range.
"""

from typing import Any

from fgsm_cli.backend import keras, tf

from .peers import Crafter, Labels, Pixels

LIMIT = "limit of the machine"

# The share of our time that the machine needs anyway is to be at least this.
GOAL = 0.75

SMALL = 1e-3


def limit(model: Any, steps: int = 1) -> Crafter:
    """So many steps of the least work, on tensors that lie in memory already."""
    dense = [layer for layer in model.layers if isinstance(layer, keras.layers.Dense)]
    # Small weights, so that many rounds do not overflow.
    weights = [tf.constant(SMALL * layer.kernel.numpy()) for layer in dense]

    @tf.function(autograph=False)
    def least(x: Any) -> Any:
        def step(i: Any, point: Any) -> tuple[Any, Any]:
            rows = flat = tf.reshape(point, (tf.shape(point)[0], -1))
            for weight in weights:
                rows = rows @ weight
            for weight in reversed(weights):
                rows = tf.matmul(rows, weight, transpose_b=True)
            return i + 1, tf.reshape(flat + rows, tf.shape(point))

        return tf.while_loop(lambda i, _: i < steps, step, (0, x))[1]

    kept: dict[tuple[int, int], list[Any]] = {}

    def crafter(x: Pixels, y: Labels, batch_size: int) -> list[Pixels]:
        del y
        key = (id(x), batch_size)
        if key not in kept:
            starts = range(0, len(x), batch_size)
            kept[key] = [tf.constant(x[start : start + batch_size]) for start in starts]
        return [least(part) for part in kept[key]]

    return crafter
