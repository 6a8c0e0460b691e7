"""``fgsm curve``."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..certification import proved
from ..config import CURVE_FILE, CurveOptions
from ..curve import Traced, trace_curve
from ..data import ImageSet
from ..distribution import crew_of
from ..evaluation import UNLABELLED, judge, predicted
from ..files import whole_file
from ..models import Classifier
from ..plots import curves
from ..portrait import portray
from ..results import QUANTILES, Curve, Portrait, lines_of
from .folders import check_figure, output_folder, write
from .sources import data_source, model_source
from .subject import subject
from .watch import Watch


def curve(options: CurveOptions, watch: Watch) -> Curve:
    """Follow every image along its direction; keep where each one flips if asked to."""
    folder = output_folder(options.output, "curve", (options.model, options.data))
    if options.plot:
        check_figure("--plot", options.plot, (options.model, options.data))
    classifier, images = subject(options, watch)
    grid, labelled = options.grid(), images.labels is not None
    crew = crew_of(options.devices, options.cluster)
    if not labelled:
        images = replace(images, labels=predicted(classifier, images, options.batch_size, crew))
    found = trace_curve(
        classifier,
        images,
        options.direction(),
        grid,
        batch_size=options.batch_size,
        progress=watch.progress,
        crew=crew,
    )
    smallest = np.where(np.isnan(found.smallest), np.inf, found.smallest)[found.right[0]]
    quantiles = (
        np.quantile(smallest, QUANTILES, method="inverted_cdf")
        if len(smallest)
        else np.full(5, np.inf)
    )
    zeros = found.zero_gradients
    norm, right = options.direction().norm, found.right[0]
    certified = tuple(
        int(proved(classifier, images, norm, epsilon, right, stands, options.batch_size).sum())
        for epsilon, stands in zip(grid, found.right, strict=True)
        if options.certify
    )
    files: tuple[str, ...] = ()
    if folder:
        files = (str(folder / CURVE_FILE),)
        with whole_file(files[0]) as temporary, temporary.open("wb") as file:
            np.savez(file, epsilons=grid, right=found.right, smallest_epsilon=found.smallest)
    portrait = None
    if watch.wants_portrait:
        portrait = _portrait(options, classifier, images, found, watch, labelled=labelled)
    record = Curve(
        model=model_source(classifier),
        data=data_source(images),
        attack=options.direction(),
        n=len(images),
        epsilons=grid,
        correct=tuple(int(row.sum()) for row in found.right),
        quantiles=tuple(float(one) if np.isfinite(one) else None for one in quantiles),
        never=int(np.isinf(smallest).sum()),
        back=int(np.any(~found.right[:-1] & found.right[1:], axis=0).sum()),
        zero_gradients=zeros,
        labelled=labelled,
        portrait=portrait,
        certified=certified or None,
        files=files,
        warnings=(
            *classifier.notes,
            *images.notes,
            *found.notes,
            *_curve_warnings(zeros, len(images), labelled=labelled),
        ),
    )
    if options.plot:
        record = replace(record, files=(*record.files, options.plot))
        curves(lines_of(record.as_dict(), record.attack.title), options.plot)
    if folder:
        write(folder, {"curve": options}, record.as_dict())
    return record


def _portrait(
    options: CurveOptions,
    classifier: Classifier,
    images: ImageSet,
    found: Traced,
    watch: Watch,
    *,
    labelled: bool,
) -> Portrait:
    """The portrait where half of the images are turned, or at the end of the curve."""
    grid, standing = options.grid(), found.right.sum(axis=1)
    half = int(np.argmax(standing <= standing[0] / 2)) or len(grid) - 1
    attack = replace(options.direction(), epsilon=grid[half])
    judged = judge(
        classifier,
        images,
        [(attack,)],
        batch_size=options.batch_size,
        seed=options.seed,
        progress=watch.progress,
    )
    return replace(
        portray(
            classifier,
            images,
            (attack,),
            judged,
            epsilons=grid,
            traced=found,
            batch_size=options.batch_size,
            seed=options.seed,
            progress=watch.progress,
        ),
        labelled=labelled,
    )


def _curve_warnings(zeros: int, n: int, *, labelled: bool) -> Iterator[str]:
    if not labelled:
        yield UNLABELLED
    if zeros:
        yield f"{zeros:,} of {n:,} images have a zero gradient: no epsilon moves them"
