"""The options of what looks at finished work: ``fgsm show`` and ``fgsm plot``."""

from pathlib import Path
from typing import ClassVar, Literal

from ..errors import FgsmError
from ..validation import Count, Skipped
from .fields import Labelled, Text, option
from .model import LoadingOptions

PLOT_SUFFIXES = (".svg", ".pdf", ".png")


def check_plot(flag: str, path: str | None) -> None:
    """Raise FgsmError for a file that no figure can be written to."""
    if path and Path(path).suffix.lower() not in PLOT_SUFFIXES:
        raise FgsmError(f"{flag} must name a .svg, .pdf or .png file. Received: {path!r}")


class ShowOptions(LoadingOptions):
    """fgsm show"""

    without: ClassVar[frozenset[str]] = frozenset(
        {"output", "balanced", "label", "seed", "batch_size", "devices", "cluster", "report"}
    )

    set: Text = option("", "Adversarial set: a file or a folder that --save wrote.", group="Data")
    model: Text | None = option(
        None,
        "Model whose answers are shown. Default: runs/mnist-mlp/model.keras, where the set was "
        "made on it.",
        group="Model",
    )
    limit: Count = option(5, "Show N images.", group="Data", short="-n")
    offset: Skipped = option(0, "Leave out the first N images of the set.", group="Data")
    only: Labelled = option((), "Show images of these labels only, such as 3,7.", group="Data")
    images: Text | None = option(
        None, "File for the images as a grid (.svg, .pdf or .png).", group="Output"
    )
    graphics: Literal["auto", "kitty", "sixel", "blocks", "shades"] = option(
        "auto",
        "How images are drawn. auto: as well as the terminal can, and not at all elsewhere.",
        group="Output",
    )

    def check(self) -> None:
        """Raise FgsmError for options that do not go together."""
        super().check()
        check_plot("--images", self.images)
        if self.format == "junit":
            raise FgsmError("--format junit has no case for an image; expected another format")
        if not self.set:
            raise FgsmError("fgsm show takes an adversarial set, such as adv.npz. Received: none")
