"""One function a command: options in, record out; and the run of several from one file.

    record = attack(build(AttackOptions, {"epsilon": 0.1}), Watch())

Nothing here knows the screen: what goes on is told to a ``Watch``.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from .audit import audit as run_checks
from .config import (
    CHECKPOINT_FILE,
    CONFIG_FILE,
    CURVE_FILE,
    DEFAULT_DIR,
    DEFAULT_MODEL,
    MODEL_FILE,
    OUTCOMES_FILE,
    RESULTS_FILE,
    AttackOptions,
    AuditOptions,
    CurveOptions,
    EvalOptions,
    ModelOptions,
    Options,
    SaveFormat,
    TrainOptions,
    build,
    dump_experiment,
    read_experiment,
)
from .curve import trace_curve
from .data import ImageSet, is_named, load_images
from .errors import FgsmError
from .evaluation import UNLABELLED, Contest, Judged, Keep, judge, judge_examples, predicted
from .examples import MANIFEST_FILE, digest, load_examples, made_from, room, save_examples
from .family import Attack
from .files import check_replaceable, make_folder, same_file, sha256, whole_file
from .models import Classifier, Loading, build_mlp, inspect, load_classifier, save_model
from .results import (
    QUANTILES,
    Audit,
    Curve,
    Epoch,
    Judgement,
    ModelSource,
    OverSeeds,
    Source,
    Training,
    versions,
)
from .training import Progress, count_correct, has_collapsed
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
    test = load_images(options.data, "test", options.limit, options.reading())
    if not options.retrain and (kept := _trained_before(options, test)):
        watch.note(f"Using {kept.model.path}: it was trained with these very options before.")
        return kept
    if (folder / MODEL_FILE).exists():
        watch.note(f"Replacing {folder / MODEL_FILE}, which was trained with other options.")
    images = load_images(options.data, "train", options.limit, options.reading())
    _check_trainable(images, test)
    model = build_mlp(
        options.hidden,
        dropout=options.dropout,
        head=options.head,
        seed=options.seed,
        input_shape=images.shape,
        classes=images.classes,
    )
    checkpoint = folder / CHECKPOINT_FILE
    if checkpoint.exists() and not options.resume:
        watch.note(f"Starting anew; --resume would go on from {checkpoint}.")
    epochs = train_model(model, images, options, watch.progress, checkpoint)
    path = folder / MODEL_FILE
    save_model(model, path)
    checkpoint.unlink(missing_ok=True)
    record = Training(
        model=_model_source(inspect(model, path=str(path), sha256=sha256(path))),
        data=_data_source(images),
        n=len(test),
        clean_correct=count_correct(model, test),
        epochs=epochs,
        files=(str(path),),
        warnings=tuple(_training_warnings(images, test, epochs, options)),
    )
    _write(folder, {"train": options}, record.as_dict())
    return record


def _check_trainable(images: ImageSet, test: ImageSet) -> None:
    if images.shape != test.shape:
        raise FgsmError(
            f"the training and the test images of {images.name} must be of one shape. "
            f"Received: {images.shape} and {test.shape}"
        )
    if images.labels is None or test.labels is None:
        raise FgsmError(f"training needs labels; {images.name} has none")
    if images.classes < 2:
        raise FgsmError(f"{images.name} must have at least two classes. Received: one")


def _training_warnings(
    images: ImageSet, test: ImageSet, epochs: Sequence[Epoch], options: TrainOptions
) -> Iterator[str]:
    yield from dict.fromkeys((*images.notes, *test.notes))
    if images.images.shape == test.images.shape and np.array_equal(images.images, test.images):
        yield f"the test images of {test.name} are its training images: accuracy is overstated"
    places = range(1, len(epochs) + 1)
    collapses = [place for place in places if has_collapsed(epochs[:place])]
    if collapses and options.stop_on_collapse:
        kept = max(places, key=lambda place: _under_pgd(epochs[place - 1]))
        yield (
            f"training stopped: in epoch {collapses[-1]} its accuracy under PGD collapsed; kept "
            f"are the weights of epoch {kept}, the best under PGD"
        )
    elif collapses:
        yield (
            f"catastrophic overfitting in epoch {collapses[0]}: the accuracy under PGD collapsed "
            "while that under FGSM did not; --stop-on-collapse keeps the best ones"
        )
    if options.adversarial and not epochs[-1].probe:
        yield "no images were held out, so that a collapse would not have been seen"


def _under_pgd(epoch: Epoch) -> int:
    return epoch.probe.pgd_correct if epoch.probe else 0


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
    target = options.target_set
    if target:
        _check_target(*target, (options.model, options.data))
    classifier, images = _subject(options, watch)
    kept = room(images.images.shape, target[0]) if target else None

    def keep(_: int, indices: Any, x_adv: Any) -> None:
        if kept is not None:
            kept[indices] = x_adv

    judged = _judged(options, classifier, images, watch, keep if target else None)
    saved = None
    if target:
        save_examples(*target, kept, images, options.contests()[0][0], classifier.sha256)
        if target[1] == "png" and images.labels is not None:
            saved = judge_examples(
                classifier,
                load_examples(target[0], images),
                batch_size=options.batch_size,
                progress=watch.progress,
            )
    record = Judgement(
        command="attack",
        model=_model_source(classifier),
        data=_data_source(images),
        n=len(images),
        clean_correct=judged.clean_correct,
        results=judged.results,
        warnings=(
            *judged.warnings,
            *_doubts(classifier, images, judged.clean_correct),
            *_lost_in_eight_bits(options.contests()[0][0], target),
        ),
        fail_under=options.fail_under,
        files=(target[0],) if target else (),
        saved=saved,
    )
    if folder:
        _write_outcomes(folder, judged)
        _write(folder, {"attack": options}, record.as_dict())
    return record


def _lost_in_eight_bits(attack: Attack, target: tuple[str, SaveFormat] | None) -> Iterator[str]:
    levels = attack.epsilon * 255
    if target and target[1] == "png" and attack.norm == "linf" and 0 < levels < 1:
        yield (
            f"epsilon {attack.epsilon:g} is {levels:.2g} of a grey level: in 8 bits no pixel can "
            "move by so little, and the saved images are the clean ones"
        )


def _judged(
    options: AttackOptions | EvalOptions,
    classifier: Classifier,
    images: ImageSet,
    watch: Watch,
    keep: Keep | None = None,
) -> Judged:
    """The contests judged; with several seeds, those that draw at random under each of them."""
    contests = options.contests()

    def judging(these: Sequence[Contest], seed: int, keep: Keep | None = None) -> Judged:
        return judge(
            classifier,
            images,
            these,
            batch_size=options.batch_size,
            seed=seed,
            progress=watch.progress,
            keep=keep,
        )

    judged = judging(contests, options.seed, keep)
    if options.seeds == 1:
        return judged
    seeds = range(options.seed, options.seed + options.seeds)
    random = [
        place
        for place, contest in enumerate(contests)
        if any(attack.is_random for attack in contest)
    ]
    again = [judging([contests[place] for place in random], seed).results for seed in seeds[1:]]
    results = list(judged.results)
    for which, place in enumerate(random):
        found = (results[place], *(one[which] for one in again))
        correct = tuple(one.adversarial_correct or 0 for one in found)
        results[place] = replace(
            results[place], over_seeds=OverSeeds(tuple(seeds), correct, len(images))
        )
    return replace(judged, results=tuple(results))


def evaluate(options: EvalOptions, watch: Watch) -> Judgement:
    """Judge a model under attacks at several epsilons, or on a saved adversarial set."""
    folder = _folder(options.output, "eval")
    if options.examples:
        record = _evaluate_examples(options, options.examples, watch)
    else:
        classifier, images = _subject(options, watch)
        judged = _judged(options, classifier, images, watch)
        record = Judgement(
            command="eval",
            model=_model_source(classifier),
            data=_data_source(images),
            n=len(images),
            clean_correct=judged.clean_correct,
            results=judged.results,
            warnings=(*judged.warnings, *_doubts(classifier, images, judged.clean_correct)),
            fail_under=options.fail_under,
        )
        if folder:
            _write_outcomes(folder, judged)
    if folder:
        _write(folder, {"eval": options}, record.as_dict())
    return record


def _evaluate_examples(options: EvalOptions, path: str, watch: Watch) -> Judgement:
    examples = load_examples(path, _clean_source(path, options), options.limit)
    classifier = _classifier(options, watch)
    classifier.check(examples.images.shape[1:])
    _check_labels(classifier, examples.labels, path)
    result = judge_examples(
        classifier, examples, batch_size=options.batch_size, progress=watch.progress
    )
    return Judgement(
        command="eval",
        model=_model_source(classifier),
        data=Source(path, digest(path), f"{len(examples):,} adversarial images"),
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
    grid, labelled = options.grid(), images.labels is not None
    if not labelled:
        images = replace(images, labels=predicted(classifier, images, options.batch_size))
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
        labelled=labelled,
        files=files,
        warnings=(
            *classifier.notes,
            *images.notes,
            *_curve_warnings(zeros, len(images), labelled=labelled),
        ),
    )
    if folder:
        _write(folder, {"curve": options}, record.as_dict())
    return record


def _curve_warnings(zeros: int, n: int, *, labelled: bool) -> Iterator[str]:
    if not labelled:
        yield UNLABELLED
    if zeros:
        yield f"{zeros:,} of {n:,} images have a zero gradient: no epsilon moves them"


def audit(options: AuditOptions, watch: Watch) -> Audit:
    """Check whether the model's accuracy under attack can be trusted."""
    folder = _folder(options.output, "audit")
    classifier, images = _subject(options, watch)
    findings = run_checks(
        classifier,
        images,
        load_images(options.data, "train", reading=replace(options.reading(), offset=0)),
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


def _clean_source(path: str, options: EvalOptions) -> ImageSet | None:
    """The whole image set that a saved set was made from: --data if given, else what it names."""
    data, named = options.data, made_from(path)
    if data == EvalOptions().data and named and (is_named(named) or Path(named).exists()):
        data = named
    elif data == EvalOptions().data and named not in ("", data):
        return None
    return load_images(
        data, options.split, reading=replace(options.reading(), offset=0, balanced=False)
    )


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
    images = load_images(options.data, options.split, options.limit, options.reading())
    classifier = _classifier(options, watch)
    classifier.check(images.shape)
    if images.labels is not None:
        _check_labels(classifier, images.labels, images.name)
    elif needs := options.need_of_labels:
        raise FgsmError(f"{needs} needs labels, to know what is right; {images.name} has none")
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
    return Loading(
        input_range=options.given_range(),
        range_source="--mean and --std" if options.mean else "--input-range",
        output_kind=options.output_kind,
        output_name=options.output_name,
        input_name=options.input_name,
        endpoint=options.endpoint,
        allow_code=options.allow_code,
        imports=options.import_,
    )


def _doubts(classifier: Classifier, images: ImageSet, clean_correct: int | None) -> Iterator[str]:
    """What about images, model and clean accuracy a reader should know before any other number."""
    yield from images.notes
    if classifier.path == DEFAULT_MODEL:
        resolved = Path(DEFAULT_DIR) / CONFIG_FILE
        if resolved.exists() and not _is_default(resolved):
            yield f"{DEFAULT_MODEL} was not trained with the default options; see {resolved}"
    chance, n = 1 / classifier.classes, len(images)
    if clean_correct is not None and n >= 50 and clean_correct / n < 1.5 * chance:
        yield (
            f"the clean accuracy, {clean_correct / n:.1%}, is near chance, {chance:.1%}; does the "
            f"model take pixels in {classifier.range} (--input-range) and these labels?"
        )


def _is_default(config: Path) -> bool:
    """Whether a training's resolved options are the default ones."""
    try:
        asked = build(TrainOptions, read_experiment(str(config))["train"])
    except (FgsmError, KeyError):
        return False
    return asked.what_is_learned() == TrainOptions().what_is_learned()


def _check_target(path: str, form: SaveFormat, inputs: tuple[str, ...]) -> None:
    """Refuse, before the work, a target that could not be written after it."""
    for one in inputs:
        if same_file(path, one):
            raise FgsmError(f"--save must not overwrite an input. Received: {path}")
    if form != "npz":
        check_replaceable(path, MANIFEST_FILE)
    elif Path(path).is_dir():
        raise FgsmError(f"--save must name a file. Received: the folder {path}")
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
    return Source(images.name, images.digest(), f"{len(images):,} {images.split} images")


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
