"""The crew: tasks spread over devices and workers, and what they found gathered again.

for task, found in crew.spread(work, tasks, members):
    ...                                  # the same on every worker
"""

import contextlib
import functools
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..backend import compiled_for, tf
from ..errors import FgsmError

Found = dict[str, NDArray[Any]]
Work = Callable[[Any, NDArray[np.intp]], Found]
Made = TypeVar("Made")

_ERROR, _FITTED = "error", "fitted"


@dataclass(frozen=True, eq=False)
class Crew:
    """The devices of this process, and its place among the workers.

    devices: their names, as ``tf.device`` takes them; () where there is one, which TensorFlow
        finds by itself. strategy: what training runs under; None for one device.
    rank, size: this worker's number and how many there are. The first is the chief, which alone
        prints and writes.
    """

    devices: tuple[str, ...] = ()
    strategy: Any = None
    rank: int = 0
    size: int = 1

    @property
    def is_chief(self) -> bool:
        """Whether this worker is the one that prints and writes."""
        return self.rank == 0

    @property
    def replicas(self) -> int:
        """How many devices compute in all."""
        return self.size * max(1, len(self.devices))

    def scope(self) -> Any:
        """Where variables are made that training is to keep equal on all devices."""
        return self.strategy.scope() if self.strategy else contextlib.nullcontext()

    def on_each(self, make: Callable[[], Made]) -> tuple[Made, ...]:
        """Something made once on each device of this process."""
        made = []
        for device in self.devices or (None,):
            with tf.device(device):
                made.append(make())
        return tuple(made)

    def on_every(self, array: Any) -> Any:
        """An array as a constant on every device; for ``together``."""
        if not self.strategy:
            return tf.constant(array)
        return self.strategy.experimental_distribute_values_from_function(
            lambda _: tf.constant(array)
        )

    def together(self, step: Callable[..., Any], *arguments: Any) -> Any:
        """A step taken by all devices at once, inside a graph; the numbers it returns, summed.

        Of several devices they come in one float32 vector, so that they are summed in one go.
        """
        if not self.strategy:
            return step(*arguments)

        def on_one(*arguments: Any) -> Any:
            return tf.stack([tf.cast(one, tf.float32) for one in step(*arguments)])

        found = self.strategy.run(on_one, arguments)
        return tf.unstack(self.strategy.reduce("SUM", found, axis=None))

    def gather(self, arrays: Mapping[str, Any]) -> list[Found]:
        """The arrays of every worker, by rank. All must call it, in the same order."""
        if self.size == 1:
            return [dict(arrays)]
        content = _packed(arrays)
        content = len(content).to_bytes(4, "little") + content + bytes(-len(content) % 4)
        words = self._all_gathered(tf.constant(np.frombuffer(content, "<i4"))).numpy()
        found: list[Found] = []
        while len(words):
            size, words = int(words[0]) % 2**32, words[1:]
            end = -(-size // 4)
            found.append(_unpacked(words[:end].tobytes()[:size]))
            words = words[end:]
        return found

    def chiefs(self, arrays: Mapping[str, Any]) -> Found:
        """The chief's arrays, whatever the others have."""
        return self.gather(arrays if self.is_chief else {})[0]

    def check_agreement(self, **values: str) -> None:
        """Raise FgsmError unless all workers have the same values, named as they are called."""
        everyone = self.gather({name: np.array(value) for name, value in values.items()})
        for name in values:
            told = [str(one[name]) for one in everyone]
            for rank, other in enumerate(told):
                if other != told[0]:
                    raise FgsmError(
                        f"all workers must have the same {name.replace('_', ' ')}. Received: "
                        f"{told[0][:200]} on the chief and {other[:200]} on worker {rank}"
                    )

    @functools.cached_property
    def _all_gathered(self) -> Any:
        """Compiled: one vector of each worker's, of any length -> all of them put together."""
        first = self.rank * max(1, len(self.devices))

        def on_one(words: Any) -> Any:
            place = tf.distribute.get_replica_context()
            speaks = tf.cast(tf.equal(place.replica_id_in_sync_group, first), tf.int32)
            return place.all_gather(words[: speaks * tf.size(words)], 0)

        def gathered(words: Any) -> Any:
            found = self.strategy.run(on_one, (words,))
            return self.strategy.experimental_local_results(found)[0]

        return compiled_for(gathered, tf.TensorSpec((None,), tf.int32))

    def spread(
        self, work: Work, tasks: Sequence[NDArray[np.intp]], members: Sequence[Any]
    ) -> Iterator[tuple[NDArray[np.intp], Found]]:
        """Each task with what was found of it, on every worker; in the order of the tasks.

        tasks: the places of a batch of images. members: one for each device (the first alone where
            there is one), handed to ``work`` with a task.
        A batch that does not fit into memory is halved until it does, and so are those after it;
        the size that did fit is told under "fitted".
        Raises FgsmError on all workers if the work of one does.
        """
        fitting = _Fitting(work)
        if self.size == 1:
            yield from zip(tasks, self._local(fitting, tasks, members), strict=True)
            return
        each = max(1, len(self.devices))
        for start in range(0, len(tasks), each * self.size):
            group = tasks[start : start + each * self.size]
            mine = group[self.rank * each : (self.rank + 1) * each]
            try:
                found = list(self._local(fitting, mine, members))
                sent = {
                    f"{place} {name}": values
                    for place, one in enumerate(found)
                    for name, values in one.items()
                }
            except FgsmError as error:
                sent = {_ERROR: np.array(str(error))}
            everyone = self.gather(sent)
            for one in everyone:
                if _ERROR in one:
                    raise FgsmError(str(one[_ERROR]))
            for place, task in enumerate(group):
                prefix = f"{place % each} "
                yield (
                    task,
                    {
                        name.removeprefix(prefix): values
                        for name, values in everyone[place // each].items()
                        if name.startswith(prefix)
                    },
                )

    def _local(
        self, work: Work, tasks: Sequence[NDArray[np.intp]], members: Sequence[Any]
    ) -> Iterator[Found]:
        """What this process finds, in order; a device that is free takes the next task."""
        if len(self.devices) < 2:
            for task in tasks:
                yield work(members[0], task)
            return
        free: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        for pair in zip(self.devices, members, strict=True):
            free.put(pair)

        def done(task: NDArray[np.intp]) -> Found:
            device, member = pair = free.get()
            try:
                with tf.device(device):
                    return work(member, task)
            finally:
                free.put(pair)

        with ThreadPoolExecutor(len(self.devices)) as pool:
            ahead: list[Future[Found]] = []
            try:
                for task in tasks:
                    ahead.append(pool.submit(done, task))
                    if len(ahead) > 2 * len(self.devices):
                        yield ahead.pop(0).result()
                while ahead:
                    yield ahead.pop(0).result()
            finally:
                for future in ahead:
                    future.cancel()


ALONE = Crew()


class _Fitting:
    """Work on batches as large as fit into memory, and not on larger ones again."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.largest: int | None = None

    def __call__(self, member: Any, task: NDArray[np.intp]) -> Found:
        size = self.largest or len(task)
        parts: list[Found] = []
        start = 0
        while start < len(task):
            try:
                parts.append(self.work(member, task[start : start + size]))
                start += size
            except tf.errors.ResourceExhaustedError:
                if size == 1:
                    raise FgsmError(
                        "not even one image fits into the device's memory; expected a smaller "
                        "model or image, or --devices cpu"
                    ) from None
                size = self.largest = max(1, size // 2)
        if self.largest is None:
            return parts[0]
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {**found, _FITTED: np.array([size])}


def note_of_fitting(found: Found, asked: int) -> str | None:
    """What is to be told where batches had to be halved; taken out of what was found."""
    fitted = found.pop(_FITTED, None)
    if fitted is None:
        return None
    return (
        f"batches of {asked:,} images did not fit into the device's memory and were halved to "
        f"{int(fitted[0]):,}"
    )


def _packed(arrays: Mapping[str, Any]) -> bytes:
    """Arrays as bytes: an .npz, so that what is sent and what is stored are the same."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _unpacked(content: bytes) -> Found:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
