"""A contest of iterated attacks: each library at its best batch size, and the machine's limit."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgsm_cli.backend import keras
from fgsm_cli.data import load_images

from .measure import (
    Plan,
    Row,
    Sample,
    at_least,
    check_agreement,
    compare,
    fastest,
    interleaved,
    ratio,
)
from .peers import Crafter, Labels, Pixels
from .roofline import GOAL, LIMIT, limit

# Random starts differ, so accuracies do by a little.
TOLERANCE = 0.015
CHECKED_IMAGES = 2000

PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Contest:
    """What is run against each other.

    crafters: (model, steps) -> every contestant by its name; ours is "fgsm".
    literal: ours on the loss that the others ascend, to hold their accuracies against.
    apart: contestants that are another algorithm by the same name, so that accuracies may differ.
    steps: gradients of each image; trial_steps: those that a batch size is chosen with.
    goals: at least how many times our time each contestant is to take.
    """

    name: str
    crafters: Callable[[Any, int], Mapping[str, Crafter]]
    literal: Callable[[Any], Crafter]
    steps: int
    trial_steps: int
    goals: Mapping[str, float]
    apart: tuple[str, ...] = ()

    def rows(self, plan: Plan) -> list[Row]:
        """Time all, having made sure that they find about the same accuracy."""
        images = load_images("mnist", "test", limit=plan.images)
        x, y = images.pixels(), images.known_labels
        model = keras.models.load_model(plan.model)
        self._check(model, x[:CHECKED_IMAGES], y[:CHECKED_IMAGES])
        best = {
            name: fastest(
                lambda size, craft=craft: craft(x, y, size), plan.long_batch_sizes, plan.repeats
            )
            for name, craft in self._with_limit(model, self.trial_steps).items()
        }

        def measured(name: str, craft: Crafter) -> Callable[[int], Sample]:
            def measure(_: int) -> Sample:
                start = time.perf_counter()
                parts = craft(x, y, best[name])
                seconds = time.perf_counter() - start
                return Sample(seconds, accuracy=None if name == LIMIT else kept(model, parts, y))

            return measure

        contestants = self._with_limit(model, self.steps)
        samples = interleaved(
            {name: measured(name, craft) for name, craft in contestants.items()},
            plan.repeats,
            patience=PATIENCE_SECONDS,
        )
        goals = {
            name: at_least(bound, ratio(samples[name], samples["fgsm"]), "times ours")
            for name, bound in {**self.goals, LIMIT: GOAL}.items()
        }
        return compare(
            self.name, samples, ours="fgsm", images=len(x), batch_sizes=best, goals=goals
        )

    def _with_limit(self, model: Any, steps: int) -> dict[str, Crafter]:
        return {**self.crafters(model, steps), LIMIT: limit(model, steps)}

    def _check(self, model: Any, x: Pixels, y: Labels) -> None:
        """Raise SystemExit unless all agree with ours for the literal loss."""
        own = kept(model, self.literal(model)(x, y, 1000), y)
        for name, craft in self.crafters(model, self.steps).items():
            if name not in self.apart:
                check_agreement(name, [kept(model, craft(x, y, 1000), y)], [own], TOLERANCE)


def kept(model: Any, parts: Sequence[Pixels], y: Labels) -> float:
    """The share of the images, given in batches, that are still classified right."""
    scores = model.predict(np.concatenate(list(parts)), batch_size=1000, verbose=0)
    return float(np.mean(scores.argmax(axis=1) == y))
