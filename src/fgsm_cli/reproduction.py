"""The literature, run again: each experiment from its YAML, beside the published figure.

    record = reproduce(["goodfellow2015-softmax"], Watch())

An experiment is a file of ``configs/papers``; what is read off it is a row of ``FIGURES``. The
range of a row is ours: what a right implementation gives on small networks with few epochs; where
that is not the paper's number, the note says why.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .config import command_of, read_experiment, resolve_experiment
from .errors import FgsmError
from .experiment import COMMANDS, Watch, output_folder, write_run
from .results import Figure, Reproduced, Reproduction

_PACKAGED = Path(__file__).parent / "assets" / "papers"
_IN_REPOSITORY = Path(__file__).parents[2] / "configs" / "papers"

GOODFELLOW = "Goodfellow et al. 2015, arXiv 1412.6572"
TRAMER = "Tramèr et al. 2018, arXiv 1705.07204"
WONG = "Wong et al. 2020, arXiv 2001.03994"
GOWAL = "Gowal et al. 2018, arXiv 1810.12715"
MADRY = "Madry et al. 2018, arXiv 1706.06083"


_MLP = "an MLP in place of the maxout network"
_SMALL_MLP = "a small MLP in place of a conv net, and 25 epochs"
_SMALL = "fewer images, epochs and steps"

FIGURES = (
    Figure(
        "goodfellow2015-softmax", GOODFELLOW, "softmax regression, FGSM .25: accuracy",
        "attack.adversarial_accuracy", 0.001, 0.0, 0.01,
    ),
    Figure(
        "goodfellow2015-softmax", GOODFELLOW, "its mean confidence in errors",
        "attack.error_confidence", 0.793, 0.75, 0.98, "grows with the length of training",
    ),
    Figure(
        "goodfellow2015-logistic", GOODFELLOW, "logistic 3 against 7: clean accuracy",
        "attack.clean_accuracy", 0.984, 0.97, 0.99,
    ),
    Figure(
        "goodfellow2015-logistic", GOODFELLOW, "logistic 3 against 7, FGSM .25: accuracy",
        "attack.adversarial_accuracy", 0.01, 0.0, 0.01,
    ),
    Figure(
        "wong2020-collapse", WONG, "R+FGSM training at .3, collapsed: FGSM",
        "eval.results.0.adversarial_accuracy", None, 0.3, 1.0, "the paper shows it on CIFAR-10",
    ),
    Figure(
        "wong2020-collapse", WONG, "the same under PGD-40",
        "eval.results.1.adversarial_accuracy", 0.0, 0.0, 0.05,
    ),
    Figure(
        "goodfellow2015-mlp", GOODFELLOW, "plain, FGSM .25: accuracy",
        "attack-plain.adversarial_accuracy", 0.106, 0.0, 0.12, _MLP,
    ),
    Figure(
        "goodfellow2015-mlp", GOODFELLOW, "trained on noise of .25, FGSM .25: accuracy",
        "attack-noise.adversarial_accuracy", 0.096, 0.0, 0.15, _MLP,
    ),
    Figure(
        "goodfellow2015-mlp", GOODFELLOW, "trained half on FGSM .25, FGSM .25: accuracy",
        "attack-adversarial.adversarial_accuracy", 0.821, 0.7, 0.95,
        "an MLP in place of the maxout network; PGD leaves 2 %: the training has collapsed",
    ),
    Figure(
        "goodfellow2015-mlp", GOODFELLOW, "examples of the plain one on the adversarially trained",
        "transfer.results.2.adversarial_accuracy", 0.804, 0.6, 0.9, _MLP,
    ),
    Figure(
        "goodfellow2015-mlp", GOODFELLOW, "and the other way",
        "transfer.results.6.adversarial_accuracy", 0.591, 0.15, 0.7, _MLP,
    ),
    Figure(
        "tramer2018", TRAMER, "R+FGSM training at .3: R+FGSM",
        "eval.results.0.adversarial_accuracy", 0.9, 0.55, 1.0, "an MLP in place of a conv net",
    ),
    Figure(
        "tramer2018", TRAMER, "the same under PGD-20",
        "eval.results.1.adversarial_accuracy", 0.18, 0.0, 0.3,
    ),
    Figure(
        "wong2020", WONG, "FGSM training at .1: PGD-40",
        "attack-fgsm.adversarial_accuracy", None, 0.5, 0.72,
    ),
    Figure(
        "wong2020", WONG, "from a uniform start: PGD-40",
        "eval.results.1.adversarial_accuracy", None, 0.73, 1.0,
        "the paper has 88.8 % at .3, with a conv net",
    ),
    Figure(
        "madry2018-natural", MADRY, "conv net, trained as usual: clean accuracy",
        "eval.clean_accuracy", 0.992, 0.98, 1.0,
    ),
    Figure(
        "madry2018-natural", MADRY, "FGSM .3",
        "eval.results.1.adversarial_accuracy", 0.064, 0.0, 0.4,
        "depends on width, schedule and saturation; public runs lie between 1 and 49 %",
    ),
    Figure(
        "madry2018-natural", MADRY, "PGD-40 .3",
        "eval.results.3.adversarial_accuracy", 0.0, 0.0, 0.02,
    ),
    Figure(
        "madry2018-natural", "Neural Structured Learning, tutorial", "base model, FGSM .2",
        "eval.results.0.adversarial_accuracy", 0.5, 0.02, 0.7, "another conv net",
    ),
    Figure(
        "madry2018-pgd", MADRY, "conv net, PGD-trained at .3: clean accuracy",
        "eval.clean_accuracy", 0.988, 0.95, 1.0, _SMALL,
    ),
    Figure(
        "madry2018-pgd", MADRY, "FGSM .3",
        "eval.results.0.adversarial_accuracy", 0.956, 0.8, 1.0, _SMALL,
    ),
    Figure(
        "madry2018-pgd", MADRY, "PGD-40 .3",
        "eval.results.1.adversarial_accuracy", 0.932, 0.7, 1.0, _SMALL,
    ),
    Figure(
        "madry2018-pgd", MADRY, "PGD-100 .3, restarts",
        "eval-restarts.results.0.adversarial_accuracy", 0.893, 0.65, 1.0, _SMALL,
    ),
    Figure(
        "gowal2018", GOWAL, "IBP training at .1: clean accuracy",
        "certify.clean_accuracy", 0.9894, 0.95, 1.0, _SMALL_MLP,
    ),
    Figure(
        "gowal2018", GOWAL, "proved by intervals at .1",
        "certify.results.0.certified_accuracy", 0.9708, 0.74, 1.0, _SMALL_MLP,
    ),
    Figure(
        "gowal2018", GOWAL, "left by the attacks at .1",
        "certify.results.0.adversarial_accuracy", 0.9799, 0.79, 1.0, _SMALL_MLP,
    ),
    Figure(
        "gowal2018", GOWAL, "exactly, by search, first 1,000: at least",
        "certify-exact.results.0.certified_accuracy", 0.9777, 0.76, 1.0, _SMALL_MLP,
    ),
    Figure(
        "gowal2018", GOWAL, "exactly, by search, first 1,000: at most",
        "certify-exact.results.0.adversarial_accuracy", 0.9777, 0.76, 1.0, _SMALL_MLP,
    ),
)  # fmt: skip

# What takes seconds; all the rest takes minutes.
QUICK = ("goodfellow2015-softmax", "goodfellow2015-logistic", "wong2020-collapse")


def names() -> tuple[str, ...]:
    """The experiments, in the order of the table."""
    return tuple(dict.fromkeys(figure.experiment for figure in FIGURES))


def reproduce(chosen: Sequence[str], watch: Watch, output: str = "runs/papers") -> Reproduction:
    """Run experiments and read their figures; each leaves its folder in ``output``.

    A model that an earlier run trained with equal options is taken up again.
    Raises FgsmError for a name that there is none of.
    """
    for name in chosen:
        if name not in names():
            raise FgsmError(
                f"no experiment is named so; expected {', '.join(names())}. Received: {name!r}"
            )
    seconds, documents = {}, {}
    for name in chosen:
        watch.note(f"Running {name}.")
        start = time.perf_counter()
        documents[name] = _run(name, f"{output}/{name}", watch)
        seconds[name] = round(time.perf_counter() - start, 1)
    figures = tuple(
        Reproduced(**asdict(figure), measured=_value(documents[figure.experiment], figure.where))
        for figure in FIGURES
        if figure.experiment in documents
    )
    return Reproduction(figures, seconds)


def experiment_file(name: str) -> str:
    """The YAML file of an experiment, in the package or, of an editable one, in the repository."""
    folder = _PACKAGED if _PACKAGED.is_dir() else _IN_REPOSITORY
    return str(folder / f"{name}.yaml")


def _run(name: str, output: str, watch: Watch) -> dict[str, Any]:
    run, resolved = resolve_experiment(read_experiment(experiment_file(name)), {"output": output})
    output_folder(output, "run")
    document = {
        section: COMMANDS[command_of(section)](options, watch).as_dict()
        for section, options in resolved.items()
    }
    write_run(output, {"run": run, **resolved}, document)
    return document


def _value(document: Any, where: str) -> float:
    for key in where.split("."):
        document = document[int(key) if isinstance(document, list) else key]
    return float(document)
