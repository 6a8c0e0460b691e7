"""Saved adversarial sets: written with all that tells what they are, read back and matched.

    save_examples("adv.npz", x_adv, images, attack, model_sha256="…")
    examples = load_examples("adv.npz", images)

An .npz of plain arrays: ``x_adv`` (float32 in 0..1), ``y``, ``epsilon``, ``indices`` (positions
in the image set they were made from), ``attack`` (JSON), ``data`` (that set's
name or path) and ``model_sha256``.
"""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pydantic
from numpy.typing import NDArray

from .data import (
    ImageSet,
    check_images,
    check_labels,
    find_array,
    in_unit_range,
    natural_range,
    open_arrays,
)
from .errors import FgsmError
from .family import Attack
from .files import whole_file
from .ranges import PixelRange


@dataclass(frozen=True, eq=False)
class Examples:
    """A saved adversarial set, and its clean images where they are at hand.

    images: as stored, integers in 0..255 or floats in 0..1. clean: as stored, of equal shape,
        in clean_range.
    labels: (n,), int64.
    """

    images: NDArray[Any]
    labels: NDArray[np.int64]
    clean: NDArray[Any] | None
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
    x_adv: NDArray[np.float32],
    images: ImageSet,
    attack: Attack,
    model_sha256: str,
) -> None:
    """Write an adversarial set, whole or not at all. Raises FgsmError if that fails."""
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            x_adv=x_adv,
            y=images.known_labels,
            epsilon=np.float64(attack.epsilon),
            indices=images.indices,
            attack=np.str_(json.dumps(asdict(attack))),
            data=np.str_(images.name),
            model_sha256=np.str_(model_sha256),
        )


def made_from(path: str) -> str:
    """The image set that a saved set says it was made from, by name or path; "" if it does not."""
    with open_arrays(path) as arrays:
        return str(arrays["data"]) if "data" in arrays.files else ""


def load_examples(path: str, images: ImageSet | None, limit: int | None = None) -> Examples:
    """Read a saved set; its clean images are its own ``x_clean`` or come from ``images``.

    From ``images`` they are taken by the set's ``indices``.
    Raises FgsmError for a file that is damaged or holds no such set.
    """
    with open_arrays(path) as arrays:
        x_adv = find_array(arrays, ("x_adv", "x"), path)[:limit]
        labels = find_array(arrays, ("y",), path)[:limit]
        check_images(x_adv, path)
        labels = check_labels(labels, len(x_adv), path)
        clean, clean_range = None, natural_range(x_adv.dtype)
        if "x_clean" in arrays.files:
            clean = arrays["x_clean"][:limit]
            check_images(clean, path)
            clean_range = natural_range(clean.dtype)
        elif images is not None and "indices" in arrays.files:
            indices = np.atleast_1d(arrays["indices"])[:limit]
            fits = indices.dtype.kind in "iu" and indices.shape == labels.shape
            if not fits or not 0 <= indices.min() <= indices.max() < len(images):
                raise FgsmError(f"the indices of {path} do not fit the image set {images.name}")
            clean, clean_range = images.images[indices], images.range
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
            epsilon=_epsilon(arrays, path),
            attack=_attack(arrays),
        )


def _epsilon(arrays: Any, path: str) -> float | None:
    if "epsilon" not in arrays.files:
        return None
    epsilon = arrays["epsilon"]
    if epsilon.shape != () or epsilon.dtype.kind not in "iuf" or not math.isfinite(epsilon):
        raise FgsmError(f"the epsilon of {path} must be one finite number. Received: {epsilon}")
    return float(epsilon)


def _attack(arrays: Any) -> Attack | None:
    """The attack that made the set, if it says so in a way that this version knows."""
    if "attack" not in arrays.files:
        return None
    try:
        return pydantic.TypeAdapter(Attack).validate_json(str(arrays["attack"]))
    except pydantic.ValidationError:
        return None
