"""``fgsm attack`` and ``fgsm eval``."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..certification import proved
from ..config import AttackOptions, EvalOptions
from ..data import ImageSet
from ..distribution import crew_of
from ..evaluation import (
    UNWRITTEN,
    Contest,
    Journal,
    Judged,
    Keep,
    judge,
    judge_examples,
    open_journal,
)
from ..examples import check_form, is_picture, load_examples, room, save_examples
from ..files import sha256
from ..models import Classifier
from ..portrait import course_grid, portray, room_for
from ..results import Gallery, Judgement, OverSeeds, Portrait, Source, versions
from .folders import check_figure, check_target, output_folder, write, write_outcomes
from .showing import drawn, gallery_of, how_many, keeper, of_set, shown_of
from .sources import clean_source, data_source, model_source
from .subject import check_fit, check_known, classifier_of, doubts, subject
from .watch import Watch


def attack(options: AttackOptions, watch: Watch) -> Judgement:
    """Attack a model with one attack; keep the adversarial set if asked to."""
    folder = output_folder(options.output, "attack", (options.model, options.data))
    [[only]], target = options.contests(), options.target_set
    if target:
        check_target(*target, (options.model, options.data))
    if options.images:
        check_figure("--images", options.images, (options.model, options.data))
    classifier, images = subject(options, watch)
    if target:
        check_form(target[1], images.shape, target[0])
    kept = room(images.images.shape, target[0]) if target else None
    crew = crew_of(options.devices, options.cluster)
    wanted = how_many(options, images.shape, images.name)
    keeps = bool(crew.chiefs({"keeps": np.array(target is not None or wanted > 0)})["keeps"])
    first, keep_first = keeper(options.contests(), images, wanted)

    def keep(position: int, indices: Any, x_adv: Any) -> None:
        keep_first(position, indices, x_adv)
        if kept is not None:
            kept[indices] = x_adv

    journal = _journal(options, classifier, images)
    if journal.folder and (held := sum(1 for _ in journal.folder.rglob("*.npz"))):
        watch.note(f"--resume goes on from {held:,} finished batches in {journal.folder}.")
    judged = _judged(options, classifier, images, watch, keep if keeps else None, journal)
    saved = None
    if target:
        with watch.busy("Saving the adversarial set"):
            save_examples(*target, kept, images, only, classifier.sha256)
        if target[1] == "png" and images.labels is not None:
            again = load_examples(target[0], None)
            saved = judge_examples(
                classifier,
                replace(again, clean=images.images, clean_range=images.range),
                batch_size=options.batch_size,
                progress=watch.progress,
            )
    record = replace(
        _record("attack", options, classifier, images, judged),
        files=(target[0],) if target else (),
        saved=saved,
        portrait=_portrait(options, classifier, images, judged, watch),
    )
    if wanted:
        shown = gallery_of(classifier, images, options.contests(), first)
        record = _with_images(record, shown, options)
    if folder:
        write_outcomes(folder, judged)
        write(folder, {"attack": options}, record.as_dict())
    journal.close()
    return record


def _journal(options: AttackOptions, classifier: Classifier, images: ImageSet) -> Journal:
    """Where the attack's shards are kept; on a worker that is not the chief, nowhere."""
    if options.shards is None:
        return UNWRITTEN
    if not crew_of(options.devices, options.cluster).is_chief:
        return Journal(written=True)
    asked = {
        **options.what_is_found(),
        "model sha256": classifier.sha256,
        "images sha256": images.digest(),
        "versions": versions(),
    }
    return open_journal(options.shards, asked)


def _with_images(
    record: Judgement, shown: Gallery, options: AttackOptions | EvalOptions
) -> Judgement:
    """The judgement and images of it: in a file if one is named, to be shown if that is asked."""
    files = drawn(shown, options.images).files
    return replace(
        record,
        files=(*record.files, *files),
        gallery=shown if options.show or options.tensorboard else None,
    )


def _record(
    command: str,
    options: AttackOptions | EvalOptions,
    classifier: Classifier,
    images: ImageSet,
    judged: Judged,
) -> Judgement:
    """A judgement with all that is to be said of it."""
    lost = _lost_in_eight_bits(options) if isinstance(options, AttackOptions) else ()
    return Judgement(
        command=command,
        model=model_source(classifier),
        data=data_source(images),
        n=len(images),
        clean_correct=judged.clean_correct,
        results=judged.results,
        warnings=(*judged.warnings, *doubts(classifier, images, judged.clean_correct), *lost),
        fail_under=options.fail_under,
    )


def _portrait(
    options: AttackOptions | EvalOptions,
    classifier: Classifier,
    images: ImageSet,
    judged: Judged,
    watch: Watch,
) -> Portrait | None:
    """The portrait under the attack that leaves fewest images as they were, if it is wanted."""
    if not watch.wants_portrait:
        return None
    contests = options.contests()
    strongest = int(judged.still.sum(axis=1).argmin())
    first = contests[strongest][0]
    asked = [contest[0].epsilon for contest in contests if contest[0].norm == first.norm]
    return portray(
        classifier,
        images,
        contests[strongest],
        judged,
        strongest,
        epsilons=course_grid(asked, first.norm),
        batch_size=options.batch_size,
        seed=options.seed,
        progress=watch.progress,
    )


def _lost_in_eight_bits(options: AttackOptions) -> Iterator[str]:
    [[attack]], target = options.contests(), options.target_set
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
    journal: Journal = UNWRITTEN,
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
            crew=crew_of(options.devices, options.cluster),
            journal=journal.part(f"seed-{seed}") if journal.written else journal,
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
    inputs = (options.model, options.data, options.examples or "")
    folder = output_folder(options.output, "eval", inputs)
    if options.images:
        check_figure("--images", options.images, inputs)
    if options.examples:
        record = _evaluate_examples(options, options.examples, watch)
    else:
        record, judged = judgement_of("eval", options, *subject(options, watch), watch)
        if folder:
            write_outcomes(folder, judged)
    if folder:
        write(folder, {"eval": options}, record.as_dict())
    return record


def judgement_of(
    command: str,
    options: AttackOptions | EvalOptions,
    classifier: Classifier,
    images: ImageSet,
    watch: Watch,
) -> tuple[Judgement, Judged]:
    """The record of a model and images that are at hand, and what became of each image."""
    check_fit(classifier, images)
    wanted = how_many(options, images.shape, images.name)
    first, keep = keeper(options.contests(), images, wanted)
    crew = crew_of(options.devices, options.cluster)
    keeps = bool(crew.chiefs({"keeps": np.array(wanted > 0)})["keeps"])
    judged = _judged(options, classifier, images, watch, keep if keeps else None)
    if isinstance(options, EvalOptions) and options.certify:
        judged = _certified(options, classifier, images, judged)
    record = replace(
        _record(command, options, classifier, images, judged),
        portrait=_portrait(options, classifier, images, judged, watch),
    )
    if wanted:
        shown = gallery_of(classifier, images, options.contests(), first)
        record = _with_images(record, shown, options)
    return record, judged


def _certified(
    options: EvalOptions, classifier: Classifier, images: ImageSet, judged: Judged
) -> Judged:
    """The results with what is proved at their epsilons, which none of them may cross."""
    results = []
    for contest, result, still in zip(
        options.contests(), judged.results, judged.still, strict=True
    ):
        norm, epsilon = contest[0].norm, contest[0].epsilon
        sure = proved(classifier, images, norm, epsilon, judged.right, still, options.batch_size)
        results.append(replace(result, certified_correct=int(sure.sum())))
    return replace(judged, results=tuple(results))


def _evaluate_examples(options: EvalOptions, path: str, watch: Watch) -> Judgement:
    examples = load_examples(path, clean_source(path, options), options.limit)
    classifier = classifier_of(options, watch)
    classifier.check(examples.images.shape[1:])
    check_known(classifier, examples.labels, path)
    crew = crew_of(options.devices, options.cluster)
    if crew.size > 1:
        crew.check_agreement(model=classifier.sha256, adversarial_set=sha256(path))
    result = judge_examples(
        classifier,
        examples,
        batch_size=options.batch_size,
        progress=watch.progress,
        crew=crew,
    )
    record = Judgement(
        command="eval",
        model=model_source(classifier),
        data=Source(path, sha256(path), f"{len(examples):,} adversarial images"),
        n=len(examples),
        clean_correct=result.clean_correct,
        results=(result,),
        warnings=classifier.notes,
        fail_under=options.fail_under,
    )
    shape = examples.images.shape[1:]
    if how_many(options, shape, path):
        record = _with_images(record, of_set(shown_of(options, path), classifier), options)
    if watch.wants_portrait and examples.clean is not None and is_picture(shape):
        few = shown_of(options, path).model_copy(update={"limit": room_for(shape)})
        record = replace(record, pictured=of_set(few, classifier))
    return record
