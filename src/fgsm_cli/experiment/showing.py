"""``fgsm show``, and the images that ``--show`` and ``--images`` want: before and after an attack.

    gallery = show(build(ShowOptions, {"set": "adv.npz"}), Watch())

A saved set says what it was made from; the model is asked for its answers anew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backend import tf
from ..config import (
    DEFAULT_MODEL,
    AttackOptions,
    EvalOptions,
    LoadingOptions,
    ShowOptions,
    build,
)
from ..data import ImageSet, check_images, check_labels, in_unit_range, natural_range
from ..errors import FgsmError
from ..evaluation import Contest, Keep
from ..examples import About, as_attack, as_picture, open_set
from ..files import check_readable, sha256
from ..models import Classifier
from ..plots import grid
from ..results import Answer, Exhibit, Gallery, Moved, Source, Worst
from .folders import check_figure
from .sources import clean_source, data_source, model_source
from .subject import loaded
from .watch import Watch

Pixels = NDArray[np.float32]


def show(options: ShowOptions, watch: Watch) -> Gallery:
    """Some images of a saved adversarial set, with the answers of the model that is named.

    Raises FgsmError for a set that is damaged, or holds no image of those that are asked for.
    """
    check_readable(options.set, "adversarial set")
    if options.images:
        check_figure("--images", options.images, (options.set, options.data, options.model or ""))
    with open_set(options.set) as (_, about, _):
        classifier = _model(options, about, watch)
    return drawn(of_set(options, classifier), options.images)


def of_set(options: ShowOptions, classifier: Classifier | None) -> Gallery:
    """Some images of a saved adversarial set, and what the model says of them."""
    source = clean_source(options.set, options.model_copy(update={"only": ()}))
    with open_set(options.set) as (stored, about, stored_clean):
        as_picture(stored.shape[1:], options.set)
        n = len(stored)
        labels = None if about.labels is None else check_labels(about.labels, n, options.set)
        places = _chosen(options, labels, n)
        adversarial = _pixels(stored, places, options.set)
        clean, names = None, options.classes
        if stored_clean is not None:
            clean = _pixels(stored_clean, places, options.set)
        elif source is not None and about.indices is not None:
            clean, names = _from_source(source, about, places, options)
        if clean is not None and clean.shape != adversarial.shape:
            raise FgsmError(
                f"the clean images of {options.set} must have shape {adversarial.shape}. "
                f"Received: {clean.shape}"
            )
        if classifier:
            classifier.check(adversarial.shape[1:])
        indices = places if about.indices is None else np.resize(about.indices, n)[places]
    attack = as_attack(about.attack)
    return Gallery(
        data=Source(options.set, sha256(options.set), f"{n:,} adversarial images"),
        model=model_source(classifier) if classifier else None,
        n=n,
        images=tuple(
            _images(
                classifier,
                indices,
                None if labels is None else labels[places],
                clean,
                [adversarial],
                [_title([attack]) if attack else "adversarial"],
            )
        ),
        class_names=names,
        warnings=(*_farther(about, clean, adversarial), *(classifier.notes if classifier else ())),
    )


def drawn(gallery: Gallery, path: str | None) -> Gallery:
    """The gallery, written as a grid to the file if one is named."""
    if path is None:
        return gallery
    grid(gallery, path)
    return replace(gallery, files=(path,))


def shown_of(options: AttackOptions | EvalOptions, path: str) -> ShowOptions:
    """What ``fgsm show`` would take to show the first images of the set that is judged."""
    alike = LoadingOptions.model_fields.keys() & ShowOptions.model_fields.keys()
    own = {"set", "model", "limit", "offset", "only", "format", *ShowOptions.without}
    values = {name.rstrip("_"): getattr(options, name) for name in alike - own}
    given = {"set": path, "model": options.model, "limit": options.pictures}
    return build(ShowOptions, {**values, **given})


def how_many(options: AttackOptions | EvalOptions, shape: tuple[int, ...], source: str) -> int:
    """How many images are wanted; for TensorBoard alone none of what is no picture.

    Raises FgsmError, before the work, for what is no picture and is to be shown.
    """
    if options.shown:
        try:
            as_picture(shape, source)
        except FgsmError:
            if options.show or options.images:
                raise
            return 0
    return options.shown


def keeper(contests: Sequence[Contest], images: ImageSet, count: int) -> tuple[Pixels, Keep]:
    """An array (contests, count, ...) and what fills it with the first adversarial images."""
    kept = np.zeros((len(contests), min(count, len(images)), *images.shape), np.float32)

    def keep(position: int, indices: NDArray[np.intp], x_adv: Pixels) -> None:
        near = indices < kept.shape[1]
        kept[position, indices[near]] = x_adv[near]

    return kept, keep


def gallery_of(
    classifier: Classifier, images: ImageSet, contests: Sequence[Contest], kept: Pixels
) -> Gallery:
    """The first images before and after each contest, as ``keeper`` kept them."""
    first = images.take(np.arange(kept.shape[1]))
    titles = [_title(contest) for contest in contests]
    return Gallery(
        data=data_source(images),
        model=model_source(classifier),
        n=len(images),
        images=tuple(
            _images(classifier, first.indices, first.labels, first.pixels(), list(kept), titles)
        ),
        class_names=images.class_names,
    )


def _title(contest: Contest) -> str:
    first = contest[0]
    name = first.title if len(contest) == 1 else Worst(tuple(contest)).title
    return f"{name}, epsilon {first.epsilon:.4g}"


def _images(
    classifier: Classifier | None,
    indices: Any,
    labels: Any,
    clean: Pixels | None,
    moved: Sequence[Pixels],
    titles: Sequence[str],
) -> Iterator[Exhibit]:
    before = _answers(classifier, clean, len(indices))
    after = [_answers(classifier, pixels, len(indices)) for pixels in moved]
    for place, index in enumerate(indices):
        yield Exhibit(
            index=int(index),
            label=None if labels is None else int(labels[place]),
            clean=None if clean is None else clean[place],
            answer=before[place],
            moved=tuple(
                Moved(
                    title,
                    pixels[place],
                    answers[place],
                    *((None, None) if clean is None else _distances(clean[place], pixels[place])),
                )
                for title, pixels, answers in zip(titles, moved, after, strict=True)
            ),
        )


def _distances(clean: Pixels, moved: Pixels) -> tuple[float, float]:
    """In Linf and in L2, in float64."""
    away = np.abs(moved.astype(np.float64) - clean)
    return float(away.max()), float(np.sqrt((away**2).sum()))


def _answers(classifier: Classifier | None, pixels: Pixels | None, n: int) -> list[Answer | None]:
    """What the model says of each image; None where it is not known or no number."""
    if classifier is None or pixels is None:
        return [None] * n
    shares = tf.nn.softmax(classifier(tf.constant(pixels))).numpy()
    return [
        Answer(int(one.argmax()), float(one.max())) if np.isfinite(one).all() else None
        for one in shares
    ]


def _chosen(options: ShowOptions, labels: NDArray[np.int64] | None, n: int) -> NDArray[np.intp]:
    """The places in the set of the images that are asked for."""
    places = np.arange(n)
    if options.only:
        if labels is None:
            raise FgsmError(f"--only needs labels, and {options.set} has none")
        places = np.flatnonzero(np.isin(labels, options.only))
    chosen = places[options.offset :][: options.limit]
    if not len(chosen):
        raise FgsmError(
            f"{options.set} holds {len(places)} such images; expected --offset below that. "
            f"Received: {options.offset}"
        )
    return chosen


def _pixels(stored: Any, places: NDArray[np.intp], path: str) -> Pixels:
    """Some images of a stored array as float32 in 0..1."""
    taken = np.concatenate([np.asarray(stored[place : place + 1]) for place in places])
    check_images(taken, path)
    return in_unit_range(taken, natural_range(taken.dtype))


def _from_source(
    source: ImageSet, about: About, places: NDArray[np.intp], options: ShowOptions
) -> tuple[Pixels, tuple[str, ...]]:
    """The clean images of the image set that a set was made from, and what its labels are called.

    The names are those of the whole set: of one that kept some labels only, they are not known.
    """
    indices = np.atleast_1d(np.asarray(about.indices))
    if (
        indices.dtype.kind not in "iu"
        or len(indices) <= places.max()
        or not 0 <= indices[places].min() <= indices[places].max() < len(source)
    ):
        raise FgsmError(f"the indices of {options.set} do not fit the image set {source.name}")
    taken = source.take(indices[places])
    same = (
        about.labels is not None
        and taken.labels is not None
        and np.array_equal(taken.labels, about.labels[places])
    )
    return taken.pixels(), source.class_names if same else ()


def _model(options: ShowOptions, about: About, watch: Watch) -> Classifier | None:
    """The model that is named, or the default one if it is the one that the set was made on."""
    path = options.model
    if path is None:
        default = Path(DEFAULT_MODEL)
        if default.is_file() and sha256(default) == about.model_sha256:
            path = DEFAULT_MODEL
        else:
            watch.note("No model's answers are shown; fgsm show SET MODEL takes one.")
            return None
    return loaded(path, options)


def _farther(about: About, clean: Pixels | None, moved: Pixels) -> Iterator[str]:
    """What to say where the clean images cannot be those that the set was made from."""
    if clean is None:
        yield "the set's clean images are not at hand; --data names the image set it was made from"
    elif about.norm == "linf" and about.epsilon is not None:
        far = max(_distances(*pair)[0] for pair in zip(clean, moved, strict=True))
        if far > about.epsilon + 1 / 255:
            yield (
                f"an image moved by {far:.4g}, more than the set's own epsilon {about.epsilon:g}; "
                "was it made from other images?"
            )
