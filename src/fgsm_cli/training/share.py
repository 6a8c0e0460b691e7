"""A device's share of a training step, where several take it together.

The batch is dealt out like cards. Each device sums the loss of its own images and divides by the
size of the whole batch, so that the gradients, summed over the devices, are those of one device.
"""

from dataclasses import dataclass
from typing import Any

from ..backend import tf
from .objectives import Draw


@dataclass(frozen=True)
class Share:
    """The rows of a batch that one device has.

    rows: their places in the batch, at least one, as there are networks that no batch of none goes
        through. count: how many of them count, which is none where there are too few for all.
    total: the size of the batch.
    """

    rows: Any
    count: Any
    total: Any

    @classmethod
    def of(cls, total: Any, device: Any, devices: int) -> "Share":
        """The share of one device of several, of a batch of this size."""
        rows = tf.range(tf.minimum(device, total), total, devices)
        count = tf.size(rows)
        return cls(tf.cond(count > 0, lambda: rows, lambda: tf.zeros((1,), tf.int32)), count, total)

    @property
    def weight(self) -> Any:
        """What the mean over the share counts in the mean over the batch, float32."""
        return tf.cast(self.count / self.total, tf.float32)

    def drawn(self, draw: Draw, seed: Any, x: Any) -> Any:
        """Random points for these rows: those that one device would draw for them."""
        shape = tf.concat([[self.total], tf.shape(x)[1:]], 0)
        return tf.gather(draw(seed, shape), self.rows)
