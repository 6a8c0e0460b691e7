"""Bounds on a network over a ball: intervals, and CROWN's linear bounds.

    region = Region.around(x, 0.1, "linf")
    bounds = crown(network, region, y)    # the margins against every other class, from below

Interval bounds go forward (Gowal et al. 2018, arXiv 1810.12715): each value in a box. CROWN goes
backward (Zhang et al. 2018, arXiv 1811.00866): a rectifier of undecided sign lies between two
lines, so a margin is held from below by a linear function of the pixels, whose least value on the
ball is known. The line below may have any slope from the rectifier's own to 1; CROWN takes the one
that leaves less room, alpha-CROWN (Xu et al. 2021, arXiv 2011.13824) the best that it finds.

Values are (batch, ...), coefficients (batch, rows, ...): a row is one linear function.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..backend import tf
from ..data import PIXEL_RANGE
from ..family import Norm
from .network import Linear, Network, Rectifier

Box = tuple[Any, Any]

# Float32 pixels lie this near the true ball at most: x - epsilon and epsilon itself are rounded.
WIDENED = 2.0**-24
# How many coefficients are held at once, and the widest layer whose neurons CROWN bounds one by
# one; wider ones keep their intervals.
ROOM = 2**24
WIDEST = 2048


@dataclass(frozen=True)
class Region:
    """The pixels of a ball that lie in the pixel range.

    low, high: the box around it, (batch, ...). x: its centre. epsilon: its radius, a scalar.
    """

    low: Any
    high: Any
    x: Any
    epsilon: Any
    norm: Norm

    @classmethod
    def around(cls, x: Any, epsilon: Any, norm: Norm) -> "Region":
        """The ball around each of the images x (batch, ...), in the type of x.

        In float64 it is wide enough for whatever float32 makes of it.
        """
        radius = tf.cast(epsilon, x.dtype)
        if x.dtype == tf.float64:
            radius = tf.where(radius > 0, radius + WIDENED, 0.0)
        low, high = PIXEL_RANGE
        return cls(tf.maximum(x - radius, low), tf.minimum(x + radius, high), x, radius, norm)

    def least(self, coefficients: Any) -> Any:
        """The least value on the region of linear functions (batch, rows, ...): (batch, rows)."""
        rows = _flat(coefficients)
        if self.norm == "linf":
            return _least_in_box(rows, self.low, self.high)
        x, low, high = (_wide(one) for one in (self.x, self.low, self.high))
        room = tf.where(rows > 0, x - low, high - x)  # how far each pixel can go downhill
        slope = tf.abs(rows)
        fallen = (_fall_l1 if self.norm == "l1" else _fall_l2)(slope, room, self.epsilon)
        return tf.reduce_sum(rows * x, axis=-1) - fallen


def _fall_l1(slope: Any, room: Any, epsilon: Any) -> Any:
    """Max slope·v over 0 <= v <= room, sum v <= epsilon: the steepest pixels first."""
    order = tf.argsort(slope, axis=-1, direction="DESCENDING")
    slope = tf.gather(slope, order, axis=-1, batch_dims=2)
    room = tf.gather(tf.broadcast_to(room, tf.shape(slope)), order, axis=-1, batch_dims=2)
    before = tf.cumsum(room, axis=-1, exclusive=True)
    return tf.reduce_sum(slope * tf.clip_by_value(epsilon - before, 0, room), axis=-1)


def _fall_l2(slope: Any, room: Any, epsilon: Any) -> Any:
    """Max slope·v over 0 <= v <= room, |v|_2 <= epsilon, from above.

    For every t > 0 it is at most sum(slope v - t v^2 / 2) + t epsilon^2 / 2 at v = min(slope / t,
    room) (Lagrange); t is found by bisection, and any t gives a bound.
    """
    size = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=-1, keepdims=True))
    high = size / tf.maximum(epsilon, 1e-12) + 1e-12
    low = tf.zeros_like(high)
    for _ in range(30):
        t = (low + high) / 2
        moved = tf.minimum(tf.math.divide_no_nan(slope, t), room)
        is_inside = tf.reduce_sum(tf.square(moved), axis=-1, keepdims=True) <= epsilon**2
        low, high = tf.where(is_inside, low, t), tf.where(is_inside, t, high)
    moved = tf.minimum(tf.math.divide_no_nan(slope, high), room)
    gained = tf.reduce_sum(slope * moved - high * tf.square(moved) / 2, axis=-1)
    return gained + high[..., 0] * epsilon**2 / 2


def _flat(coefficients: Any) -> Any:
    shape = tf.shape(coefficients)
    size = coefficients.shape[2:].num_elements()
    return tf.reshape(coefficients, (shape[0], shape[1], size))


def _wide(values: Any) -> Any:
    """Values (batch, ...) as (batch, 1, size), to stand beside flat coefficients."""
    return tf.reshape(values, (tf.shape(values)[0], 1, values.shape[1:].num_elements()))


def _least_in_box(rows: Any, low: Any, high: Any) -> Any:
    low, high = _wide(low), _wide(high)
    middle, radius = (low + high) / 2, (high - low) / 2
    product = tf.matmul(rows, middle, transpose_b=True) - tf.matmul(
        tf.abs(rows), radius, transpose_b=True
    )
    return product[..., 0]


def intervals(network: Network, low: Any, high: Any) -> list[Box]:
    """The box of each value, (low, high) of shape (batch, ...), from the box of the pixels."""
    boxes: list[Box] = [(low, high)]
    for position in range(len(network.steps)):
        boxes.append(_box_after(network, position, boxes))
    return boxes


def _box_after(network: Network, position: int, boxes: list[Box]) -> Box:
    step = network.steps[position]
    given = [boxes[place] for place in step.inputs]
    if isinstance(step, Rectifier):
        [(low, high)] = given
        return tf.maximum(low, step.slope * low), tf.maximum(high, step.slope * high)
    if step.within:
        return step.within(*(low for low, _ in given)), step.within(*(high for _, high in given))
    middle = step.map(*((low + high) / 2 for low, high in given))
    radius = step.spread(*((high - low) / 2 for low, high in given))
    return middle - radius, middle + radius


def margins(network: Network, y: Any, dtype: Any) -> Any:
    """The rows logit y - logit k for every other class k = y + 1, y + 2, … (mod classes).

    y: (batch,). Returns (batch, classes - 1, classes).
    """
    classes = network.classes
    others = others_of(y, classes)
    own = tf.one_hot(y, classes, dtype=dtype)[:, tf.newaxis]
    return own - tf.one_hot(others, classes, dtype=dtype)


def others_of(y: Any, classes: int) -> Any:
    """The classes that are not y, in the order of ``margins``: (batch, classes - 1)."""
    return (tf.cast(y, tf.int32)[:, tf.newaxis] + tf.range(1, classes)) % classes


Slopes = Mapping[int, Any]


def least(
    network: Network,
    region: Region | None,
    rows: Any,
    boxes: list[Box],
    *,
    at: int | None = None,
    slopes: Slopes | None = None,
) -> Any:
    """A lower bound of linear functions of the value at a place: (batch, rows).

    rows: (batch, rows, ...), their coefficients. boxes: of every value before it that a
        rectifier takes. at: the place; by default the logits.
    region: where the pixels are; None stops at the rectifiers met first and takes their boxes,
        which is interval arithmetic with the last linear steps taken as one (Gowal et al. 2018).
    slopes: by position of a rectifier, the slope of the line below where its sign is undecided.
    """
    at = len(network.steps) if at is None else at
    held: dict[int, Any] = {at: rows}
    total = tf.zeros(tf.shape(rows)[:2], rows.dtype)
    for position in reversed(range(at)):
        rows = held.pop(position + 1, None)
        if rows is None:
            continue
        step = network.steps[position]
        if isinstance(step, Linear):
            if step.terms:
                total += _inner(rows, _offset(network, step, rows.dtype))
            for place, part in zip(step.inputs, _pulled(network, step, rows), strict=True):
                held[place] = held[place] + part if place in held else part
        elif region is None:
            total += _least_in_box(_flat(rows), *boxes[position + 1])
        else:
            below, above, lift = _lines(step, *boxes[step.inputs[0]], (slopes or {}).get(position))
            total += _inner(tf.minimum(rows, 0), lift[:, tf.newaxis])
            rows *= tf.where(rows > 0, below, above[:, tf.newaxis])
            place = step.inputs[0]
            held[place] = held[place] + rows if place in held else rows
    if 0 in held:
        pixels = held[0]
        total += region.least(pixels) if region else _least_in_box(_flat(pixels), *boxes[0])
    return total


def _inner(rows: Any, values: Any) -> Any:
    """Rows (batch, rows, ...) times values (batch or 1, 1 or rows, ...): (batch, rows)."""
    return tf.reduce_sum(rows * values, axis=list(range(2, rows.shape.rank)))


def _offset(network: Network, step: Linear, dtype: Any) -> Any:
    zeros = [tf.zeros((1, *network.shapes[place]), dtype) for place in step.inputs]
    return step.map(*zeros)[tf.newaxis]


def _pulled(network: Network, step: Linear, rows: Any) -> list[Any]:
    """The rows as functions of the step's inputs: each times W, by the step's own gradient."""
    batch, count = tf.shape(rows)[0], tf.shape(rows)[1]
    flat = tf.reshape(rows, (batch * count, *rows.shape[2:]))
    shapes = [network.shapes[place] for place in step.inputs]
    zeros = [tf.zeros((batch * count, *shape), rows.dtype) for shape in shapes]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(zeros)
        values = step.map(*zeros)
    pulled = tape.gradient(values, zeros, flat, unconnected_gradients="zero")
    return [
        tf.reshape(one, (batch, count, *shape)) for one, shape in zip(pulled, shapes, strict=True)
    ]


def _lines(step: Rectifier, low: Any, high: Any, slope: Any) -> tuple[Any, Any, Any]:
    """The lines around a rectifier: slope below (batch, 1 or rows, ...), slope above, its lift.

    Of decided sign the rectifier is a line itself. Otherwise the line above joins its ends, and
    the one below goes through 0.
    """
    undecided = (low < 0) & (high > 0)
    ends = tf.maximum(high, 0) - step.slope * tf.minimum(low, 0)
    width = tf.where(undecided, high - low, 1)
    is_on = tf.where(low >= 0, tf.ones_like(low), step.slope * tf.ones_like(low))
    above = tf.where(undecided, ends / width, is_on)
    lift = tf.where(undecided, tf.maximum(high, 0) * (1 - above), 0)
    if slope is None:
        slope = tf.where(high >= -low, tf.ones_like(low), step.slope * tf.ones_like(low))
        below = tf.where(undecided, slope, is_on)[:, tf.newaxis]
    else:
        below = tf.where(undecided[:, tf.newaxis], slope, is_on[:, tf.newaxis])
    return below, above, lift


def refined(network: Network, region: Region) -> list[Box]:
    """The box of each value, those that rectifiers take tightened by CROWN where it can help.

    It cannot where a value is one sum of pixels, whose interval is exact.
    """
    boxes: list[Box] = [(region.low, region.high)]
    sums = [0]  # how many sums of sums lie between the pixels and each value
    taken = {network.steps[position].inputs[0] for position in network.rectifiers}
    for position, step in enumerate(network.steps):
        low, high = _box_after(network, position, boxes)
        place, shape = position + 1, network.shapes[position + 1]
        is_linear = isinstance(step, Linear)
        mixes = isinstance(step, Linear) and step.mixes
        sums.append(max(sums[one] for one in step.inputs) + (mixes if is_linear else 2))
        size = low.shape[1:].num_elements()
        exact = sums[place] < 2 and region.norm == "linf"
        if place in taken and not exact and size <= WIDEST:
            lower = _row_by_row(network, region, boxes, place, shape, size)
            low = tf.maximum(low, tf.reshape(lower[:, :size], tf.shape(low)))
            high = tf.minimum(high, -tf.reshape(lower[:, size:], tf.shape(high)))
            high = tf.maximum(low, high)  # rounding may cross them where they are one
        boxes.append((low, high))
    return boxes


def _row_by_row(
    network: Network, region: Region, boxes: list[Box], place: int, shape: Any, size: int
) -> Any:
    """Lower bounds of every number of a value, then of its negative: (batch, 2 size).

    As many at once as there is room for.
    """
    batch, widest = tf.shape(region.low)[0], max(_size(one) for one in network.shapes)
    chunk = tf.clip_by_value(ROOM // (batch * widest), 1, 2 * size)

    def some(start: Any, found: Any) -> tuple[Any, Any]:
        which = tf.minimum(start + tf.range(chunk), 2 * size - 1)
        rows = tf.one_hot(which % size, size, dtype=region.low.dtype)
        rows *= tf.where(which < size, tf.ones((), rows.dtype), -1)[:, tf.newaxis]
        rows = tf.broadcast_to(rows[tf.newaxis], (batch, chunk, size))
        rows = tf.reshape(rows, (batch, chunk, *shape))
        lower = least(network, region, rows, boxes, at=place)
        return start + chunk, tf.concat([found, lower], axis=1)

    empty = tf.zeros((batch, 0), region.low.dtype)
    unknown = tf.TensorShape([None, None])
    _, found = tf.while_loop(
        lambda start, _: start < 2 * size,
        some,
        (tf.constant(0), empty),
        shape_invariants=(tf.TensorShape([]), unknown),
        parallel_iterations=1,
    )
    return found[:, : 2 * size]


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for one in shape:
        size *= one
    return size


def alpha_crown(
    network: Network, region: Region, rows: Any, boxes: list[Box], steps: int = 20
) -> Any:
    """The best lower bound met while the slopes of the lines below are moved up the bound.

    Every slope between the rectifier's own and 1 gives a bound, so none that is met is wrong.
    Adam on each row's slopes, from CROWN's own.
    """
    first = least(network, region, rows, boxes)
    count = tf.shape(rows)[1]
    places, start = list(network.rectifiers), []
    for position in places:
        step = network.steps[position]
        assert isinstance(step, Rectifier)
        low, high = boxes[step.inputs[0]]
        below, *_ = _lines(step, low, high, None)
        below = tf.clip_by_value(below, step.slope, 1)
        start.append(tf.repeat(below, count, axis=1))
    if not places:
        return first
    zeros = [tf.zeros_like(one) for one in start]

    def step_up(i: Any, best: Any, slopes: Any, mean: Any, square: Any) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(slopes)
            found = least(
                network, region, rows, boxes, slopes=dict(zip(places, slopes, strict=True))
            )
        gradients = tape.gradient(found, slopes, unconnected_gradients="zero")
        rate = 0.2 * 0.9 ** tf.cast(i, rows.dtype)
        turn = tf.cast(i + 1, rows.dtype)
        moved = []
        for k, position in enumerate(places):
            mean[k] = 0.9 * mean[k] + 0.1 * gradients[k]
            square[k] = 0.99 * square[k] + 0.01 * tf.square(gradients[k])
            pace = (mean[k] / (1 - 0.9**turn)) / (tf.sqrt(square[k] / (1 - 0.99**turn)) + 1e-9)
            lowest = network.steps[position].slope  # type: ignore[union-attr]
            moved.append(tf.clip_by_value(slopes[k] + rate * pace, lowest, 1))
        return i + 1, tf.maximum(best, found), moved, mean, square

    state = (tf.constant(0), first, start, zeros, list(zeros))
    return tf.while_loop(lambda i, *_: i < steps, step_up, state, parallel_iterations=1)[1]


Bound = Callable[[Network, Region, Any], tuple[Any, list[Box]]]


def _ibp(network: Network, region: Region, y: Any) -> tuple[Any, list[Box]]:
    boxes = intervals(network, region.low, region.high)
    return least(network, None, margins(network, y, region.x.dtype), boxes), boxes


def _crown_ibp(network: Network, region: Region, y: Any) -> tuple[Any, list[Box]]:
    found, boxes = _ibp(network, region, y)
    rows = margins(network, y, region.x.dtype)
    return tf.maximum(found, least(network, region, rows, boxes)), boxes


def _crown(network: Network, region: Region, y: Any) -> tuple[Any, list[Box]]:
    boxes, rows = refined(network, region), margins(network, y, region.x.dtype)
    found = least(network, region, rows, boxes)
    # No line below a rectifier is its box's flat bottom, which may hold a margin higher.
    return tf.maximum(found, least(network, None, rows, boxes)), boxes


def _alpha_crown(network: Network, region: Region, y: Any) -> tuple[Any, list[Box]]:
    boxes, rows = refined(network, region), margins(network, y, region.x.dtype)
    return alpha_crown(network, region, rows, boxes), boxes


# What bounds the margins logit y - logit k of every other class k from below.
BOUNDS: Mapping[str, Bound] = {
    "ibp": _ibp,
    "crown-ibp": _crown_ibp,
    "crown": _crown,
    "alpha-crown": _alpha_crown,
}
