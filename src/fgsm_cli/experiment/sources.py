"""Where a model and its images came from, for the record; where a saved set did."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ..config import LoadingOptions
from ..data import ImageSet, Split, is_named, load_images
from ..examples import made_from
from ..models import Classifier
from ..results import ModelSource, Source


def model_source(classifier: Classifier) -> ModelSource:
    """The model, its head and the range of its input."""
    return ModelSource(
        classifier.path,
        classifier.sha256,
        classifier.head,
        classifier.range.ends,
        classifier.range_source,
    )


def data_source(images: ImageSet) -> Source:
    """The images, by name and digest."""
    return Source(images.name, images.digest(), f"{len(images):,} {images.split} images")


def clean_source(path: str, options: LoadingOptions) -> ImageSet | None:
    """The whole image set that a saved set was made from: --data if given, else what it names."""
    default = LoadingOptions()
    data, (named, split) = options.data, made_from(path)
    if data == default.data and named and (is_named(named) or Path(named).exists()):
        data = named
    elif data == default.data and named not in ("", data):
        return None
    half: Split = "train" if "train" in (options.split, split) else "test"
    images = load_images(
        data, half, reading=replace(options.reading(), offset=0, balanced=False, only=())
    )
    if options.only and images.labels is not None:  # its labels were counted anew
        anew = np.full(images.labels.max() + 1, -1)
        anew[list(options.only)] = np.arange(len(options.only))
        images = replace(images, labels=anew[images.labels])
    return images
