"""How an image set is to be read, and what was found before anything of it is checked."""

from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from ..ranges import PixelRange

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Reading:
    """What to read of an image set, and what its files do not say of themselves.

    offset: images left out at the start. balanced: equally many of each class, with a limit.
    x_key, y_key: the names of the arrays, columns or features, or the file of the labels.
    transpose: exchange height and width, as EMNIST needs it.
    data_range: the stored values that stand for black and white. input_range: those the model
        takes, assumed for floats that leave 0..1.
    classes: the names of the labels 0, 1, … label: that of every image that has none.
    only: the labels whose images are kept; they become 0, 1, … in this order.
    """

    offset: int = 0
    balanced: bool = False
    x_key: str | None = None
    y_key: str | None = None
    transpose: bool = False
    data_range: PixelRange | None = None
    input_range: PixelRange | None = None
    classes: tuple[str, ...] = ()
    label: int | None = None
    only: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """What a reader finds: images (n, ...) and, where there are any, labels of any form.

    files: all that was read, in a fixed order. range: where the format itself says it.
    classes: names of the labels, where the format has them. labels_in: the file that holds the
    labels, if another. sha256: of what has no files. notes: sentences.
    """

    images: Any
    labels: NDArray[Any] | None
    files: tuple[str, ...] = ()
    range: PixelRange | None = None
    classes: tuple[str, ...] = ()
    labels_in: str = ""
    sha256: str = ""
    notes: tuple[str, ...] = ()
