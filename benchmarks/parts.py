"""The parts, each alone: make bench-parts. A change that slows one is seen beside the last run.

pytest-benchmark keeps what it measured in .benchmarks and shows the runs side by side. Networks are
untrained: weights do not change what a product of matrices costs.
"""

from typing import Any

import pytest

from fgsm_cli import attack_named, get_grads, perturb
from fgsm_cli.backend import tf
from fgsm_cli.certification import certifier_of
from fgsm_cli.cli import application
from fgsm_cli.curve import trace_curve
from fgsm_cli.data import ImageSet, load_images
from fgsm_cli.evaluation import judge
from fgsm_cli.family import ROWS, AttackName
from fgsm_cli.models import Classifier, build_mlp, inspect
from fgsm_cli.norms import NORMS
from fgsm_cli.results import wilson_interval

N = 1000


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return inspect(build_mlp((128,), seed=0))


@pytest.fixture(scope="module")
def images() -> ImageSet:
    return load_images("mnist", "test", limit=N)


def test_the_embedded_images(benchmark: Any) -> None:
    benchmark(load_images, "mnist", "test")


def test_the_commands(benchmark: Any) -> None:
    benchmark(application)


def test_an_interval(benchmark: Any) -> None:
    benchmark(wilson_interval, 893, N)


def test_logits(benchmark: Any, classifier: Classifier, images: ImageSet) -> None:
    x = tf.constant(images.pixels())
    benchmark(lambda: classifier(x).numpy())


def test_the_gradient(benchmark: Any, classifier: Classifier, images: ImageSet) -> None:
    x, y = images.pixels(), images.known_labels
    benchmark(lambda: get_grads(classifier, x, y).numpy())


@pytest.mark.parametrize("norm", NORMS)
def test_a_step(benchmark: Any, norm: str, images: ImageSet) -> None:
    gradient = tf.random.stateless_normal(images.pixels().shape, (0, 0))
    benchmark(lambda: NORMS[norm].steepest(gradient).numpy())


@pytest.mark.parametrize("norm", NORMS)
def test_the_ball(benchmark: Any, norm: str, images: ImageSet) -> None:
    x = tf.constant(images.pixels())
    project, far = NORMS[norm].ball(x, tf.constant(0.1)), x + 0.2
    benchmark(lambda: project(far).numpy())


@pytest.mark.parametrize("name", ROWS)
def test_an_attack(
    benchmark: Any, name: AttackName, classifier: Classifier, images: ImageSet
) -> None:
    x, y, attack = images.pixels(), images.known_labels, attack_named(name)
    perturb(classifier, x, y, attack)  # compiles it
    benchmark(lambda: perturb(classifier, x, y, attack).numpy())


def test_a_judgement(benchmark: Any, classifier: Classifier, images: ImageSet) -> None:
    def judged() -> Any:
        return judge(
            classifier,
            images,
            [(attack_named(),)],
            batch_size=N,
            seed=0,
            progress=lambda *_: None,
        )

    judged()
    benchmark(judged)


def test_a_curve(benchmark: Any, classifier: Classifier, images: ImageSet) -> None:
    def traced() -> Any:
        return trace_curve(
            classifier,
            images,
            attack_named(),
            [step / 100 for step in range(31)],
            batch_size=N,
            progress=lambda *_: None,
        )

    traced()
    benchmark(traced)


def test_bounds(benchmark: Any, classifier: Classifier, images: ImageSet) -> None:
    certifier = certifier_of(classifier, images.shape, "linf", "crown")
    certifier.least(images, 0.01, N)
    benchmark(certifier.least, images, 0.01, N)
