"""``fgsm train``: a model trained, or taken up from an equal training before."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..config import (
    ARCHITECTURES,
    CHECKPOINT_FILE,
    CONFIG_FILE,
    MODEL_FILE,
    RESULTS_FILE,
    TrainOptions,
    build,
    read_experiment,
)
from ..data import ImageSet, load_images
from ..distribution import Crew, crew_of
from ..errors import FgsmError
from ..files import sha256
from ..models import build_network, inspect, save_model
from ..results import Epoch, ModelSource, Source, Training, percent, versions
from ..training import best_epoch, count_correct, has_collapsed
from ..training import train as train_model
from .folders import output_folder, write
from .sources import data_source, model_source
from .watch import Watch


def train(options: TrainOptions, watch: Watch) -> Training:
    """Train a network and count its right answers on the test images.

    Writes model.keras, config.yaml and results.json into the output folder. A folder that
    holds the model of these very options already is taken as it is, unless ``retrain``.
    """
    folder = output_folder(options.output, "train", (options.data,)) or Path(options.output)
    test = load_images(options.data, "test", options.limit, options.reading())
    crew = crew_of(options.devices, options.cluster)
    if not options.retrain and (kept := _chiefs(_trained_before(options, test), options, crew)):
        watch.note(f"Using {kept.model.path}: it was trained with these very options before.")
        return kept
    if (folder / MODEL_FILE).exists():
        if not (folder / RESULTS_FILE).exists() and not options.retrain:
            raise FgsmError(
                f"{folder / MODEL_FILE} was not written by fgsm train, which leaves its "
                f"{RESULTS_FILE} beside it; expected another --output, or --retrain to replace it"
            )
        watch.note(f"Replacing {folder / MODEL_FILE}.")
    with watch.busy("Reading the training images"):
        images = load_images(options.data, "train", options.limit, options.reading())
    _check_trainable(images, test)
    if crew.size > 1:
        crew.check_agreement(training_images=images.digest(), test_images=test.digest())
    with crew.scope():
        model = build_network(
            options.architecture,
            hidden=options.hidden,
            dropout=options.dropout,
            head=options.head,
            seed=options.seed,
            input_shape=images.shape,
            classes=images.classes,
        )
    checkpoint = folder / CHECKPOINT_FILE
    if checkpoint.exists() and not options.resume:
        watch.note(f"Starting anew; --resume would go on from {checkpoint}.")
    try:
        epochs = train_model(model, images, options, watch.progress, checkpoint, crew)
    except KeyboardInterrupt:
        if checkpoint.exists():
            watch.note(f"--resume goes on from {checkpoint}.")
        raise
    path = folder / MODEL_FILE
    save_model(model, path)
    checkpoint.unlink(missing_ok=True)
    record = Training(
        model=model_source(inspect(model, path=str(path), sha256=sha256(path))),
        data=data_source(images),
        test=data_source(test),
        n=len(test),
        clean_correct=count_correct(model, test),
        epochs=epochs,
        defence=options.defence(),
        certified=options.certificate(),
        files=(str(path),),
        warnings=tuple(_training_warnings(images, test, epochs, options)),
    )
    write(folder, {"train": options}, record.as_dict())
    return record


def _check_trainable(images: ImageSet, test: ImageSet) -> None:
    if images.shape != test.shape:
        raise FgsmError(
            f"the training and the test images of {images.name} must be of one shape. "
            f"Received: {images.shape} and {test.shape}"
        )
    if images.labels is None or test.labels is None:
        raise FgsmError(f"training needs labels; {images.name} has none")
    if test.classes > images.classes:
        raise FgsmError(
            f"the test images of {images.name} have the label {test.classes - 1}, which none of "
            "its training images has"
        )
    if images.classes < 2:
        raise FgsmError(f"{images.name} must have at least two classes. Received: one")


def _training_warnings(
    images: ImageSet, test: ImageSet, epochs: Sequence[Epoch], options: TrainOptions
) -> Iterator[str]:
    yield from dict.fromkeys((*images.notes, *test.notes))
    if images.images.shape == test.images.shape and np.array_equal(images.images, test.images):
        yield f"the test images of {test.name} are its training images: accuracy is overstated"
    places = range(1, len(epochs) + 1)
    collapses = [place for place in places if has_collapsed(epochs[:place], options.warmup)]
    if collapses and options.stop_on_collapse:
        kept = best_epoch(epochs, options.warmup)
        yield (
            f"training stopped: in epoch {collapses[-1]} its accuracy under PGD collapsed; "
            + (
                f"kept are the weights of epoch {kept}, the best under PGD"
                if kept
                else "no epoch was sound, and its weights are kept as they are"
            )
        )
    elif collapses:
        yield (
            f"catastrophic overfitting in epoch {collapses[0]}: the accuracy under PGD collapsed "
            "while that under FGSM did not; --stop-on-collapse keeps the best ones"
        )
    last, chance = epochs[-1], 1 / images.classes
    if last.validation_n and last.validation_correct / last.validation_n < 1.5 * chance:
        yield (
            f"the validation accuracy, {percent(last.validation_correct / last.validation_n)}, is "
            f"near chance, {percent(chance)}: nothing was learned; a wider network, a smaller "
            "--epsilon or another --learning-rate may help"
        )
    if options.adversarial and not epochs[-1].probe:
        yield "no images were held out, so that a collapse would not have been seen"


def _training_digest(options: TrainOptions) -> str:
    """The digest of the training images, where they are not in one file with the test images."""
    return load_images(options.data, "train", options.limit, options.reading()).digest()


def _trained_before(options: TrainOptions, test: ImageSet) -> Training | None:
    """The record of a finished training that this one would repeat, if its model is still there.

    It would if the options are equal (but for where and how results are shown), the data are the
    same to the byte, and the program and its libraries are of the same version.
    """
    folder = Path(options.output)
    try:
        before = build(TrainOptions, read_experiment(str(folder / CONFIG_FILE))["train"])
        document = json.loads((folder / RESULTS_FILE).read_text(encoding="utf-8"))
        model = ModelSource(**document["model"])
        if before.what_is_learned() != options.what_is_learned():
            return None
        if options.architecture not in ARCHITECTURES:  # a function, which may have changed
            return None
        if document["versions"] != versions():
            return None
        learned, judged = Source(**document["data"]), Source(**document["test"])
        if judged.sha256 != test.digest():
            return None
        if learned.sha256 != judged.sha256 and learned.sha256 != _training_digest(options):
            return None
        if model.sha256 != sha256(folder / MODEL_FILE):
            return None
        return _recorded(document, options)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _recorded(document: Mapping[str, Any], options: TrainOptions) -> Training:
    """The record of a training from its results.json."""
    return Training(
        model=ModelSource(**document["model"]),
        data=Source(**document["data"]),
        test=Source(**document["test"]),
        n=document["n"],
        clean_correct=document["clean_correct"],
        epochs=tuple(Epoch.from_dict(epoch) for epoch in document["epochs"]),
        defence=options.defence(),
        certified=options.certificate(),
        files=tuple(document["files"]),
        warnings=tuple(document["warnings"]),
    )


def _chiefs(kept: Training | None, options: TrainOptions, crew: Crew) -> Training | None:
    """The finished training that the chief's folder holds, for all workers; None if none."""
    if crew.size == 1:
        return kept
    told = crew.chiefs({"kept": np.array(json.dumps(kept and kept.as_dict()))})
    document = json.loads(str(told["kept"]))
    return document and _recorded(document, options)
