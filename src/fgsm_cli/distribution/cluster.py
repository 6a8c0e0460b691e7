"""Which devices and workers there are: what was asked for, found by TensorFlow's own means.

crew = crew_of("auto", "tf-config")
"""

import contextlib
import functools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..backend import tf
from ..config import Cluster, Devices
from ..errors import FgsmError, WorkerLostError, in_one_line, listed
from .crew import ALONE, Crew

_MANY = 1024  # more GPUs than a node has


@functools.lru_cache(maxsize=1)
def crew_of(devices: Devices, cluster: Cluster) -> Crew:
    """The crew of this process, which has one: made at first, before anything is computed.

    devices: auto (every GPU, or else the CPU), cpu, gpu, or their numbers.
    cluster: who tells of the workers: TF_CONFIG where the environment has it, or Slurm.
    Raises FgsmError for a device that is not there or a cluster that is none.
    """
    kind = _choose_devices(devices)
    resolver = _resolver(cluster)
    if resolver is not None:
        return _workers(resolver)
    names = tuple(one.name.removeprefix("/device:") for one in tf.config.list_logical_devices(kind))
    if kind == "CPU" and not isinstance(devices, str):
        names = tuple(names[place] for place in _checked(devices, len(names)))
    if len(names) < 2:
        return ALONE
    return Crew(names, tf.distribute.MirroredStrategy(names))


def _choose_devices(devices: Devices) -> str:
    """Let TensorFlow see just the devices asked for, and take memory on no other; their kind."""
    there = tf.config.list_physical_devices("GPU")
    if devices == "gpu" and not there:
        raise FgsmError("--devices gpu needs a GPU that TensorFlow can use. Received: none")
    chosen = [] if devices == "cpu" else there
    if there and not isinstance(devices, str):
        chosen = [there[place] for place in _checked(devices, len(there))]
    if chosen != tf.config.get_visible_devices("GPU"):
        try:
            tf.config.set_visible_devices(chosen, "GPU")
        except RuntimeError:
            raise FgsmError("--devices cannot be changed once something was computed") from None
    return "GPU" if chosen else "CPU"


def _checked(numbers: Sequence[int], there: int) -> Sequence[int]:
    for number in numbers:
        if number >= there:
            raise FgsmError(
                f"--devices must be auto, cpu, gpu or numbers below {there}, the devices there "
                f"are. Received: {number}"
            )
    return numbers


def _resolver(cluster: Cluster) -> Any:
    """Who the workers are, by TensorFlow's own resolvers; None for a process alone.

    Raises FgsmError where the environment tells of no cluster, or of a task that is no worker.
    """
    resolvers = tf.distribute.cluster_resolver
    if cluster == "tf-config" and not os.environ.get("TF_CONFIG"):
        return None
    source = "TF_CONFIG" if cluster == "tf-config" else "--cluster slurm"
    if cluster == "tf-config":
        _check_document(os.environ["TF_CONFIG"])
    try:
        if cluster == "tf-config":
            found = resolvers.TFConfigClusterResolver()
        else:  # which GPUs a task has is settled by Slurm, so that there is none to give out here
            found = resolvers.SlurmClusterResolver(
                gpus_per_node=_MANY, gpus_per_task=1, auto_set_gpu=False
            )
        workers = found.cluster_spec().as_dict()
        kind, number = found.task_type, found.task_id
        known = kind in ("chief", "worker") and 0 <= number < len(workers[kind])
    except (RuntimeError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise FgsmError(f"{source} tells of no cluster: {in_one_line(error)}") from None
    if not workers:
        return None
    if not known:
        raise FgsmError(f"{source} must name a chief or a worker. Received: {kind} {number}")
    if len(_addresses(workers)) < 2:
        return None
    _check_addresses(source, workers)
    return resolvers.SimpleClusterResolver(
        tf.train.ClusterSpec({job: workers[job] for job in ("chief", "worker") if job in workers}),
        task_type=kind,
        task_id=number,
        num_accelerators={"GPU": len(tf.config.get_visible_devices("GPU"))},
        rpc_layer="grpc",
    )


def _check_document(text: str) -> None:
    """Raise FgsmError for a TF_CONFIG that is no JSON object; what is in it TensorFlow reads."""
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise FgsmError(f"TF_CONFIG must be a JSON object. Received: {listed([repr(text)])}")


def _check_addresses(source: str, workers: Mapping[str, Sequence[str]]) -> None:
    """Raise FgsmError for what no worker can be reached by, or two by the same."""
    addresses = _addresses(workers)
    for one in addresses:
        host, _, port = str(one).rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise FgsmError(f"{source} must give each worker as host:port. Received: {one!r}")
    if twice := [one for one in addresses if addresses.count(one) > 1]:
        raise FgsmError(
            f"{source} must give each worker its own address. Received twice: {twice[0]}"
        )
    if len(workers.get("chief", ())) > 1:
        raise FgsmError(
            f"{source} must name one chief at most. Received: {', '.join(workers['chief'])}"
        )


def _addresses(workers: Mapping[str, Sequence[str]]) -> list[str]:
    return [*workers.get("chief", ()), *workers.get("worker", ())]


def _workers(resolver: Any) -> Crew:
    """The crew of a worker; waits until all of them are there."""
    workers = resolver.cluster_spec().as_dict()
    with lost_workers_told():
        strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver)
    before = len(workers.get("chief", ())) if resolver.task_type == "worker" else 0
    devices = strategy.extended.worker_devices
    return Crew(
        devices=tuple(devices) if len(devices) > 1 else (),
        strategy=strategy,
        rank=before + resolver.task_id,
        size=len(_addresses(workers)),
    )


@contextlib.contextmanager
def lost_workers_told() -> Iterator[None]:
    """Turn what TensorFlow raises when another worker is gone into one sentence.

    A worker that is killed closes its connections, and what the others wait for fails at once; one
    that no longer answers is given up by TensorFlow's coordination service.
    """
    errors = tf.errors
    gone = (
        errors.UnavailableError,
        errors.AbortedError,
        errors.CancelledError,
        errors.DeadlineExceededError,
        errors.FailedPreconditionError,
    )
    try:
        yield
    except gone as error:
        raise WorkerLostError(
            "another worker is gone, and the work with it cannot be finished; what was asked for "
            "is not written"
        ) from error
