"""Can the number be trusted? The checks that the evaluation literature asks for, in one run.

    findings = audit(classifier, images, epsilon=0.1, batch_size=1000, seed=0, progress=progress)

A defence that hides its gradient looks robust to every gradient attack and is not (Athalye et al.
2018, arXiv 1802.00420). Each check measures one symptom of that, says what it means, and gives a
verdict: pass, suspicious or fail. The list follows Carlini et al. 2019 (arXiv 1902.06705) and the
flags of Croce et al. 2020 and 2022 (arXiv 2003.01690, 2202.13711).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .attacks import perturb
from .backend import tf
from .config import TrainOptions
from .data import PIXEL_RANGE, ImageSet
from .distribution import ALONE, Crew, Found, Work
from .evaluation import parts
from .family import Attack, attack_named
from .gradients import LOSSES, get_grads
from .models import Classifier, build_mlp, inspect
from .results import Finding, Verdict, percent
from .training import Progress, train

PGD_STEPS = 40
SEARCH_QUERIES = 200
REPEATS = 4


@dataclass(frozen=True, eq=False)
class _Subject:
    """The model, the images it is asked about, and what several checks need of both."""

    classifier: Classifier
    images: ImageSet
    training_images: ImageSet
    epsilon: float
    batch_size: int
    seed: int
    crew: Crew

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        return self.answers(self.images.pixels())

    @property
    def chance(self) -> float:
        return 1 / self.classifier.classes

    def answers(self, pixels: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which of the images, changed to these pixels, are classified right."""

        def work(classifier: Any, places: NDArray[np.intp]) -> Found:
            scores = np.asarray(classifier(tf.constant(pixels[_rows(places)])))
            sure = np.isfinite(scores).all(axis=1)
            right = scores.argmax(axis=1) == self.images.known_labels[_rows(places)]
            return {"found": right & sure}

        return self._of_all(work)

    def attacked(self, attack: Attack) -> NDArray[np.float32]:
        """The images under an attack on the model itself; as they are where it has no gradient."""
        if not self.is_connected:
            return self.images.pixels()
        return self.crafted(attack)

    def crafted(self, attack: Attack, stranger: Any = None) -> NDArray[np.float32]:
        """The images under an attack on the model, or on a stranger that every worker has."""

        def work(model: Any, places: NDArray[np.intp]) -> Found:
            x, y = self._pixels(places), self.images.known_labels[_rows(places)]
            moved = perturb(model, x, y, attack, seed=self.seed)
            return {"found": np.where(np.isfinite(moved), moved, x)}

        if stranger is None:
            return self._of_all(work)
        return np.concatenate([work(stranger, places)["found"] for places in self._parts()])

    def gradients(self, **options: Any) -> NDArray[np.float32]:
        """The gradient at each image, zero where there is none."""

        def work(classifier: Any, places: NDArray[np.intp]) -> Found:
            x, y = self._pixels(places), self.images.known_labels[_rows(places)]
            return {"found": get_grads(classifier, x, y, unconnected="zero", **options).numpy()}

        return self._of_all(work).reshape(len(self.images), -1)

    def _pixels(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        rows = _rows(places)
        return self.images.pixels(rows.start, rows.stop)

    def _parts(self) -> list[NDArray[np.intp]]:
        return parts(np.arange(len(self.images)), self.batch_size)

    def _of_all(self, work: Work) -> NDArray[Any]:
        """What the crew finds of all images."""
        copies = self.classifier.copies
        return np.concatenate(
            [found["found"] for _, found in self.crew.spread(work, self._parts(), copies)]
        )

    @cached_property
    def ce(self) -> NDArray[np.float32]:
        return self.gradients()

    @cached_property
    def is_connected(self) -> bool:
        return bool(np.any(self.ce))

    @cached_property
    def fgsm(self) -> NDArray[np.bool_]:
        return self.answers(self.attacked(attack_named("fgsm", epsilon=self.epsilon)))

    @cached_property
    def pgd(self) -> NDArray[np.bool_]:
        return self.answers(
            self.attacked(attack_named("pgd", epsilon=self.epsilon, steps=PGD_STEPS))
        )


def _rows(places: NDArray[np.intp]) -> slice:
    return slice(int(places[0]), int(places[-1]) + 1)


def audit(
    classifier: Classifier,
    images: ImageSet,
    training_images: ImageSet,
    *,
    epsilon: float,
    batch_size: int,
    seed: int,
    progress: Progress,
    crew: Crew = ALONE,
) -> tuple[Finding, ...]:
    """Run every check, in order.

    training_images: what the substitute of the transfer check is trained on.
    """
    subject = _Subject(classifier, images, training_images, epsilon, batch_size, seed, crew)
    findings = []
    for done, check in enumerate(CHECKS, start=1):
        findings.append(check(subject))
        progress("Auditing", done, len(CHECKS), findings[-1].name)
    return tuple(findings)


def _verdict(value: float, suspicious: float, fail: float) -> Verdict:
    """Above ``fail`` it fails, above ``suspicious`` it is that."""
    return "fail" if value > fail else "suspicious" if value > suspicious else "pass"


def _share(count: Any, n: int) -> float:
    return float(count) / n


def head(subject: _Subject) -> Finding:
    """Logits or, failing that, probabilities."""
    return Finding(
        "logits",
        f"the model gives {subject.classifier.head}",
        "without logits, probabilities that round to 0 or 1 take the gradient with them",
        "pass" if subject.classifier.is_exact else "suspicious",
    )


def repeatable(subject: _Subject) -> Finding:
    """The same image, the same logits."""
    x = tf.constant(subject.images.pixels(0, 200))
    calls = np.stack([np.asarray(subject.classifier(x)) for _ in range(REPEATS)])
    spread = float(np.ptp(calls, axis=0).max())
    return Finding(
        "repeatable",
        f"logits differ by up to {spread:.3g} over {REPEATS} calls",
        "an attack on random answers chases noise; average over it (expectation over "
        "transformation) before any number is believed",
        "pass" if spread == 0 else "suspicious" if spread < 1e-4 else "fail",
    )


def zero_gradients(subject: _Subject) -> Finding:
    """Images that no gradient attack can move."""
    share = _share(np.sum(~subject.ce.any(axis=1)), len(subject.images))
    return Finding(
        "zero gradients",
        f"{percent(share)} of the images have a gradient that is zero in every pixel",
        "gradient attacks cannot move them; their accuracy says nothing about robustness",
        _verdict(share, 0, 0.05),
    )


def saturation(subject: _Subject) -> Finding:
    """How far float32 cross-entropy, which other tools ascend, would mislead here."""
    literal = np.sign(subject.gradients(loss="ce-float32"))
    exact = np.sign(subject.ce)
    share = float(np.mean(literal != exact))
    return Finding(
        "saturation",
        f"float32 cross-entropy gets {percent(share)} of the signs wrong",
        "the loss rounds to nothing; a tool that ascends it literally reports robustness that is "
        "not there (this one ascends a form that does not saturate)",
        _verdict(share, 0.02, 0.15),
    )


def finite_differences(subject: _Subject) -> Finding:
    """Whether the loss really rises as fast as the gradient says."""
    chosen = slice(0, 100)
    x, y = subject.images.pixels(0, 100), tf.constant(subject.images.known_labels[chosen])
    gradient = subject.ce[chosen].reshape(x.shape)
    step, loss = np.float32(1e-3), LOSSES["ce"]
    direction = np.sign(gradient)
    ahead, behind = (
        np.asarray(loss(subject.classifier(tf.constant(x + shift * direction)), y), np.float64)
        for shift in (step, -step)
    )
    measured = (ahead - behind) / (2 * step)
    promised = np.abs(gradient.astype(np.float64)).reshape(len(x), -1).sum(axis=1)
    scale = np.maximum(np.maximum(np.abs(measured), promised), 1e-12)
    error = float(np.median(np.abs(measured - promised) / scale)) if subject.is_connected else 1.0
    return Finding(
        "finite differences",
        f"the loss changes {percent(error)} otherwise than the gradient says (median)",
        "a gradient that is not the slope of the loss (rounding, a replaced gradient, noise) "
        "leads an attack astray",
        _verdict(error, 0.1, 0.5),
    )


def random_signs(subject: _Subject) -> Finding:
    """Noise of the same size must hurt less than the attack."""
    x = subject.images.pixels()
    noise = np.random.default_rng([subject.seed, 1]).choice(
        np.array([-1, 1], np.float32), size=x.shape
    )
    noisy = subject.answers(np.clip(x + np.float32(subject.epsilon) * noise, *PIXEL_RANGE))
    gap = float(noisy.mean() - subject.fgsm.mean())
    return Finding(
        "random signs",
        f"random signs leave {percent(noisy.mean())}, FGSM leaves {percent(subject.fgsm.mean())}",
        "a gradient that does no better than chance points nowhere",
        "pass" if gap > 0.02 else "suspicious" if gap > 0 else "fail",
    )


def iterations(subject: _Subject) -> Finding:
    """Many small steps must not be weaker than a single large one."""
    one, many = float(subject.fgsm.mean()), float(subject.pgd.mean())
    return Finding(
        "iterations",
        f"FGSM leaves {percent(one)}, PGD-{PGD_STEPS} leaves {percent(many)}",
        "an iterated attack that is weaker than one step walks on a masked gradient",
        _verdict(many - one, 0.005, 0.02),
    )


def collapse(subject: _Subject) -> Finding:
    """Robust to one step and to nothing else."""
    gap = float(subject.fgsm.mean() - subject.pgd.mean())
    return Finding(
        "one-step gap",
        f"PGD-{PGD_STEPS} leaves {percent(gap)} less than FGSM",
        "a large gap is catastrophic overfitting (Wong et al. 2020): the model learned to stop "
        "one step, not an attacker",
        _verdict(gap, 0.3, 0.5),
    )


def whole_range(subject: _Subject) -> Finding:
    """With the whole pixel range to move in, no model keeps its accuracy."""
    attack = attack_named("pgd", epsilon=PIXEL_RANGE[1] - PIXEL_RANGE[0], steps=20)
    left = float(subject.answers(subject.attacked(attack)).mean())
    return Finding(
        "whole range",
        f"PGD with epsilon 1 leaves {percent(left)}; chance is {percent(subject.chance)}",
        "any image can be turned into any other; what is left above chance is the attack's failure",
        _verdict(left, subject.chance, subject.chance + 0.1),
    )


def margin(subject: _Subject) -> Finding:
    """Two losses, one model: neither may be much stronger."""
    attack = attack_named("margin-fgsm", epsilon=subject.epsilon)
    left = float(subject.answers(subject.attacked(attack)).mean())
    gap = float(subject.fgsm.mean()) - left
    return Finding(
        "margin loss",
        f"FGSM leaves {percent(subject.fgsm.mean())} by cross-entropy, "
        f"{percent(left)} by the margin",
        "where the margin is much stronger, cross-entropy is being misled",
        _verdict(gap, 0.08, 0.2),
    )


def transfer(subject: _Subject) -> Finding:
    """Examples made on another model must not be stronger than those made on this one."""
    images = subject.training_images
    options = TrainOptions(epochs=2, seed=subject.seed + 1)
    substitute = build_mlp(
        options.hidden,
        seed=options.seed,
        input_shape=images.shape,
        classes=images.classes,
    )
    train(substitute, images, options, lambda *_: None)
    attack = attack_named("fgsm", epsilon=subject.epsilon)
    foreign = float(subject.answers(subject.crafted(attack, inspect(substitute))).mean())
    own = float(min(subject.fgsm.mean(), subject.pgd.mean()))
    return Finding(
        "transfer",
        f"FGSM made on an independent MLP leaves {percent(foreign)}, "
        f"white-box attacks leave {percent(own)}",
        "a stranger's gradient that works better than the model's own means that the own is masked",
        _verdict(own - foreign, 0.01, 0.05),
    )


def random_search(subject: _Subject) -> Finding:
    """A search that sees no gradient must not be stronger than the attacks that do.

    In the manner of Square attack (Andriushchenko et al. 2020, arXiv 1912.00049): a random share
    of the pixels is set to a corner of the ball, and kept where the margin rises.
    """
    few = np.arange(min(len(subject.images), 200))
    x, y = subject.images.pixels(0, len(few)), tf.constant(subject.images.known_labels[few])
    rng, epsilon = np.random.default_rng([subject.seed, 2]), np.float32(subject.epsilon)

    def score(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = LOSSES["margin"](
            subject.classifier(tf.constant(pixels)), y
        ).numpy()
        return np.where(np.isfinite(found), found, np.inf)

    best, best_score = x, score(x)
    for query in range(SEARCH_QUERIES):
        share = max(0.02, 0.5 * (1 - query / SEARCH_QUERIES) ** 2)
        corner = rng.choice(np.array([-1, 1], np.float32), size=x.shape)
        chosen = rng.random(x.shape) < share
        tried = np.where(chosen, np.clip(x + epsilon * corner, *PIXEL_RANGE), best)
        tried_score = score(tried)
        better = tried_score > best_score
        best = np.where(better.reshape(-1, *[1] * (x.ndim - 1)), tried, best)
        best_score = np.maximum(best_score, tried_score)
    left = float(np.mean(best_score < 0))
    own = float(min(subject.fgsm[few].mean(), subject.pgd[few].mean()))
    return Finding(
        "random search",
        f"{SEARCH_QUERIES} random queries leave {percent(left)}, "
        f"white-box attacks leave {percent(own)} (first {len(few)} images)",
        "blind search that beats the gradient means that the gradient is masked",
        _verdict(own - left, 0.01, 0.05),
    )


CHECKS: Sequence[Callable[[_Subject], Finding]] = (
    head,
    repeatable,
    zero_gradients,
    saturation,
    finite_differences,
    random_signs,
    iterations,
    collapse,
    whole_range,
    margin,
    transfer,
    random_search,
)
