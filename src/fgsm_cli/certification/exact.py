"""Exact answers for the images that bounds leave open, by other processes.

    for found in settled(program_of(network), queries, jobs=2):
        found.state                       # robust, broken or undecided

The network is written out once as sparse matrices (``branching.py``), which is all that the
other processes get: they import NumPy and SciPy, and no TensorFlow.
"""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from math import prod
from queue import SimpleQueue
from typing import Any

import numpy as np

from ..backend import tf
from ..branching import Affine, Found, Program, Query, Rectify
from ..errors import FgsmError
from ..relaxation import Linear, Network

_SERVER = "from fgsm_cli.branching import serve; serve()"

# Numbers that a layer may hold when it is written out as a matrix.
_LARGEST = 2**31
_AT_ONCE = 2**24


def program_of(network: Network) -> Program:
    """The network with its linear steps as matrices, each found by asking it for every column.

    Raises FgsmError for a layer too large to be written out.
    """
    steps: list[Affine | Rectify] = []
    for position, step in enumerate(network.steps):
        if isinstance(step, Linear):
            shapes = [network.shapes[place] for place in step.inputs]
            size = prod(network.shapes[position + 1])
            if max(prod(shape) for shape in shapes) * size > _LARGEST:
                raise FgsmError(
                    f"--exact writes a layer out as a matrix of at most {_LARGEST:,} numbers. "
                    f"Received: {prod(shapes[0]):,} x {size:,}"
                )
            zeros = [tf.zeros((1, *shape), tf.float64) for shape in shapes]
            offset = step.map(*zeros).numpy().reshape(-1)
            matrices = tuple(_matrix(step, shapes, k, offset) for k in range(len(shapes)))
            steps.append(Affine(step.inputs, matrices, offset))
        else:
            steps.append(Rectify(step.inputs[0], step.slope))
    return Program(tuple(steps))


def _matrix(step: Linear, shapes: Sequence[tuple[int, ...]], which: int, offset: Any) -> Any:
    """The matrix (outputs, inputs) by which a linear step takes one of its inputs."""
    from scipy import sparse

    size = prod(shapes[which])
    count = max(1, _AT_ONCE // (size + len(offset)))
    columns = []
    for start in range(0, size, count):
        stop = min(start + count, size)
        given = [tf.zeros((stop - start, *shape), tf.float64) for shape in shapes]
        ones = np.zeros((stop - start, size))
        ones[np.arange(stop - start), np.arange(start, stop)] = 1
        given[which] = tf.constant(ones.reshape(-1, *shapes[which]))
        values = step.map(*given).numpy().reshape(stop - start, -1) - offset
        columns.append(sparse.csr_matrix(values))
    return sparse.vstack(columns).T.tocsr()


def settled(program: Program, queries: Sequence[Query], jobs: int | None) -> Iterator[Found]:
    """Each query's answer, as it comes; by so many processes, by default one a processor.

    Raises FgsmError if one of them ends before it has answered.
    """
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(queries))
    paths = os.pathsep.join(path for path in sys.path if path)
    # Not multiprocessing, which would import the caller's own program, and TensorFlow with it. Of
    # a session of their own, so that Ctrl-C is heard here alone.
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,
        )
        for _ in range(jobs)
    ]
    idle: SimpleQueue[Any] = SimpleQueue()

    def ask(query: Query) -> Found:
        worker = idle.get()
        try:
            pickle.dump(query, worker.stdin)
            worker.stdin.flush()
            answer: Found = pickle.load(worker.stdout)
        finally:
            idle.put(worker)
        return answer

    pool = ThreadPoolExecutor(jobs)
    try:
        for worker in workers:
            assert worker.stdin
            pickle.dump(program, worker.stdin)
            idle.put(worker)
        for task in as_completed([pool.submit(ask, query) for query in queries]):
            yield task.result()
    except (EOFError, BrokenPipeError):
        raise FgsmError(
            "a process that searches has ended before its answer; is there memory for --jobs "
            f"{jobs} of them?"
        ) from None
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
        pool.shutdown(cancel_futures=True)
