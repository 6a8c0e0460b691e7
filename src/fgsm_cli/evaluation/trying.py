"""What is done to one batch: attacked, asked, measured; and what is entered of it in the ledger.

    work = opening(images, [attack], numbers=places, seed=0, aims=[aim_of(attack)], keeps=False)
    found = work(classifier, np.arange(1000))        # {"places": ..., "clean.right": ..., ...}

A work changes nothing: it may be done anywhere, and again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..attacks import aims as labels_aimed_at
from ..attacks import craft, mover, step_length
from ..backend import tf
from ..data import ImageSet
from ..distribution import Found, Work
from ..family import Attack, Labels, Loss
from ..models import Classifier
from .measure import Scored, check_budget, gradient_of, like, look_at, score_of

# What an attack's first gradient depends on: attacks that agree in it share one.
Aim = tuple[Loss, Any, Labels]


def aim_of(attack: Attack) -> Aim:
    """What the attack's first gradient is taken of."""
    return attack.loss, attack.target, attack.labels


def opening(
    images: ImageSet,
    attacks: Sequence[Attack],
    *,
    numbers: NDArray[np.intp],
    seed: int,
    aims: Sequence[Aim],
    keeps: bool,
) -> Work:
    """The clean answers, and the first try of each contest; one gradient for each aim.

    numbers: (n,), what each image's random start and target are drawn by.
    """

    def work(classifier: Classifier, places: NDArray[np.intp]) -> Found:
        x, y = _taken(images, places)
        scores, right, unsure = look_at(classifier)(x, y)
        answers = tf.argmax(scores, axis=1).numpy()
        found: Found = {
            "places": places,
            "clean.right": right.numpy(),
            "clean.unsure": unsure.numpy(),
            "clean.answers": answers,
        }
        gradients: dict[Aim, Any] = {}
        for position, attack in enumerate(attacks):
            drawn, key = numbers[places], aim_of(attack)
            aim = labels_aimed_at(attack, scores, y, drawn, seed)
            if key not in gradients:
                gradients[key], *health = gradient_of(classifier, attack.loss)(x, aim)
                page = f"gradients.{aims.index(key)}"
                for name, flags in zip(("zero", "partly_zero", "broken"), health, strict=True):
                    found[f"{page}.{name}"] = flags.numpy()
            if attack.is_direct:
                length = step_length(attack, x.dtype)
                x_adv = mover(attack.norm, x.shape.rank)(x, gradients[key], length)
            else:
                x_adv = craft(classifier, x, aim, attack, drawn, seed)
            _, measured = _measured(classifier, position, attack, x, x_adv, y, aim, answers, keeps)
            found |= measured
        return found

    return work


def retrying(
    images: ImageSet,
    position: int,
    attack: Attack,
    turn: int,
    *,
    numbers: NDArray[np.intp],
    seed: int,
    answers: NDArray[np.int64],
    keeps: bool,
) -> Work:
    """A further try at images that stood all before it; told is only where it succeeded.

    answers: (n,), those to the clean images.
    """

    def work(classifier: Classifier, places: NDArray[np.intp]) -> Found:
        x, y = _taken(images, places)
        drawn = numbers[places]
        aim = labels_aimed_at(attack, look_at(classifier)(x, y)[0], y, drawn, seed)
        x_adv = craft(classifier, x, aim, attack, drawn, seed, turn)
        found, measured = _measured(
            classifier, position, attack, x, x_adv, y, aim, answers[places], keeps
        )
        won = ~found.still if attack.target is None else found.hit
        return {"places": places[won], **{name: rows[won] for name, rows in measured.items()}}

    return work


def kept_name(position: int) -> str:
    """Under which name the adversarial images of a contest are found."""
    return f"x_adv.{position}"


def _taken(images: ImageSet, places: NDArray[np.intp]) -> tuple[Any, Any]:
    batch = images.take(places)
    return tf.constant(batch.pixels()), tf.constant(batch.known_labels)


def _measured(
    classifier: Classifier,
    position: int,
    attack: Attack,
    x: Any,
    x_adv: Any,
    y: Any,
    aim: Any,
    answers: NDArray[np.int64],
    keeps: bool,
) -> tuple[Scored, Found]:
    """What a try did to each image of a batch."""
    idle = tf.equal(aim, y) & (attack.target is not None)
    x_adv = tf.where(like(idle, x), x, x_adv)
    scored = Scored.of(score_of(classifier, attack.norm)(x, x_adv, y, aim))
    check_budget(attack, scored.distance[~scored.lost], scored.lowest, scored.highest)
    rows = {
        "still": scored.still,
        "lost": scored.lost,
        "hit": scored.hit & ~idle.numpy(),
        "idle": idle.numpy(),
        "changed": scored.answer != answers,
        "answer": scored.answer,
        "confidence": scored.confidence,
        "distance": scored.distance,
        "linf": scored.linf,
    }
    found: Found = {f"outcomes.{position}.{name}": values for name, values in rows.items()}
    if keeps:  # what is no number is kept as it was
        found[kept_name(position)] = tf.where(like(scored.lost, x), x, x_adv).numpy()
    return scored, found
