"""What a report shows beyond the counts: a model under one attack, drawn in the same run.

    portrait = portray(classifier, images, contest, judged, batch_size=1000, seed=0, ...)

Classes and flows are counted from the answers that the judge has anyway. The course of accuracy
over epsilon takes one gradient and some forty forward passes an image, so it follows no more images
than hold ``FOLLOWED_PIXELS``; pictures are few, and fewer where they are large.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backend import tf
from .curve import Traced, direction_of, trace_curve, trace_noise
from .data import PIXEL_RANGE, ImageSet
from .evaluation import Contest, Judged, judge, look_at
from .family import Attack, Norm, attack_named
from .models import Classifier
from .results import Answer, Course, Flow, Group, Picture, Portrait, Tally
from .training import Progress

FOLLOWED_PIXELS = 8_000_000  # the whole of MNIST's 10,000 test images
FOLLOWED_LEAST = 100
STEPS = 20
PICTURES = 24
PICTURED_PIXELS = 500_000  # what 1.5 MB of HTML have room for

Places = NDArray[np.intp]


def portray(
    classifier: Classifier,
    images: ImageSet,
    contest: Contest,
    judged: Judged,
    position: int = 0,
    *,
    epsilons: Sequence[float] = (),
    traced: Traced | None = None,
    batch_size: int,
    seed: int,
    progress: Progress,
) -> Portrait:
    """The portrait of a model under the contest that was judged at that position.

    epsilons: of the course; by default ``course_grid`` of the contest's. traced: what is known of
        all images at them, if it is.
    """
    labelled = images.labels is not None
    named = images if labelled else replace(images, labels=judged.answers.astype(np.int64))
    attack = direct(contest[0])
    grid = tuple(epsilons) or course_grid([contest[0].epsilon], attack.norm)
    attack = replace(attack, epsilon=grid[-1])
    followed = evenly(len(images), len(images) if traced else bound(images.shape))
    part = named.take(followed)
    if traced is None:
        traced = trace_curve(
            classifier, part, attack, grid, batch_size=batch_size, progress=progress
        )
    noise = trace_noise(
        classifier, part, attack.norm, grid, batch_size=batch_size, seed=seed, progress=progress
    )
    return Portrait(
        attack=judged.results[position].attack or contest[0],
        classes=_names(classifier, images),
        labelled=labelled,
        tallies=_tallies(named.known_labels, judged.right, judged.still[position]),
        flows=_flows(judged.answers, judged.given[position]),
        course=_course(attack, grid, traced, noise),
        gallery=_gallery(
            classifier,
            named,
            contest,
            attack,
            grid,
            _hung(traced, followed, room_for(images.shape), seed),
            seed=seed,
            labelled=labelled,
            progress=progress,
        ),
    )


def direct(attack: Attack) -> Attack:
    """The attack itself if it is one step from the image, else FGSM in its norm and loss."""
    if attack.is_direct:
        return replace(attack, step_size=1.0, restarts=1)
    return attack_named(
        "fgsm",
        epsilon=attack.epsilon,
        norm=attack.norm,
        loss=attack.loss,
        target=attack.target,
        labels=attack.labels,
    )


def course_grid(epsilons: Sequence[float], norm: Norm) -> tuple[float, ...]:
    """Epsilons from 0 to twice the largest one asked for, evenly, and all that were asked for.

    Not beyond the pixel range, where Linf has nothing more to gain.
    """
    farthest = max(epsilons) or 0.1
    end = max(farthest, 1.0) if norm == "linf" and farthest > 0.5 else 2 * farthest
    even = [round(end * step / STEPS, 12) for step in range(STEPS + 1)]
    asked = sorted(set(epsilons))
    apart = [one for one in even if all(abs(one - other) > end / 1000 for other in asked)]
    return tuple(sorted({0.0, *apart, *asked}))


def bound(shape: Sequence[int]) -> int:
    """How many images of this shape a course follows at most."""
    return max(FOLLOWED_LEAST, FOLLOWED_PIXELS // prod(shape))


def room_for(shape: Sequence[int]) -> int:
    """How many images of this shape a gallery has room for; at least one."""
    return max(1, min(PICTURES, PICTURED_PIXELS // prod(shape)))


def evenly(n: int, most: int) -> Places:
    """At most so many of n places, evenly spaced, so that a set in order of class is met whole."""
    return np.arange(n) if n <= most else np.arange(most) * n // most


def _names(classifier: Classifier, images: ImageSet) -> tuple[str, ...]:
    names = images.class_names
    return tuple(
        names[label] if label < len(names) else str(label) for label in range(classifier.classes)
    )


def _tallies(labels: Any, right: Any, still: Any) -> tuple[Tally, ...]:
    """The classes that occur, each with its images and those right before and after."""
    size = int(labels.max()) + 1
    whole, clean, left = (
        np.bincount(labels[chosen], minlength=size) for chosen in (slice(None), right, still)
    )
    return tuple(
        Tally(int(label), int(whole[label]), int(clean[label]), int(left[label]))
        for label in np.flatnonzero(whole)
    )


def _flows(before: Any, after: Any) -> tuple[Flow, ...]:
    pairs, counts = np.unique(np.stack([before, after]), axis=1, return_counts=True)
    return tuple(
        Flow(int(one), int(other), int(n)) for (one, other), n in zip(pairs.T, counts, strict=True)
    )


def _course(
    attack: Attack, grid: tuple[float, ...], traced: Traced, noise: tuple[int, ...]
) -> Course:
    begun = traced.smallest[traced.right[0]]
    fallen, _ = np.histogram(begun[np.isfinite(begun)], bins=grid)
    return Course(
        attack=attack,
        n=traced.right.shape[1],
        epsilons=grid,
        correct=tuple(int(row.sum()) for row in traced.right),
        noise_correct=noise,
        fallen=tuple(int(one) for one in fallen),
        never=int(np.isnan(begun).sum()),
    )


Hung = Sequence[tuple[Group, int, float | None]]


def _hung(traced: Traced, followed: Places, room: int, seed: int) -> Hung:
    """Which images hang in the gallery: group, place in the set, smallest epsilon."""
    smallest = np.where(np.isnan(traced.smallest), np.inf, traced.smallest)
    rng = np.random.default_rng(seed)  # among equals, such as those never turned, by lot
    right = rng.permutation(np.flatnonzero(traced.right[0]))
    ordered = right[np.argsort(smallest[right], kind="stable")]
    shares = [(room + 2 - turn) // 3 for turn in range(3)]
    hardest = ordered[::-1][: shares[0]]
    easiest = ordered[: min(shares[1], len(ordered) - len(hardest))]
    others = np.setdiff1d(np.arange(len(followed)), [*hardest, *easiest])
    drawn = rng.permutation(others)[: shares[2]]
    groups: list[tuple[Group, Any]] = [("hardest", hardest), ("easiest", easiest)]
    groups.append(("random", np.sort(drawn)))
    return [
        (group, int(followed[one]), float(smallest[one]) if np.isfinite(smallest[one]) else None)
        for group, chosen in groups
        for one in chosen
    ]


def _gallery(
    classifier: Classifier,
    images: ImageSet,
    contest: Contest,
    attack: Attack,
    grid: Sequence[float],
    hung: Hung,
    *,
    seed: int,
    labelled: bool,
    progress: Progress,
) -> tuple[Picture, ...]:
    """The pictures: the run's own adversarial images, made again, and the way along the course."""
    places = np.array([place for _, place, _ in hung])
    chosen = images.take(places)
    x, y = tf.constant(chosen.pixels()), tf.constant(chosen.known_labels)
    x_adv = chosen.pixels()

    def keep(_: int, indices: Any, moved: Any) -> None:
        x_adv[indices] = moved

    judge(
        classifier,
        chosen,
        [contest],
        batch_size=len(chosen),
        seed=seed,
        progress=progress,
        keep=keep,
        numbers=places,
    )
    direction, _ = direction_of(classifier, attack, x, y, places)
    clean, adversarial = (_answers(classifier, one, y) for one in (x, tf.constant(x_adv)))
    along = [
        _answers(classifier, tf.clip_by_value(x + epsilon * direction, *PIXEL_RANGE), y)
        for epsilon in grid
    ]
    return tuple(
        Picture(
            group=group,
            index=int(chosen.indices[row]),
            label=int(chosen.known_labels[row]) if labelled else None,
            smallest=smallest,
            x=x[row].numpy(),
            x_adv=x_adv[row],
            direction=direction[row].numpy(),
            clean=clean[row],
            adversarial=adversarial[row],
            along=tuple(answers[row] for answers in along),
        )
        for row, (group, _, smallest) in enumerate(hung)
    )


def _answers(classifier: Classifier, x: Any, y: Any) -> list[Answer]:
    """What the model says to each image, and how sure it is."""
    shares = tf.nn.softmax(look_at(classifier)(x, y)[0]).numpy()
    return [Answer(int(one.argmax()), float(one.max())) for one in shares]
