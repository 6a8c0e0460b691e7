"""FGSM, PGD-40 and training on whatever device is there: an MLP, and a network of ResNet-50's size.

    python -m benchmarks.gpu
    python -m benchmarks.gpu --quick          # small sizes, to try it on a CPU

Prints one JSON document: for each row the median time of five runs, the fastest and the slowest,
and the images a second of the median. What is compiled is compiled before; images lie in memory.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from fgsm_cli.backend import keras, tf
from fgsm_cli.config import TrainOptions, build
from fgsm_cli.data import ImageSet
from fgsm_cli.distribution import Crew, crew_of
from fgsm_cli.evaluation import judge
from fgsm_cli.family import attack_named
from fgsm_cli.models import build_mlp, inspect
from fgsm_cli.training import train

ROUNDS = 5


def quiet(*_: Any) -> None:
    pass


def mlp() -> Any:
    return build_mlp((128,), seed=0, input_shape=(28, 28), classes=10)


def residual() -> Any:
    """ResNet-50 for 1000 classes, its weights as they are drawn: speed does not depend on them."""
    return keras.applications.ResNet50(weights=None, classifier_activation=None)


# model, shape of an image, classes, images (quick, whole), batch (quick, whole)
MODELS: tuple[tuple[str, Callable[[], Any], tuple[int, ...], int, Any, Any], ...] = (
    ("mlp", mlp, (28, 28), 10, (2_000, 60_000), (1000, 10_000)),
    ("resnet50", residual, (224, 224, 3), 1000, (2, 2_048), (2, 128)),
)


def image_set(shape: tuple[int, ...], classes: int, n: int) -> ImageSet:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (n, *shape), np.uint8)
    labels = rng.integers(0, classes, n)
    labels[0] = classes - 1
    return ImageSet("noise", "test", pixels, labels, classes, sha256="noise")


def row(seconds: list[float], n: int) -> dict[str, float]:
    median = statistics.median(seconds)
    return {
        "images": n,
        "seconds": median,
        "fastest": min(seconds),
        "slowest": max(seconds),
        "images_per_second": n / median,
    }


def attacking(job: Callable[[], Any]) -> list[float]:
    job()  # compiles
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return seconds


def training(make: Callable[[], Any], images: ImageSet, batch: int, crew: Crew) -> list[float]:
    """The seconds of an epoch, without the first one, which compiles."""
    ends: list[float] = []

    def progress(_: str, done: int, *__: Any) -> None:
        if done % len(images) == 0:
            ends.append(time.perf_counter())

    values = {"epochs": ROUNDS + 1, "batch_size": batch, "validation_split": 0}
    with crew.scope():
        model = make()
    train(model, images, build(TrainOptions, values), progress, crew=crew)
    return [after - before for before, after in pairwise(ends)]


def rows(quick: bool, devices: Any) -> Any:
    crew = crew_of(devices, "tf-config")
    for name, make, shape, classes, sizes, batches in MODELS:
        n, batch = sizes[not quick], batches[not quick]
        images = image_set(shape, classes, n)
        first, *others = crew.on_each(lambda make=make: inspect(make()))
        classifier = replace(first, others=tuple(others))
        for attack in (attack_named("fgsm"), attack_named("pgd", steps=2 if quick else 40)):
            job = partial(
                judge,
                classifier,
                images,
                [(attack,)],
                batch_size=batch,
                seed=0,
                progress=quiet,
                crew=crew,
            )
            what = "fgsm" if attack.name == "fgsm" else f"pgd-{attack.steps}"
            yield {"model": name, "what": what, "batch": batch, **row(attacking(job), n)}
        seconds = training(make, images, batch, crew)
        yield {"model": name, "what": "training", "batch": batch, **row(seconds, n)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it on a CPU")
    parser.add_argument("--devices", default="auto", help="as of fgsm: auto, cpu, gpu, 0,1")
    asked = parser.parse_args()
    devices = build(TrainOptions, {"devices": asked.devices}).devices
    found = list(rows(asked.quick, devices))
    physical = tf.config.get_visible_devices("GPU") or tf.config.get_visible_devices("CPU")
    details = [tf.config.experimental.get_device_details(one) for one in physical]
    document = {
        "devices": [
            detail.get("device_name", one.device_type)
            for detail, one in zip(details, physical, strict=True)
        ],
        "tensorflow": tf.__version__,
        "rounds": ROUNDS,
        "quick": asked.quick,
        "rows": found,
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
