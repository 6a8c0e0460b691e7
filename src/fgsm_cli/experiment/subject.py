"""What is judged: a model and images that fit each other, and the doubts about both."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..config import (
    CONFIG_FILE,
    DEFAULT_DIR,
    DEFAULT_MODEL,
    LoadingOptions,
    ModelOptions,
    TrainOptions,
    build,
    read_experiment,
)
from ..data import ImageSet, load_images
from ..distribution import crew_of
from ..errors import FgsmError
from ..models import Classifier, Loading, load_classifier
from ..results import percent, wilson_interval
from .training import train
from .watch import Watch


def subject(options: ModelOptions, watch: Watch) -> tuple[Classifier, ImageSet]:
    """The model and the test images, found to fit each other."""
    with watch.busy("Reading the images"):
        images = read_images(options)
    classifier = classifier_of(options, watch)
    check_fit(classifier, images)
    crew = crew_of(options.devices, options.cluster)
    if crew.size > 1:
        crew.check_agreement(model=classifier.sha256, image_set=images.digest())
    return classifier, images


def read_images(options: LoadingOptions) -> ImageSet:
    """The images that are judged on. Raises FgsmError if labels are missing that are needed."""
    images = load_images(options.data, options.split, options.limit, options.reading())
    if images.labels is None and (needs := options.need_of_labels):
        raise FgsmError(f"{needs} needs labels, to know what is right; {images.name} has none")
    return images


def check_fit(classifier: Classifier, images: ImageSet) -> None:
    """Raise FgsmError unless the model takes these images and knows their labels."""
    classifier.check(images.shape)
    if images.labels is not None:
        check_known(classifier, images.labels, images.name)


def check_known(classifier: Classifier, labels: Any, source: str) -> None:
    """Raise FgsmError for a label that the model does not know, naming its row."""
    row = int(labels.argmax())
    if labels[row] >= classifier.classes:
        knows = (
            "gives one score, so it knows the labels 0 and 1"
            if classifier.is_binary
            else f"knows the labels 0..{classifier.classes - 1}"
        )
        raise FgsmError(
            f"{classifier.path} {knows}. Received: {labels[row]} in row {row} of {source}"
        )


def classifier_of(options: ModelOptions, watch: Watch) -> Classifier:
    """The model that is named; the default one is trained if it is not there yet."""
    default = TrainOptions()
    if options.model == DEFAULT_MODEL and not Path(options.model).exists():
        if crew_of(options.devices, options.cluster).size > 1:
            raise FgsmError(
                f"no model at {options.model}; several workers do not train one by the way: "
                "expected fgsm train before"
            )
        watch.note(
            f"No model at {options.model} yet: training the default one (seed {default.seed})."
        )
        train(default, watch)
    with watch.busy("Loading the model"):
        return loaded(options.model, options)


def loaded(path: str, options: LoadingOptions) -> Classifier:
    """A model, with what the options say of it."""
    loading = Loading(
        input_range=options.given_range(),
        range_source="--mean and --std" if options.mean else "--input-range",
        output_kind=options.output_kind,
        output_name=options.output_name,
        input_name=options.input_name,
        endpoint=options.endpoint,
        allow_code=options.allow_code,
        imports=options.import_,
    )
    crew = crew_of(options.devices, options.cluster)
    first, *others = crew.on_each(lambda: load_classifier(path, loading))
    for other in others:
        if other.sha256 != first.sha256:  # a function that draws its weights
            for weight, same in zip(other.model.weights, first.model.weights, strict=True):
                weight.assign(same)
    return replace(first, others=tuple(others)) if others else first


def doubts(classifier: Classifier, images: ImageSet, clean_correct: int | None) -> Iterator[str]:
    """What about images, model and clean accuracy a reader should know before any other number."""
    yield from images.notes
    if classifier.path == DEFAULT_MODEL:
        resolved = Path(DEFAULT_DIR) / CONFIG_FILE
        if resolved.exists() and not _is_default(resolved):
            yield f"{DEFAULT_MODEL} was not trained with the default options; see {resolved}"
    if clean_correct is None:
        return
    chance, n = 1 / classifier.classes, len(images)
    _, high = wilson_interval(clean_correct, n) or (0, 1)
    if (n >= 50 and clean_correct / n < 1.5 * chance) or high < 1.5 * chance:
        labels = "these labels"
        if images.classes < classifier.classes:
            labels += (
                f", 0 to {images.classes - 1} of its {classifier.classes} outputs "
                "(--classes gives names their places, --only numbers what it keeps anew)"
            )
        yield (
            f"the clean accuracy, {percent(clean_correct / n)}, is near chance, {percent(chance)}; "
            f"does the model take pixels in {classifier.range} (--input-range) and {labels}?"
        )


def _is_default(config: Path) -> bool:
    """Whether a training's resolved options are the default ones."""
    try:
        asked = build(TrainOptions, read_experiment(str(config))["train"])
    except (FgsmError, KeyError):
        return False
    return asked.what_is_learned() == TrainOptions().what_is_learned()
