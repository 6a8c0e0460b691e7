"""Saved adversarial sets: written with all that tells what they are, read back and matched.

    save_examples("adv.npz", "npz", x_adv, images, attack, model_sha256="…")
    examples = load_examples("adv.npz", images)

Three forms of one content (``formats.py``): an .npz of plain arrays, a folder of .npy shards for
sets that do not fit in memory, a folder of PNG files in 8 bits (``lattice.py``). Each
names the positions in the image set that it was made from, the labels, epsilon, the
attack, that set's name or path, and the sha256 of the model.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pydantic
from numpy.typing import NDArray

from ..config import SaveFormat
from ..data import ImageSet, check_images, check_labels, in_unit_range, natural_range, part
from ..errors import FgsmError
from ..family import Attack
from ..ranges import PixelRange
from .about import About
from .arrays import room
from .folders import as_picture, check_form, is_picture, is_saved_set
from .formats import FORMATS
from .formats import read as open_set

__all__ = [
    "About",
    "Examples",
    "as_attack",
    "as_picture",
    "check_form",
    "is_picture",
    "is_saved_set",
    "load_examples",
    "made_from",
    "open_set",
    "room",
    "save_examples",
]


@dataclass(frozen=True, eq=False)
class Examples:
    """A saved adversarial set, and its clean images where they are at hand.

    images: as stored, integers in 0..255 or floats in 0..1. clean: as stored, of equal shape,
        in clean_range.
    labels: (n,), int64.
    """

    images: Any
    labels: NDArray[np.int64]
    clean: Any
    clean_range: PixelRange
    epsilon: float | None
    attack: Attack | None

    def __len__(self) -> int:
        return len(self.images)

    def pixels(self, part: slice) -> NDArray[np.float32]:
        """Adversarial pixels as float32 in 0..1."""
        return in_unit_range(self.images[part], natural_range(self.images.dtype))

    def clean_pixels(self, part: slice) -> NDArray[np.float32]:
        """Clean pixels as float32 in 0..1."""
        assert self.clean is not None
        return in_unit_range(self.clean[part], self.clean_range)


def save_examples(
    path: str,
    form: SaveFormat,
    x_adv: Any,
    images: ImageSet,
    attack: Attack,
    model_sha256: str,
) -> None:
    """Write an adversarial set, whole or not at all. Raises FgsmError if that fails."""
    about = About(
        labels=images.labels,
        indices=images.indices,
        epsilon=attack.epsilon,
        attack=asdict(attack),
        data=images.name,
        split=images.split,
        model_sha256=model_sha256,
    )
    FORMATS[form](path, x_adv, images, about)


def made_from(path: str) -> tuple[str, str]:
    """The image set that a saved set says it was made from, by name or path, and its split.

    Each is "" where it does not say.
    """
    with open_set(path) as (_, about, _):
        return about.data, about.split


def load_examples(path: str, images: ImageSet | None, limit: int | None = None) -> Examples:
    """Read a saved set; its clean images are its own ``x_clean`` or come from ``images``.

    From ``images`` they are taken by the set's ``indices``.
    Raises FgsmError for a file that is damaged or holds no such set.
    """
    with open_set(path) as (x_adv, about, clean):
        x_adv = x_adv if limit is None else part(x_adv, slice(limit))
        check_images(x_adv, path)
        if about.labels is None:
            raise FgsmError(f"{path} holds no labels (y), so nothing in it is right or wrong")
        labels = check_labels(about.labels[:limit], len(x_adv), path)
        clean_range = natural_range(x_adv.dtype)
        if clean is not None:
            clean = part(clean, slice(limit))
            check_images(clean, path)
            clean_range = natural_range(clean.dtype)
        elif images is not None and about.indices is not None:
            indices = np.atleast_1d(about.indices)[:limit]
            fits = indices.dtype.kind in "iu" and indices.shape == labels.shape
            if not fits or not 0 <= indices.min() <= indices.max() < len(images):
                raise FgsmError(f"the indices of {path} do not fit the image set {images.name}")
            clean, clean_range = part(images.images, indices), images.range
            if images.labels is not None and not np.array_equal(images.labels[indices], labels):
                raise FgsmError(
                    f"the labels of {path} are not those of {images.name} at its indices; was it "
                    "made from another image set?"
                )
        if clean is not None and clean.shape != x_adv.shape:
            raise FgsmError(
                f"the clean images of {path} must have shape {x_adv.shape}. Received: {clean.shape}"
            )
        return Examples(
            images=x_adv,
            labels=labels,
            clean=clean,
            clean_range=clean_range,
            epsilon=about.epsilon,
            attack=as_attack(about.attack),
        )


def as_attack(settings: Any) -> Attack | None:
    """The attack that made the set, if it says so in a way that this version knows."""
    try:
        return pydantic.TypeAdapter(Attack).validate_python(settings)
    except pydantic.ValidationError:
        return None
