"""Where a model and its images came from, for the record."""

from ..data import ImageSet
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
