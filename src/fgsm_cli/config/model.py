"""The options of a model and of the images it is tried on."""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..errors import FgsmError
from ..validation import Ends
from .fields import DEFAULT_MODEL, Deviations, Numbers, OutputKind, Text, Texts, option
from .options import SectionOptions

if TYPE_CHECKING:
    from ..data.reading import Reading
    from ..ranges import PixelRange


class LoadingOptions(SectionOptions):
    """How models and images are read, as far as their files do not say it."""

    split: Literal["train", "test"] = option(
        "test", "Which half of the image set is used, if it has two.", group="Data"
    )
    input_range: Ends | None = option(
        None,
        "The values that the model takes for black and white, such as 0 255 or -1 1. "
        "Default: what its first layers say, else 0 1.",
        group="Model",
    )
    mean: Numbers = option(
        (),
        "Instead of --input-range: the mean that was subtracted from pixels in 0..1, for all "
        "channels or one a channel, such as 0.485,0.456,0.406.",
        group="Model",
    )
    std: Deviations = option(
        (), "With --mean: the standard deviation they were divided by.", group="Model"
    )
    output_kind: OutputKind | None = option(
        None,
        "What the model gives: sigmoid and logit are of one score for two labels. "
        "Default: what it computes tells.",
        group="Model",
    )
    output_name: Text | None = option(None, "Which of several outputs to judge.", group="Model")
    input_name: Text | None = option(
        None, "Which of several inputs to attack; the others are held at zero.", group="Model"
    )
    endpoint: Text | None = option(
        None,
        "Which endpoint of a SavedModel to call. Default: serve, or else serving_default.",
        group="Model",
    )
    allow_code: bool = option(
        False, "Let code inside the model's file run, with your rights.", group="Model"
    )
    import_: Texts = option(
        (),
        "Module with the model's own layers and functions; repeat for more.",
        group="Model",
    )

    def check(self) -> None:
        """Raise FgsmError unless at most one input range is given, and whole."""
        super().check()
        if self.input_range is not None and (self.mean or self.std):
            raise FgsmError("--input-range and --mean with --std say the same; expected only one")
        if bool(self.mean) != bool(self.std):
            given, absent = ("--mean", "--std") if self.mean else ("--std", "--mean")
            raise FgsmError(f"{given} needs {absent}; expected both")
        sizes = {len(self.mean), len(self.std)} - {1}
        if len(sizes) > 1:
            raise FgsmError(
                "--mean and --std must be of as many channels. "
                f"Received: {len(self.mean)} and {len(self.std)}"
            )

    def given_range(self) -> "PixelRange | None":
        """The range of the model's input as far as the options say it."""
        from ..ranges import PixelRange  # here, as --help needs no NumPy

        if self.input_range:
            low, high = self.input_range
            return PixelRange((low,), (high,))
        if not self.mean:
            return None
        channels = max(len(self.mean), len(self.std))
        mean, std = (one * channels if len(one) == 1 else one for one in (self.mean, self.std))
        return PixelRange.standardised(mean, std)

    def reading(self) -> "Reading":
        """As for any section; pixels of the model's own range are known as such."""
        return replace(super().reading(), input_range=self.given_range())


class ModelOptions(LoadingOptions):
    """What every section of an experiment takes that tries a model on images."""

    model: Text = option(
        DEFAULT_MODEL,
        "Keras model to judge: a .keras or .h5 file, a SavedModel folder, or "
        "package.module:function; the default one is trained first if absent.",
        group="Model",
    )
