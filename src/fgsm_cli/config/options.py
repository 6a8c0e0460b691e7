"""What every command takes, and what a whole run does."""

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict

from ..errors import FgsmError
from ..validation import Count, Ends, Seed, Skipped
from .fields import REPORT_FILE, Cluster, Devices, Format, Labelled, Names, Text, option

if TYPE_CHECKING:
    from ..data.reading import Reading


class Options(BaseModel):
    """What every command takes, ``fgsm run`` too."""

    # A key that Python has a word for, such as import, is an attribute with a line below it.
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=lambda name: name.rstrip("_"),
        defer_build=True,
    )

    # Options of a wider class that mean nothing to this one.
    without: ClassVar[frozenset[str]] = frozenset()

    limit: Count | None = option(
        None, "Use the first N test images only.", group="Data", short="-n"
    )
    format: Format = option("table", "How the result is printed.", group="Output", short="-f")
    output: Text | None = option(
        None, "Folder for config.yaml, results.json and what is made.", group="Output", short="-o"
    )

    report: Text | None = option(
        None,
        "File for the report, one HTML page; --output holds a report.html anyway.",
        group="Output",
    )

    @property
    def reports(self) -> tuple[str, ...]:
        """Where the report goes; nowhere if none is asked for."""
        kept = f"{self.output}/{REPORT_FILE}" if self.output else None
        return tuple(path for path in (self.report, kept) if path)

    def check(self) -> None:
        """Raise FgsmError for options that do not go together."""
        if self.report and not self.report.endswith((".html", ".htm")):
            raise FgsmError(f"--report must name an .html file. Received: {self.report!r}")


class SectionOptions(Options):
    """What every section of an experiment takes."""

    data: Text = option(
        "mnist",
        "Image set: mnist (built in), fashion-mnist, cifar10, cifar100; a file (.npz, .npy, IDX, "
        "CSV, TFRecord, a picture); or a folder of such.",
        group="Data",
        short="-d",
    )
    data_range: Ends | None = option(
        None,
        "The stored values that stand for black and white, such as 0 255 or -1 1. Default: what "
        "the image set's type and values say.",
        group="Data",
    )
    offset: Skipped = option(0, "Leave out the first N images.", group="Data")
    balanced: bool = option(
        False,
        "Use equally many images of each class; --limit is shared among them.",
        group="Data",
    )
    only: Labelled = option(
        (),
        "Keep the images of these labels only, such as 3,7; they become 0, 1, … in this order.",
        group="Data",
    )
    x_key: Text | None = option(
        None, "The images' name in the set: an array's or a feature's.", group="Data"
    )
    y_key: Text | None = option(
        None,
        "The labels' name in the set: an array's, a column's, a feature's; or their file.",
        group="Data",
    )
    transpose: bool = option(
        False, "Exchange height and width of the images, as EMNIST needs it.", group="Data"
    )
    classes: Names = option(
        (), "Names of the labels 0, 1, ..., such as cat,dog; or repeat.", group="Data"
    )
    label: Skipped | None = option(
        None, "The label of images that have none, such as a single picture.", group="Data"
    )
    batch_size: Count = option(1000, "Images computed at once.", group="Computation", short="-b")
    seed: Seed = option(
        0, "Seed of everything random: weights, starts, random targets.", group="Computation"
    )

    devices: Devices = option(
        "auto",
        "What computes: auto (every GPU, or else the CPU), cpu, gpu, or devices by their numbers, "
        "such as 0,1.",
        group="Computation",
    )
    cluster: Cluster = option(
        "tf-config",
        "Who tells of the workers, where there are several: TF_CONFIG if the environment has it, "
        "or slurm.",
        group="Computation",
    )

    @property
    def need_of_labels(self) -> str | None:
        """What of these options cannot do without labels; None if nothing."""
        return None

    def reading(self) -> "Reading":
        """What to read of the image set, and what its files do not say of themselves."""
        from ..data.reading import Reading  # here, as --help needs no NumPy
        from ..ranges import PixelRange

        ends = self.data_range
        return Reading(
            offset=self.offset,
            balanced=self.balanced,
            x_key=self.x_key,
            y_key=self.y_key,
            transpose=self.transpose,
            data_range=PixelRange((ends[0],), (ends[1],)) if ends else None,
            classes=self.classes,
            label=self.label,
            only=self.only,
        )


class TrackedOptions(SectionOptions):
    """What every section takes whose numbers other tools can be told."""

    tensorboard: Text | None = option(
        None, "Folder for an event file that TensorBoard reads.", group="Output"
    )
    mlflow: bool = option(
        False, "Log options, numbers and files to MLflow, by default in mlruns.", group="Output"
    )


class RunOptions(Options):
    """fgsm run: what is set here rules every section of the file."""

    limit: Count | None = option(
        None, "As --limit of every section; it also limits training.", group="Data", short="-n"
    )
    data: Text | None = option(None, "Image set, for every section.", group="Data", short="-d")
    batch_size: Count | None = option(
        None, "Images computed at once, in every section.", group="Computation", short="-b"
    )
    seed: Seed | None = option(None, "Seed, for every section.", group="Computation")
    devices: Devices | None = option(None, "What computes, in every section.", group="Computation")
    cluster: Cluster | None = option(
        None, "Who tells of the workers, for every section.", group="Computation"
    )
    output: Text | None = option(
        None, "Folder for the whole experiment, one folder a section.", group="Output", short="-o"
    )

    def shared(self) -> dict[str, Any]:
        """The values that go to every section, as far as they are set."""
        names = ("data", "limit", "batch_size", "seed", "devices", "cluster")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}
