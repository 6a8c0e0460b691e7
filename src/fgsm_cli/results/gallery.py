"""Single images under attack, to be looked at: what ``fgsm show`` finds."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .counts import ModelSource, Source, versions
from .portrait import Answer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Moved:
    """An image after an attack, in 0..1, and the model's answer to it where it is known.

    linf, l2: how far it lies from the clean image; None where that is not at hand.
    """

    title: str
    pixels: "Pixels"
    answer: Answer | None
    linf: float | None = None
    l2: float | None = None


@dataclass(frozen=True, eq=False)
class Exhibit:
    """An image of a set, before and after each of the attacks.

    index: its place in the image set. label: None where it has none. clean: in 0..1; None where
    it is not at hand.
    """

    index: int
    label: int | None
    clean: "Pixels | None"
    answer: Answer | None
    moved: tuple[Moved, ...]


@dataclass(frozen=True, eq=False)
class Gallery:
    """Images of an adversarial set of n.

    class_names: what the labels are called, where that is known.
    """

    data: Source
    model: ModelSource | None
    n: int
    images: tuple[Exhibit, ...]
    class_names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def name(self, label: int) -> str:
        """What a class is called: its name, or its number."""
        return self.class_names[label] if label < len(self.class_names) else str(label)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A flat document for each image and attack."""
        for one in self.images:
            for moved in one.moved:
                yield {
                    "index": one.index,
                    "label": one.label,
                    "attack": moved.title,
                    "clean_prediction": one.answer and one.answer.label,
                    "clean_confidence": one.answer and one.answer.confidence,
                    "adversarial_prediction": moved.answer and moved.answer.label,
                    "adversarial_confidence": moved.answer and moved.answer.confidence,
                    "linf": moved.linf,
                    "l2": moved.l2,
                }

    def as_dict(self) -> dict[str, Any]:
        """The JSON document; the pixels stay in their set."""
        return {
            "command": "show",
            "n": self.n,
            "images": list(self.rows()),
            "class_names": list(self.class_names),
            "model": self.model and asdict(self.model),
            "data": asdict(self.data),
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }
