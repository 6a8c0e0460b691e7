"""Results for those who compare many runs: TensorBoard's event files, MLflow's runs.

    to_tensorboard(record, options, "runs/events")
    to_mlflow(record, options)

Both get the same numbers. A step is an epoch; of accuracies over epsilon it is epsilon in
ten-thousandths, as steps are whole numbers.
"""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .config import CONFIG_FILE, RESULTS_FILE, Options, dump_experiment
from .errors import FgsmError, in_one_line
from .files import make_folder
from .images import levels, stretched
from .results import Curve, Gallery, Judgement, Training, rate

STEPS_PER_EPSILON = 10_000
Record = Training | Judgement | Curve


class Scalar(NamedTuple):
    """A number that was measured, its name, and where it stands among others of the name."""

    name: str
    step: int
    value: float


def check_installed(library: str) -> None:
    """Raise FgsmError, before the work, if mlflow or tensorboard is asked for and not there."""
    if importlib.util.find_spec(library) is None:
        raise FgsmError(f"--{library} needs pip install 'fgsm-cli[{library}]'")


def scalars(record: Record) -> Iterator[Scalar]:
    """All that a record measured, as far as it is known."""
    if isinstance(record, Training):
        for step, epoch in enumerate(record.epochs, 1):
            for name in (
                "loss", "accuracy", "validation_accuracy", "fgsm_accuracy", "pgd_accuracy",
            ):  # fmt: skip
                yield from _known(f"epoch/{name}", step, epoch.as_dict()[name])
        clean = rate(record.clean_correct, record.n)
        yield from _known("test/clean_accuracy", len(record.epochs), clean)
    elif isinstance(record, Curve):
        name = f"accuracy/{record.attack.name} {record.attack.norm}"
        for epsilon, correct in zip(record.epsilons, record.correct, strict=True):
            share = rate(correct, record.n) if record.labelled else None
            yield from _known(name, _step(epsilon), share)
    else:
        yield from _known("accuracy/clean", 0, rate(record.clean_correct, record.n))
        for result in record.results:
            name = result.attack.name if result.attack else "saved set"
            step = _step(result.attack.epsilon) if result.attack else 0
            yield from _known(f"accuracy/{name}", step, result.adversarial_accuracy)
            yield from _known(f"success_rate/{name}", step, result.success_rate)
            yield from _known(f"linf_max/{name}", step, result.linf_max)


def _step(epsilon: float) -> int:
    return round(epsilon * STEPS_PER_EPSILON)


def _known(name: str, step: int, value: float | None) -> Iterator[Scalar]:
    if value is not None:
        yield Scalar(name, step, value)


def to_tensorboard(record: Record, command: str, options: Options, folder: str) -> None:
    """Write scalars, the options and, of a judgement, its images as an event file.

    Raises FgsmError if the folder cannot be written to.
    """
    from .backend import tf

    writer = tf.summary.create_file_writer(str(make_folder(folder)))
    try:
        with writer.as_default():
            tf.summary.text("options", f"```yaml\n{dump_experiment({command: options})}```", step=0)
            for name, step, value in scalars(record):
                tf.summary.scalar(name, value, step=step)
            if isinstance(record, Judgement) and record.gallery:
                _write_images(tf, record.gallery)
    finally:
        writer.close()


def _write_images(tf: Any, gallery: Gallery) -> None:
    """Original, perturbation and adversarial side by side, named by place, attack and answers."""
    import numpy as np

    for one in gallery.images:
        for moved in one.moved:
            parts = [levels(moved.pixels)]
            if one.clean is not None:
                parts = [levels(one.clean), stretched(moved.pixels - one.clean), *parts]
            strip = np.concatenate(parts, axis=1)
            strip = strip[..., None] if strip.ndim == 2 else strip
            answers = " to ".join(
                gallery.name(answer.label) for answer in (one.answer, moved.answer) if answer
            )
            tf.summary.image(
                f"{moved.title}/image {one.index}",
                strip[None],
                step=0,
                description=f"the model's answers: {answers}",
            )


def to_mlflow(record: Record, command: str, options: Options) -> None:
    """Log options, scalars and what was written as a run of the experiment ``fgsm``.

    To $MLFLOW_TRACKING_URI, by default to files in ``mlruns``.
    Raises FgsmError if MLflow cannot take them.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    if not os.environ.get("MLFLOW_TRACKING_URI"):
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # MLflow 3 asks whether that is meant
        os.environ["MLFLOW_TRACKING_URI"] = Path("mlruns").resolve().as_uri()
    import mlflow

    values = options.model_dump(mode="json", by_alias=True)
    try:
        mlflow.set_tracking_uri(os.environ["MLFLOW_TRACKING_URI"])
        mlflow.set_experiment("fgsm")
        with mlflow.start_run(run_name=command):
            mlflow.log_params({name: value for name, value in values.items() if value is not None})
            for name, step, value in scalars(record):
                mlflow.log_metric(name, value, step=step)
            mlflow.log_text(dump_experiment({command: options}), CONFIG_FILE)
            mlflow.log_dict(record.as_dict(), RESULTS_FILE)
            for file in record.files:
                log = mlflow.log_artifacts if Path(file).is_dir() else mlflow.log_artifact
                log(file)
    except (mlflow.exceptions.MlflowException, OSError) as error:
        raise FgsmError(f"--mlflow: {in_one_line(error)}") from None
