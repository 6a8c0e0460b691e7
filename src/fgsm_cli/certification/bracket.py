"""The bracket: of every image, whether anything in the ball turns it, as far as that is known.

    found = bracket(classifier, images, [(attack,)], certifier, batch_size=1000, ...)

Bounds prove images robust, attacks break others; what neither does is undecided until a search
settles it. An image that is robust in a ball is so in a smaller one, and one that is broken
stays so in a larger.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backend import compiled, tf
from ..branching import Found, Query
from ..data import ImageSet
from ..errors import FgsmError
from ..evaluation import Contest, check_budget, judge, look_at, score_of
from ..family import Norm
from ..models import Classifier
from ..norms import NORMS
from ..relaxation import BOUNDS, ROOM, Network, Region, margins, network_of, others_of, slack
from ..training import Progress
from .exact import program_of, settled

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Certifier:
    """What bounds a classifier's margins on balls.

    margins(x, y, epsilon): of float32 images (batch, ...), the least margin against every other
        class, (batch, classes - 1), beyond what rounding may do to it; that slack; and the boxes of
        what each rectifier takes.
    batch: how many images it has room for at once.
    """

    network: Network
    norm: Norm
    margins: Callable[..., Any]
    batch: int

    def least(self, images: ImageSet, epsilon: float, batch_size: int) -> NDArray[np.float64]:
        """The least margin of each image, (n,); a ball of one point is asked, not bounded."""
        parts = []
        for x, y in _pairs(images, min(batch_size, self.batch)):
            found, *_ = self.margins(x, y, tf.constant(epsilon, tf.float64))
            parts.append(found.numpy().min(axis=1))
        return np.concatenate(parts) if parts else np.zeros(0)


@functools.lru_cache(maxsize=16)
def certifier_of(
    classifier: Classifier, image_shape: tuple[int, ...], norm: Norm, method: str
) -> Certifier:
    """The bounds of a classifier by a row of ``BOUNDS``. Raises FgsmError as ``network_of``."""
    network = network_of(classifier, image_shape)

    @compiled
    def find(x: Any, y: Any, epsilon: Any) -> Any:
        region = Region.around(tf.cast(x, tf.float64), epsilon, norm)
        found, boxes = BOUNDS[method](network, region, y)
        lost = slack(network, margins(network, y, tf.float64), boxes)
        taken = {i: boxes[network.steps[i].inputs[0]] for i in network.rectifiers}
        return found - lost, lost, taken

    widest = max(int(np.prod(shape)) for shape in network.shapes)
    batch = max(1, 4 * ROOM // (widest * (network.classes - 1)))
    return Certifier(network, norm, find, batch)


def proved(
    classifier: Classifier,
    images: ImageSet,
    norm: Norm,
    epsilon: float,
    right: Flags,
    stands: Flags,
    batch_size: int,
) -> Flags:
    """Which of the images that are right nothing in the ball turns, by CROWN: (n,).

    stands: which of them an attack in that ball has left right.
    Raises FgsmError if it has turned one of those proved.
    """
    if not epsilon:
        return right
    certifier = certifier_of(classifier, images.shape, norm, "crown")
    sure = right & (certifier.least(images, epsilon, batch_size) > 0)
    _refuse_crossing(classifier, sure & ~stands)
    return sure


def _refuse_crossing(classifier: Classifier, crossed: Flags) -> None:
    if crossed.any():
        raise FgsmError(
            f"{classifier.path or 'the model'} has images that are proved robust and broken at "
            "once, so that neither would mean anything; does it compute in less than float32?"
        )


@dataclass(frozen=True)
class Search:
    """How far an exact search goes: seconds an image, and processes (None: one a processor)."""

    seconds: float
    jobs: int | None


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of each image at one epsilon.

    robust, broken: proved, and by a forward pass; never both, nor of an image that is wrong to
        begin with. lowest: what is proved of the margin, at least. x_adv: by position, what
        breaks the broken ones.
    searched: how many images a search was needed for, and settled: how many it decided.
    """

    epsilon: float
    robust: Flags
    broken: Flags
    lowest: NDArray[np.float64]
    x_adv: Mapping[int, NDArray[np.float32]]
    searched: int
    settled: int


def bracket(
    classifier: Classifier,
    images: ImageSet,
    contests: Sequence[Contest],
    certifier: Certifier,
    *,
    search: Search | None,
    batch_size: int,
    seed: int,
    progress: Progress,
) -> tuple[Flags, tuple["Known", ...], tuple[str, ...]]:
    """Which clean images are right; what is known at each contest's epsilon; the attacks' doubts.

    contests: attacks of rising epsilon, in the certifier's norm; each the strongest at hand.
    Raises FgsmError as ``judge`` does.
    """
    n = len(images)
    right = np.concatenate([look_at(classifier)(x, y)[1] for x, y in _pairs(images, batch_size)])
    kept = np.flatnonzero(right)
    epsilons = [contest[0].epsilon for contest in contests]
    lowest = np.full((len(epsilons), n), -np.inf)
    robust, broken = np.zeros((2, len(epsilons), n), bool)
    for k, epsilon in enumerate(epsilons):
        progress("Bounding", k * n, len(epsilons) * n, f"epsilon {epsilon:.4g}")
        lowest[k, kept] = certifier.least(images.take(kept), epsilon, batch_size)
        robust[k] = right & (lowest[k] > 0) if epsilon else right
    robust = np.logical_or.accumulate(robust[::-1])[::-1]
    x_adv: dict[int, NDArray[np.float32]] = {}
    warnings: list[str] = []
    found = []
    for k, contest in enumerate(contests):
        if k:
            broken[k] = broken[k - 1]
        open_ = np.flatnonzero(right & ~robust[k] & ~broken[k])
        if len(open_):
            turned, doubts = _attacked(
                classifier, images.take(open_), open_, contest, batch_size, seed, progress
            )
            warnings += doubts
            x_adv = {**x_adv, **{int(open_[i]): x for i, x in turned.items()}}
            broken[k, open_[list(turned)]] = True
            open_ = open_[~broken[k, open_]]
        before = len(open_)
        if search and len(open_):
            for answer in _searched(images, certifier, contest, open_, search, progress):
                lowest[k, answer.index] = max(lowest[k, answer.index], answer.lowest)
                robust[k, answer.index] = answer.state == "robust"
                if (
                    answer.x is not None
                    and (moved := _confirmed(classifier, images, contest, answer)) is not None
                ):
                    broken[k, answer.index] = True
                    x_adv = {**x_adv, answer.index: moved}
        done = int(np.sum(robust[k, open_] | broken[k, open_]))
        found.append((contest[0].epsilon, x_adv, before if search else 0, done))
    robust = np.logical_or.accumulate(robust[::-1])[::-1]
    _refuse_crossing(classifier, robust & broken)
    known = tuple(
        Known(epsilon, robust[k], broken[k], lowest[k], examples, searched, settled_)
        for k, (epsilon, examples, searched, settled_) in enumerate(found)
    )
    return right, known, tuple(dict.fromkeys(warnings))


def _pairs(images: ImageSet, size: int) -> Any:
    """Pixels and labels, ``size`` at a time."""
    for start in range(0, len(images), size):
        batch = images.take(np.arange(start, min(start + size, len(images))))
        yield tf.constant(batch.pixels()), tf.constant(batch.known_labels)


def _attacked(
    classifier: Classifier,
    images: ImageSet,
    numbers: NDArray[np.intp],
    contest: Contest,
    batch_size: int,
    seed: int,
    progress: Progress,
) -> tuple[dict[int, NDArray[np.float32]], tuple[str, ...]]:
    """What the worst of the attacks makes of the images that it turns, by their position.

    numbers: the places of the images in their set, which their random starts are drawn by.
    """
    made: dict[int, NDArray[np.float32]] = {}

    def keep(_: int, indices: NDArray[np.intp], x_adv: NDArray[np.float32]) -> None:
        made.update(zip(indices.tolist(), x_adv, strict=True))

    judged = judge(
        classifier,
        images,
        [contest],
        batch_size=batch_size,
        seed=seed,
        progress=progress,
        keep=keep,
        numbers=numbers,
    )
    turned = np.flatnonzero(~judged.still[0]).tolist()
    return {i: made[i] for i in turned}, judged.results[0].warnings


def _searched(
    images: ImageSet,
    certifier: Certifier,
    contest: Contest,
    places: NDArray[np.intp],
    search: Search,
    progress: Progress,
) -> Any:
    """The answers of an exact search for the images at these places."""
    epsilon, network = contest[0].epsilon, certifier.network
    queries = []
    for place in places:
        one = images.take(np.array([place]))
        [(x, y)] = _pairs(one, 1)
        found, lost, taken = certifier.margins(x, y, tf.constant(epsilon, tf.float64))
        region = Region.around(tf.cast(x, tf.float64), epsilon, certifier.norm)
        [bounds], [slacks] = found.numpy(), lost.numpy()
        [others] = others_of(y, network.classes).numpy()
        order = [i for i in np.argsort(bounds) if bounds[i] <= 0]
        queries.append(
            Query(
                index=int(place),
                low=region.low.numpy().reshape(-1),
                high=region.high.numpy().reshape(-1),
                label=int(y[0]),
                others=tuple(int(others[i]) for i in order),
                bounds=tuple(float(bounds[i]) for i in order),
                slacks=tuple(float(slacks[i]) for i in order),
                boxes={
                    i: (low.numpy().reshape(-1), high.numpy().reshape(-1))
                    for i, (low, high) in taken.items()
                },
                seconds=search.seconds,
            )
        )
    for done, answer in enumerate(settled(program_of(network), queries, search.jobs)):
        progress("Searching", done + 1, len(queries), f"epsilon {epsilon:.4g}")
        yield answer


def _confirmed(
    classifier: Classifier, images: ImageSet, contest: Contest, answer: Found
) -> NDArray[np.float32] | None:
    """The point that a search found, as float32 pixels, if the model itself answers it wrong."""
    attack = contest[0]
    [(x, y)] = _pairs(images.take(np.array([answer.index])), 1)
    assert answer.x is not None
    point = tf.constant(answer.x.reshape(x.shape), tf.float32)
    point = NORMS[attack.norm].ball(x, tf.constant(attack.epsilon, tf.float32))(point)
    scored = score_of(classifier, attack.norm)(x, point, y, y)
    check_budget(attack, scored.distance.numpy(), float(scored.lowest), float(scored.highest))
    [still] = scored.still.numpy()
    moved: NDArray[np.float32] = point.numpy()[0]
    return None if still else moved
