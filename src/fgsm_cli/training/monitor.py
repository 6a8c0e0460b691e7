"""The collapse monitor: each epoch, FGSM and PGD on the same few held-out images.

A network trained by one step can learn to stop just that step: its FGSM accuracy rises while its
PGD accuracy falls to nothing, within an epoch (catastrophic overfitting: Wong et al. 2020, arXiv
2001.03994). Clean accuracy and training loss show nothing of it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..attacks import perturb
from ..data import ImageSet
from ..family import Attack, attack_named
from ..results import Epoch, Probe

WATCHED = 500
STEPS = 20
WIDE_GAP, DEEP_FALL = 0.3, 0.5


def probe(model: Any, images: ImageSet, attack: Attack) -> Probe:
    """How many of the held-out images are right under FGSM and under PGD, epsilon as trained."""
    few = images.take(np.arange(min(WATCHED, len(images))))
    x, y = few.pixels(), few.known_labels
    single = attack_named("fgsm", epsilon=attack.epsilon, norm=attack.norm)
    iterated = attack_named("pgd", epsilon=attack.epsilon, norm=attack.norm, steps=STEPS)
    fgsm, pgd = (
        int(np.sum(np.argmax(np.asarray(model(perturb(model, x, y, one))), axis=1) == y))
        for one in (single, iterated)
    )
    return Probe(n=len(few), fgsm_correct=fgsm, pgd_correct=pgd)


def best_epoch(epochs: Sequence[Epoch], warmup: int = 0) -> int | None:
    """The epoch, counted from 1, that is best under PGD of those before any collapse.

    The last one of equals; None where the first after the warm-up had collapsed already.
    """
    sound = [
        (epoch.probe.pgd_correct, place)
        for place, epoch in enumerate(epochs, 1)
        if epoch.probe
        and place > warmup
        and not any(has_collapsed(epochs[:upto], warmup) for upto in range(1, place + 1))
    ]
    return max(sound)[1] if sound else None


def has_collapsed(epochs: Sequence[Epoch], warmup: int = 0) -> bool:
    """Whether the last epoch's probe tells of a collapse.

    Its PGD accuracy lies 30 points under its FGSM accuracy, or under half the best so far.
    warmup: epochs of a smaller epsilon than the probe's, which say nothing.
    """
    probes = [epoch.probe for epoch in epochs[warmup:] if epoch.probe]
    if not probes:
        return False
    last, best = probes[-1], max(one.pgd_correct for one in probes)
    gap = (last.fgsm_correct - last.pgd_correct) / last.n
    return gap > WIDE_GAP or last.pgd_correct < DEEP_FALL * best
