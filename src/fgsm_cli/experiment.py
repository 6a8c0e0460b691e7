"""One function a command: options in, record out; and the run of several from one file.

    record = attack(build(AttackOptions, {"epsilon": 0.1}), Watch())

Nothing here knows the screen: what goes on is told to a ``Watch``.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from .audit import audit as run_checks
from .config import (
    CONFIG_FILE,
    CURVE_FILE,
    DEFAULT_DIR,
    DEFAULT_MODEL,
    EXAMPLES_FILE,
    MODEL_FILE,
    OUTCOMES_FILE,
    RESULTS_FILE,
    AttackOptions,
    AuditOptions,
    CurveOptions,
    EvalOptions,
    ModelOptions,
    Options,
    TrainOptions,
    build,
    dump_experiment,
    read_experiment,
)
from .curve import trace_curve
from .data import MNIST_SHA256, ImageSet, load_images
from .errors import FgsmError
from .evaluation import Judged, judge, judge_examples
from .examples import load_examples, made_from, save_examples
from .files import make_folder, same_file, sha256, whole_file
from .models import Classifier, Loading, build_mlp, inspect, load_classifier, save_model
from .ranges import PixelRange
from .results import (
    QUANTILES,
    Audit,
    Curve,
    Epoch,
    Judgement,
    ModelSource,
    Source,
    Training,
    versions,
)
from .training import Progress, count_correct
from .training import train as train_model

Record = Training | Judgement | Curve | Audit


def _silent(*_: Any) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Watch:
    """Who is told what goes on: ``note`` gets sentences, ``progress`` gets counts."""

    note: Callable[[str], None] = _silent
    progress: Progress = _silent


def train(options: TrainOptions, watch: Watch) -> Training:
    """Train the MLP and count its right answers on the test images.

    Writes model.keras, config.yaml and results.json into the output folder. A folder that
    holds the model of these very options already is taken as it is, unless ``retrain``.
    """
    folder = _folder(options.output, "train") or Path(options.output)
    test = load_images(options.data, "test", options.limit)
    if not options.retrain and (kept := _trained_before(options, test)):
        watch.note(f"Using {kept.model.path}: it was trained with these very options before.")
        return kept
    if (folder / MODEL_FILE).exists():
        watch.note(f"Replacing {folder / MODEL_FILE}, which was trained with other options.")
    images = load_images(options.data, "train", options.limit)
    _check_trainable(images, test)
    model = build_mlp(
        options.hidden,
        dropout=options.dropout,
        head=options.head,
        seed=options.seed,
        input_shape=images.shape,
        classes=images.classes,
    )
    epochs = train_model(model, images, options, watch.progress)
    path = folder / MODEL_FILE
    save_model(model, path)
    record = Training(
        model=_model_source(inspect(model, path=str(path), sha256=sha256(path))),
        data=_data_source(images),
        n=len(test),
        clean_correct=count_correct(model, test),
        epochs=epochs,
        files=(str(path),),
        warnings=tuple(_training_warnings(images, test)),
    )
    _write(folder, {"train": options}, record.as_dict())
    return record


def _check_trainable(images: ImageSet, test: ImageSet) -> None:
    if images.shape != test.shape:
        raise FgsmError(
            f"the training and the test images of {images.name} must be of one shape. "
            f"Received: {images.shape} and {test.shape}"
        )
    if images.classes < 2:
        raise FgsmError(f"{images.name} must have at least two classes. Received: one")


def _training_warnings(images: ImageSet, test: ImageSet) -> Iterator[str]:
    if images.images.shape == test.images.shape and np.array_equal(images.images, test.images):
        yield f"the test images of {test.name} are its training images: accuracy is overstated"


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
        shown = {"output": "", "format": "table", "retrain": False}
        if before.model_copy(update=shown) != options.model_copy(update=shown):
            return None
        if document["versions"] != versions():
            return None
        if document["data"]["sha256"] != _data_source(test).sha256:
            return None
        if model.sha256 != sha256(folder / MODEL_FILE):
            return None
        return Training(
            model=model,
            data=Source(**document["data"]),
            n=len(test),
            clean_correct=document["clean_correct"],
            epochs=tuple(Epoch.from_dict(epoch) for epoch in document["epochs"]),
            files=tuple(document["files"]),
            warnings=tuple(document["warnings"]),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def attack(options: AttackOptions, watch: Watch) -> Judgement:
    """Attack a model with one attack; keep the adversarial set if asked to."""
    folder = _folder(options.output, "attack")
    target = options.save or (folder and str(folder / EXAMPLES_FILE))
    if options.save:
        _check_target(options.save, (options.model, options.data))
    classifier, images = _subject(options, watch)
    kept = np.empty(images.images.shape, np.float32) if target else None

    def keep(_: int, indices: Any, x_adv: Any) -> None:
        if kept is not None:
            kept[indices] = x_adv

    judged = judge(
        classifier,
        images,
        options.contests(),
        batch_size=options.batch_size,
        seed=options.seed,
        progress=watch.progress,
        keep=keep if target else None,
    )
    if target and kept is not None:
        save_examples(target, kept, images, options.contests()[0][0], classifier.sha256)
    record = Judgement(
        command="attack",
        model=_model_source(classifier),
        data=_data_source(images),
        n=len(images),
        clean_correct=int(judged.right.sum()),
        results=judged.results,
        warnings=(*judged.warnings, *_doubts(classifier, images, int(judged.right.sum()))),
        fail_under=options.fail_under,
        files=(target,) if target else (),
    )
    if folder:
        _write_outcomes(folder, judged)
        _write(folder, {"attack": options}, record.as_dict())
    return record


def evaluate(options: EvalOptions, watch: Watch) -> Judgement:
    """Judge a model under attacks at several epsilons, or on a saved adversarial set."""
    folder = _folder(options.output, "eval")
    if options.examples:
        record = _evaluate_examples(options, options.examples, watch)
    else:
        classifier, images = _subject(options, watch)
        judged = judge(
            classifier,
            images,
            options.contests(),
            batch_size=options.batch_size,
            seed=options.seed,
            progress=watch.progress,
        )
        record = Judgement(
            command="eval",
            model=_model_source(classifier),
            data=_data_source(images),
            n=len(images),
            clean_correct=int(judged.right.sum()),
            results=judged.results,
            warnings=(*judged.warnings, *_doubts(classifier, images, int(judged.right.sum()))),
            fail_under=options.fail_under,
        )
        if folder:
            _write_outcomes(folder, judged)
    if folder:
        _write(folder, {"eval": options}, record.as_dict())
    return record


def _evaluate_examples(options: EvalOptions, path: str, watch: Watch) -> Judgement:
    examples = load_examples(path, _clean_source(path, options.data), options.limit)
    classifier = _classifier(options, watch)
    classifier.check(examples.images.shape[1:])
    _check_labels(classifier, examples.labels, path)
    result = judge_examples(
        classifier, examples, batch_size=options.batch_size, progress=watch.progress
    )
    return Judgement(
        command="eval",
        model=_model_source(classifier),
        data=Source(path, sha256(path), f"{len(examples):,} adversarial images"),
        n=len(examples),
        clean_correct=result.clean_correct,
        results=(result,),
        warnings=classifier.notes,
        fail_under=options.fail_under,
    )


def curve(options: CurveOptions, watch: Watch) -> Curve:
    """Follow every image along its direction; keep where each one flips if asked to."""
    folder = _folder(options.output, "curve")
    classifier, images = _subject(options, watch)
    grid = options.grid()
    found = trace_curve(
        classifier,
        images,
        options.direction(),
        grid,
        batch_size=options.batch_size,
        progress=watch.progress,
    )
    smallest = np.where(np.isnan(found.smallest), np.inf, found.smallest)[found.right[0]]
    quantiles = (
        np.quantile(smallest, QUANTILES, method="inverted_cdf")
        if len(smallest)
        else np.full(5, np.inf)
    )
    zeros = found.zero_gradients
    files: tuple[str, ...] = ()
    if folder:
        files = (str(folder / CURVE_FILE),)
        with whole_file(files[0]) as temporary, temporary.open("wb") as file:
            np.savez(file, epsilons=grid, right=found.right, smallest_epsilon=found.smallest)
    record = Curve(
        model=_model_source(classifier),
        data=_data_source(images),
        attack=options.direction(),
        n=len(images),
        epsilons=grid,
        correct=tuple(int(row.sum()) for row in found.right),
        quantiles=tuple(float(one) if np.isfinite(one) else None for one in quantiles),
        never=int(np.isinf(smallest).sum()),
        back=int(np.any(~found.right[:-1] & found.right[1:], axis=0).sum()),
        zero_gradients=zeros,
        files=files,
        warnings=(*classifier.notes, *_standstill(zeros, len(images))),
    )
    if folder:
        _write(folder, {"curve": options}, record.as_dict())
    return record


def _standstill(zeros: int, n: int) -> Iterator[str]:
    if zeros:
        yield f"{zeros:,} of {n:,} images have a zero gradient: no epsilon moves them"


def audit(options: AuditOptions, watch: Watch) -> Audit:
    """Check whether the model's accuracy under attack can be trusted."""
    folder = _folder(options.output, "audit")
    classifier, images = _subject(options, watch)
    findings = run_checks(
        classifier,
        images,
        load_images(options.data, "train"),
        epsilon=options.epsilon,
        batch_size=options.batch_size,
        seed=options.seed,
        progress=watch.progress,
    )
    record = Audit(
        _model_source(classifier),
        _data_source(images),
        options.epsilon,
        findings,
        warnings=classifier.notes,
    )
    if folder:
        _write(folder, {"audit": options}, record.as_dict())
    return record


COMMANDS: Mapping[str, Callable[[Any, Watch], Record]] = {
    "train": train,
    "attack": attack,
    "eval": evaluate,
    "curve": curve,
    "audit": audit,
}


def _clean_source(path: str, data: str) -> ImageSet | None:
    """The image set that a saved set was made from: --data if given, else what it names."""
    named = made_from(path)
    if data == EvalOptions().data and named and (named == "mnist" or Path(named).exists()):
        data = named
    elif data == EvalOptions().data and named not in ("", data):
        return None
    return load_images(data, "test")


def write_run(folder: str, sections: Mapping[str, Options], document: Mapping[str, Any]) -> None:
    """Keep a whole experiment: its resolved config.yaml and its results.json."""
    _write(make_folder(folder), sections, document)


def _folder(path: str | None, command: str) -> Path | None:
    """The output folder, made; one that holds another command's results is refused."""
    if path is None:
        return None
    folder = make_folder(path)
    try:
        holds = json.loads((folder / RESULTS_FILE).read_text(encoding="utf-8")).get("command")
    except (OSError, ValueError, AttributeError):
        return folder
    if holds not in (command, None):
        raise FgsmError(f"{path} holds the results of {holds}; expected a folder for {command}")
    return folder


def _subject(options: ModelOptions, watch: Watch) -> tuple[Classifier, ImageSet]:
    """The model and the test images, found to fit each other."""
    images = load_images(options.data, "test", options.limit)
    classifier = _classifier(options, watch)
    classifier.check(images.shape)
    _check_labels(classifier, images.known_labels, images.name)
    return classifier, images


def _check_labels(classifier: Classifier, labels: Any, source: str) -> None:
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


def _classifier(options: ModelOptions, watch: Watch) -> Classifier:
    """The model that is named; the default one is trained if it is not there yet."""
    default = TrainOptions()
    if options.model == DEFAULT_MODEL and not Path(options.model).exists():
        watch.note(
            f"No model at {options.model} yet: training the default one (seed {default.seed})."
        )
        train(default, watch)
    return load_classifier(options.model, _loading(options))


def _loading(options: ModelOptions) -> Loading:
    """What the options say of the model."""
    given, source = None, "--input-range"
    if options.input_range:
        low, high = options.input_range
        given = PixelRange((low,), (high,))
    elif options.mean:
        channels = max(len(options.mean), len(options.std))
        mean, std = (
            one * channels if len(one) == 1 else one for one in (options.mean, options.std)
        )
        given, source = PixelRange.standardised(mean, std), "--mean and --std"
    return Loading(
        input_range=given,
        range_source=source,
        output_kind=options.output_kind,
        output_name=options.output_name,
        input_name=options.input_name,
        endpoint=options.endpoint,
        allow_code=options.allow_code,
        imports=options.import_,
    )


def _doubts(classifier: Classifier, images: ImageSet, clean_correct: int) -> Iterator[str]:
    """What about a model and its clean accuracy a reader should know before any other number."""
    if classifier.path == DEFAULT_MODEL:
        default = _config_text({"train": TrainOptions()})
        resolved = Path(DEFAULT_DIR) / CONFIG_FILE
        if resolved.exists() and resolved.read_text(encoding="utf-8") != default:
            yield f"{DEFAULT_MODEL} was not trained with the default options; see {resolved}"
    chance, n = 1 / classifier.classes, len(images)
    if n >= 50 and clean_correct / n < 1.5 * chance:
        yield (
            f"the clean accuracy, {clean_correct / n:.1%}, is near chance, {chance:.1%}; does the "
            f"model take pixels in {classifier.range} (--input-range) and these labels?"
        )


def _check_target(path: str, inputs: tuple[str, ...]) -> None:
    """Refuse, before the work, a file that could not be written after it."""
    if not path.endswith(".npz"):
        raise FgsmError(f"--save must name an .npz file. Received: {path!r}")
    if Path(path).is_dir():
        raise FgsmError(f"--save must name a file. Received: the folder {path}")
    for one in inputs:
        if same_file(path, one):
            raise FgsmError(f"--save must not overwrite an input. Received: {path}")
    make_folder(Path(path).parent)


def _model_source(classifier: Classifier) -> ModelSource:
    return ModelSource(
        classifier.path,
        classifier.sha256,
        classifier.head,
        classifier.range.ends,
        classifier.range_source,
    )


def _data_source(images: ImageSet) -> Source:
    digest = MNIST_SHA256 if images.name == "mnist" else sha256(images.name)
    return Source(images.name, digest, f"{len(images):,} {images.split} images")


def _config_text(sections: Mapping[str, Options]) -> str:
    return f"# fgsm {__version__}; run again with: fgsm run FILE\n{dump_experiment(sections)}"


def _write_outcomes(folder: Path, judged: Judged) -> None:
    """Keep the answers image by image, for ``fgsm compare``."""
    with whole_file(folder / OUTCOMES_FILE) as temporary, temporary.open("wb") as file:
        np.savez(file, right=judged.right, still=judged.still)


def _write(folder: Path, sections: Mapping[str, Options], document: Mapping[str, Any]) -> None:
    with whole_file(folder / CONFIG_FILE) as temporary:
        temporary.write_text(_config_text(sections), encoding="utf-8")
    with whole_file(folder / RESULTS_FILE) as temporary:
        temporary.write_text(
            json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8"
        )
