"""The judge: attacks let at every image, right answers counted, nothing taken on trust.

    judged = judge(classifier, images, [(attack,)], batch_size=1000, seed=0, progress=progress)

The evaluator trusts no attack: it takes the clean and the adversarial images, asks the model
itself, and measures in float64 how far each image moved. A pixel outside the range or an image
beyond epsilon is an error; a logit, gradient or pixel that is not a finite number never counts as
a right answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..data import ImageSet
from ..distribution import ALONE, Crew, Work, note_of_fitting
from ..errors import FgsmError
from ..family import Attack
from ..models import Classifier
from ..results import AttackResult, GradientHealth, Worst
from ..training import Progress
from . import doubts
from .journal import UNWRITTEN, Journal
from .ledger import Gradients, Ledger
from .measure import Flags, Outcome, count, parts, predicted
from .trying import aim_of, kept_name, opening, retrying

Contest = Sequence[Attack]
Keep = Callable[[int, NDArray[np.intp], NDArray[np.float32]], None]


@dataclass(frozen=True)
class Judged:
    """What a judgement found, image by image and in sum.

    right: (n,), which clean images are classified right; of images without labels, which have an
        answer at all. still: (contests, n), which are after each contest.
    answers: (n,), the class that each clean image is given; given: (contests, n), after each.
    results: one a contest. warnings: what concerns the model.
    clean_correct: None where the images have no labels.
    """

    right: Flags
    still: Flags
    answers: NDArray[np.int64]
    given: NDArray[np.int64]
    results: tuple[AttackResult, ...]
    warnings: tuple[str, ...]
    clean_correct: int | None


def judge(
    classifier: Classifier,
    images: ImageSet,
    contests: Sequence[Contest],
    *,
    batch_size: int,
    seed: int,
    progress: Progress,
    keep: Keep | None = None,
    crew: Crew = ALONE,
    journal: Journal = UNWRITTEN,
    numbers: NDArray[np.intp] | None = None,
) -> Judged:
    """Attack every image in every contest; count what is still right.

    contests: each one attack, or several whose per-sample worst is wanted. Of a contest's tries
        (its attacks, each with its restarts) the first meets every image, each further one only
        those that no try before it has turned.
    keep(position, indices, x_adv) receives the adversarial images of the contest at that
        position; an image turned by a later try comes again.
    crew: who computes. journal: where finished batches are kept, and found again.
    numbers: (n,), what each image's random start and target are drawn by, so that some images of
        a set can be attacked again as they were; by default its place.

    Images without labels are attacked by the classes that the model gives them; what is right is
    not known then, only which answers changed.

    Raises FgsmError if an attack leaves its budget or the pixel range.
    """
    n, labelled = len(images), images.labels is not None
    if not labelled:
        images = replace(images, labels=predicted(classifier, images, batch_size, crew))
        contests = [[replace(one, labels="predicted") for one in contest] for contest in contests]
    first = [contest[0] for contest in contests]
    aims = tuple(dict.fromkeys(map(aim_of, first)))
    ledger = Ledger.of(n, len(aims), len(contests))
    numbers = np.arange(n) if numbers is None else numbers
    tries = [
        [(attack, turn) for attack in contest for turn in range(attack.restarts)]
        for contest in contests
    ]
    done, total, notes = 0, n * sum(len(one) for one in tries), set[str]()

    def passed(name: str, work: Work, places: NDArray[np.intp]) -> Iterator[int]:
        """One pass over the images at these places, entered in the ledger batch by batch."""
        batches = parts(places, batch_size)
        for batch, found in journal.spread(name, crew, work, batches, classifier.copies):
            if note := note_of_fitting(found, batch_size):
                notes.add(note)
            at = found.pop("places")
            for position in range(len(contests)):
                x_adv = found.pop(kept_name(position), None)
                if keep and x_adv is not None and len(at):
                    keep(position, at, x_adv)
            ledger.enter(at, found)
            yield len(batch)

    work = opening(images, first, numbers=numbers, seed=seed, aims=aims, keeps=keep is not None)
    for size in passed("first", work, np.arange(n)):
        done += size * len(contests)
        progress("Attacking", done, total, "")
    for position, outcome in enumerate(ledger.outcomes):
        for number, (attack, turn) in enumerate(tries[position][1:], 1):
            standing = outcome.standing(attack)
            work = retrying(
                images,
                position,
                attack,
                turn,
                numbers=numbers,
                seed=seed,
                answers=ledger.clean.answers,
                keeps=keep is not None,
            )
            for _ in passed(f"contest-{position}-try-{number}", work, standing):
                pass
            done += n
            progress("Attacking", done, total, f"{len(standing):,} images left")
    for (loss, *_), gradients in zip(aims, ledger.gradients, strict=True):
        if gradients.broken.all():
            raise FgsmError(
                f"no image has a finite gradient of the loss {loss}; nothing to attack by"
            )
    results = tuple(
        _result(
            contest,
            outcome,
            ledger.clean.right,
            ledger.gradients[aims.index(aim_of(contest[0]))],
            labelled=labelled,
        )
        for contest, outcome in zip(contests, ledger.outcomes, strict=True)
    )
    about_model = doubts.of_model(classifier, ledger.clean.unsure, labelled=labelled)
    return Judged(
        right=ledger.clean.right,
        still=np.stack([outcome.still for outcome in ledger.outcomes]),
        answers=ledger.clean.answers,
        given=np.stack([outcome.answer for outcome in ledger.outcomes]),
        results=results,
        warnings=(*about_model, *sorted(notes)),
        clean_correct=count(ledger.clean.right) if labelled else None,
    )


def _result(
    contest: Contest, outcome: Outcome, right: Flags, gradients: Gradients, *, labelled: bool
) -> AttackResult:
    first = contest[0]
    health = GradientHealth(
        count(gradients.zero),
        count(gradients.partly_zero),
        count(gradients.broken),
        int(np.sum(outcome.distance == 0)),
    )
    targeted = first.target is not None
    return AttackResult(
        attack=first if len(contest) == 1 else Worst(tuple(contest)),
        n=len(right),
        clean_correct=count(right) if labelled else None,
        adversarial_correct=count(outcome.still) if labelled else None,
        flipped=count(right & ~outcome.still) if labelled else None,
        changed=count(outcome.changed),
        error_confidence=outcome.error_confidence if labelled else None,
        target_hits=count(outcome.hit) if targeted else None,
        target_is_label=count(outcome.idle) if targeted else None,
        gradients=health,
        linf_max=float(outcome.linf.max()),
        distance_max=float(outcome.distance.max()),
        warnings=tuple(doubts.of_attack(first, outcome, health, count(~right))),
    )
