"""The table of commands."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..config import TrackedOptions, TrainOptions
from ..distribution import Crew, crew_of, lost_workers_told
from ..files import make_folder
from ..results import Audit, Certification, Curve, Judgement, Training, Transfer
from ..tracking import check_installed, to_mlflow, to_tensorboard
from .auditing import audit
from .certifying import certify
from .judging import attack, evaluate
from .tracing import curve
from .training import train
from .transferring import transfer
from .watch import Watch

Record = Training | Judgement | Curve | Audit | Transfer | Certification


def _by_its_crew(command: Callable[[Any, Watch], Record]) -> Callable[[Any, Watch], Record]:
    """The command as each worker of a cluster runs it, where there are several.

    All do the same work, on their shares, and have the same record in the end; but only the chief
    has somewhere to write and somebody to tell.
    """

    def run(options: Any, watch: Watch) -> Record:
        crew = crew_of(options.devices, options.cluster)
        if crew.size == 1:
            return command(options, watch)
        with lost_workers_told(), _own(options, crew) as own:
            crew.check_agreement(options=options.model_dump_json(exclude={"devices"}))
            record = command(own, watch if crew.is_chief else Watch())
            crew.gather({})  # nobody goes on before the chief has written
        return record

    return run


@contextmanager
def _own(options: Any, crew: Crew) -> Iterator[Any]:
    """The options of this worker: those of the chief, or the same with nowhere to write to."""
    if crew.is_chief:
        yield options
        return
    with tempfile.TemporaryDirectory() as nowhere:
        written = ("output", "save", "plot", "images", "tensorboard")
        own: dict[str, Any] = {name: None for name in written if hasattr(options, name)}
        own |= {name: False for name in ("show", "mlflow") if hasattr(options, name)}
        if isinstance(options, TrainOptions):
            own["output"] = nowhere
        yield options.model_copy(update=own)


def _tracked(name: str, command: Callable[[Any, Watch], Any]) -> Callable[[Any, Watch], Any]:
    """A command that also tells TensorBoard and MLflow, where its user asks for that."""

    def run(options: TrackedOptions, watch: Watch) -> Record:
        if options.mlflow:
            check_installed("mlflow")
        if options.tensorboard:
            check_installed("tensorboard")
            make_folder(options.tensorboard)
        record: Training | Judgement | Curve = command(options, watch)
        if options.mlflow:
            with watch.busy("Telling MLflow"):
                to_mlflow(record, name, options)
            watch.note("Logged to MLflow.")
        if options.tensorboard:
            to_tensorboard(record, name, options, options.tensorboard)
            watch.note(f"To look at it: tensorboard --logdir {options.tensorboard}")
            if isinstance(record, Judgement) and not getattr(options, "show", False):
                return replace(record, gallery=None)
        return record

    return run


_OF_ONE_WORKER: Mapping[str, Callable[[Any, Watch], Record]] = {
    "train": _tracked("train", train),
    "attack": _tracked("attack", attack),
    "eval": _tracked("eval", evaluate),
    "curve": _tracked("curve", curve),
    "audit": audit,
    "transfer": transfer,
    "certify": certify,
}

COMMANDS: Mapping[str, Callable[[Any, Watch], Record]] = {
    name: _by_its_crew(command) for name, command in _OF_ONE_WORKER.items()
}
