"""Transfer: adversarial examples made on one model, judged on another.

    matrix = transfer_matrix(classifiers, images, attack, batch_size=1000, seed=0, ...)
    matrix[row][column].adversarial_correct      # crafted on row, judged on column

What fools one network often fools another (Papernot et al. 2016, arXiv 1605.07277). A row
may be an ensemble, the mean of the models' logits (Liu et al. 2017, arXiv 1611.02770).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .backend import tf
from .data import ImageSet
from .distribution import ALONE, Crew
from .errors import FgsmError
from .evaluation import judge, judge_examples
from .examples import Examples, room
from .family import Attack
from .models import Classifier
from .ranges import UNIT
from .results import AttackResult
from .training import Progress

ENSEMBLE = "ensemble"


def transfer_matrix(
    sources: Sequence[Classifier],
    targets: Sequence[Classifier],
    images: ImageSet,
    attack: Attack,
    *,
    batch_size: int,
    seed: int,
    progress: Progress,
    crew: Crew = ALONE,
) -> tuple[tuple[AttackResult, ...], ...]:
    """A row a source, a column a target: what the attack made on the one leaves of the other.

    Raises FgsmError as ``judge`` does; that the attack keeps its budget is measured anew on
    every target.
    """
    rows = []
    for source in sources:
        x_adv = room(images.images.shape, source.path)

        def keep(_: int, indices: Any, moved: Any, x_adv: Any = x_adv) -> None:
            x_adv[indices] = moved

        judge(
            source,
            images,
            [(attack,)],
            batch_size=batch_size,
            seed=seed,
            progress=progress,
            keep=keep,
            crew=crew,
        )
        made = Examples(
            images=x_adv,
            labels=images.known_labels,
            clean=images.images,
            clean_range=images.range,
            epsilon=attack.epsilon,
            attack=attack,
        )
        rows.append(
            tuple(
                judge_examples(target, made, batch_size=batch_size, progress=progress, crew=crew)
                for target in targets
            )
        )
    return tuple(rows)


def ensemble(classifiers: Sequence[Classifier]) -> Classifier:
    """One classifier whose logits are the mean of all of theirs.

    Raises FgsmError unless they tell the same number of classes apart.
    """
    first = classifiers[0]
    for other in classifiers[1:]:
        if other.classes != first.classes:
            raise FgsmError(
                f"an ensemble must agree on its classes. Received: {first.classes} of "
                f"{first.path} and {other.classes} of {other.path}"
            )

    def mean(x: Any) -> Any:
        return tf.add_n([one(x) for one in classifiers]) / len(classifiers)

    return replace(
        first,
        model=mean,
        scores=mean,
        head="logits",
        range=UNIT,
        path=ENSEMBLE,
        sha256="",
        others=tuple(map(ensemble, zip(*(one.others for one in classifiers), strict=True))),
    )
