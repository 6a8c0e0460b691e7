"""Adversarial training: an epoch beside a clean one, and beside ART's trainer.

One model (784-128-10), one batch size, the same images and epochs for all. ART trains by
``AdversarialTrainer`` on PGD of seven steps, every image adversarial (ratio 1), as ours does.
"""

import time
from collections.abc import Callable
from typing import Any

from fgsm_cli import attack_named, perturb
from fgsm_cli.backend import keras
from fgsm_cli.config import TrainOptions
from fgsm_cli.data import ImageSet, load_images
from fgsm_cli.models import build_mlp
from fgsm_cli.training import count_correct, train

from .measure import Plan, Row, Sample, at_least, at_most, compare, interleaved, ratio
from .peers import EPSILON, art_classifier

BATCH = 256
EPOCHS = 3
STEPS = 7

# A pass of ART's trainer over a tenth of the images says enough; it takes as long as ours over all.
SHARE_FOR_ART = 10


def run(plan: Plan) -> list[Row]:
    """Time a few epochs of each kind; tell each model's accuracy under PGD, outside the clock."""
    whole, test = load_images("mnist", "train"), load_images("mnist", "test", limit=1000)
    few = load_images("mnist", "train", limit=len(whole) // SHARE_FOR_ART)

    def measured(fit: Callable[[int], Any]) -> Callable[[int], Sample]:
        def measure(seed: int) -> Sample:
            start = time.perf_counter()
            model = fit(seed)
            return Sample(time.perf_counter() - start, accuracy=robust_accuracy(model, test))

        return measure

    samples = interleaved(
        {
            "clean": measured(lambda seed: fit(whole, seed)),
            "R+FGSM": measured(lambda seed: fit(whole, seed, adversarial="rfgsm")),
            "PGD-7": measured(lambda seed: fit(whole, seed, adversarial="pgd", steps=STEPS)),
        },
        plan.repeats,
    )
    goals = {
        "R+FGSM": at_most(1.8, ratio(samples["R+FGSM"], samples["clean"]), "clean epochs"),
        "PGD-7": at_most(5.5, ratio(samples["PGD-7"], samples["clean"]), "clean epochs"),
    }
    rows = compare("adversarial epoch", samples, ours="clean", images=len(whole), goals=goals)
    beside_art = interleaved(
        {
            "PGD-7": measured(lambda seed: fit(few, seed, adversarial="pgd", steps=STEPS)),
            "ART": measured(lambda seed: fit_by_art(few, seed)),
        },
        plan.repeats,
    )
    faster = at_least(5.0, ratio(beside_art["ART"], beside_art["PGD-7"]), "times ours")
    return rows + compare(
        "adversarial training", beside_art, ours="PGD-7", images=len(few), goals={"ART": faster}
    )


def fit(images: ImageSet, seed: int, **options: Any) -> Any:
    """Some epochs of ``fgsm train`` on images at hand, without held-out images to probe."""
    asked = TrainOptions(
        seed=seed, epochs=EPOCHS, batch_size=BATCH, validation_split=0, epsilon=EPSILON, **options
    )
    model = build_mlp(asked.hidden, dropout=asked.dropout, seed=seed)
    train(model, images, asked, lambda *_: None)
    return model


def fit_by_art(images: ImageSet, seed: int) -> Any:
    """The same by ART, as its documentation trains."""
    from art.attacks.evasion import ProjectedGradientDescent
    from art.defences.trainer import AdversarialTrainer

    model = build_mlp(TrainOptions().hidden, dropout=TrainOptions().dropout, seed=seed)
    classifier = art_classifier(model, optimizer=keras.optimizers.Adam(0.005))
    attack = ProjectedGradientDescent(
        classifier,
        eps=EPSILON,
        eps_step=EPSILON * 2.5 / STEPS,
        max_iter=STEPS,
        num_random_init=1,
        batch_size=BATCH,
        verbose=False,
    )
    trainer = AdversarialTrainer(classifier, attack, ratio=1.0)
    trainer.fit(images.pixels(), images.known_labels, batch_size=BATCH, nb_epochs=EPOCHS)
    return model


def robust_accuracy(model: Any, test: ImageSet) -> float:
    """The share of the images still classified right under PGD of twenty steps."""
    attack = attack_named("pgd", epsilon=EPSILON, steps=20)
    x_adv = perturb(model, test.pixels(), test.known_labels, attack).numpy()
    moved = ImageSet("moved", "test", x_adv, test.known_labels, test.classes)
    return count_correct(model, moved) / len(test)
