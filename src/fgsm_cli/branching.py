"""Exact answers: a rectifier network over a box as a mixed-integer program, for HiGHS.

    found = settle(program, query)        # robust, broken by found.x, or undecided

The program of Tjeng et al. 2019 (arXiv 1711.07356): a rectifier of undecided sign is a variable
between its lines and one binary that says on which; of decided sign it is a line. Whether any
point of the box gives another class a higher logit is then branched on until it is known.

No TensorFlow here: this is what the other processes run. The solver's own tolerances, 1e-6 of a
constraint, are allowed for in the cut-off.
"""

import pickle
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
State = Literal["robust", "broken", "undecided"]

# What the solver's tolerances may do to a margin; and how near the least margin a search ends
# that has found a negative one: within its own size, then exactly.
TOLERANCE = 1e-4
_GAPS = (1.0, 1e-6)
# The share of the time that goes into tightening the boxes of deeper rectifiers.
_TIGHTENING = 0.25


@dataclass(frozen=True)
class Affine:
    """value = sum of matrix @ input + offset; the matrices are sparse."""

    inputs: tuple[int, ...]
    matrices: tuple[Any, ...]
    offset: Values


@dataclass(frozen=True)
class Rectify:
    """value = max(z, slope z) of the value at a place."""

    input: int
    slope: float


@dataclass(frozen=True)
class Program:
    """A network on flat values: the pixels at place 0, step p gives place p + 1, logits last."""

    steps: tuple[Affine | Rectify, ...]

    def __call__(self, x: Values) -> Values:
        """The logits at flat pixels, in float64."""
        values = [x]
        for step in self.steps:
            if isinstance(step, Affine):
                parts = zip(step.matrices, step.inputs, strict=True)
                values.append(sum((m @ values[place] for m, place in parts), step.offset))
            else:
                z = values[step.input]
                values.append(np.maximum(z, step.slope * z))
        return values[-1]


@dataclass(frozen=True)
class Query:
    """One image: is any point of its box given another class than its label?

    boxes: by step, of what each rectifier takes. others: the classes that are not ruled out,
        those of the lowest bound first; bounds: of their margins; slacks: what a margin must
        exceed to count. seconds: for all of them together.
    """

    index: int
    low: Values
    high: Values
    label: int
    others: tuple[int, ...]
    bounds: tuple[float, ...]
    slacks: tuple[float, ...]
    boxes: dict[int, tuple[Values, Values]]
    seconds: float


@dataclass(frozen=True)
class Found:
    """What became of it.

    x: the pixels of the lowest margin met, if any is not positive. lowest: what is proved of
        the least margin; above 0 if robust.
    """

    index: int
    state: State
    x: Values | None
    lowest: float


def settle(program: Program, query: Query) -> Found:
    """Search a point of the box at which another class wins, or prove that there is none."""
    end = time.monotonic() + query.seconds
    relaxed = _Relaxed(program, query, time.monotonic() + _TIGHTENING * query.seconds)
    lowest, candidate, margin = np.inf, None, np.inf
    for other, bound, slack in zip(query.others, query.bounds, query.slacks, strict=True):
        proved = bound
        for gap in _GAPS:
            left = end - time.monotonic()
            if left <= 0:
                break
            answer = relaxed.search(other, slack + TOLERANCE, gap, left)
            if answer.status == 2:  # no point has a margin so low
                proved = np.inf
                break
            if answer.mip_dual_bound is not None:
                proved = max(proved, answer.mip_dual_bound + relaxed.constant)
            if answer.x is None:
                break
            x = np.clip(answer.x[: len(query.low)], query.low, query.high)
            scores = program(x)
            found = float(scores[query.label] - scores[other])
            if found < margin:
                candidate, margin = x, found
            if margin < -slack:
                return Found(query.index, "broken", candidate, float(min(proved, margin)))
            if answer.status != 0:
                break
        lowest = min(lowest, proved)
    if lowest == np.inf:
        return Found(query.index, "robust", None, TOLERANCE)
    return Found(query.index, "undecided", candidate, float(lowest))


class _Relaxed:
    """The program of one image: rows on its pixels and, a neuron of undecided sign, z, y and b.

    z is what the neuron takes, y what it gives, b whether it is on.
    """

    def __init__(self, program: Program, query: Query, until: float) -> None:
        from scipy import sparse

        self.query, self.sparse = query, sparse
        self.low, self.high = list(query.low), list(query.high)
        self.integral = [0] * len(query.low)
        self.rows: list[tuple[list[int], list[float], float, float]] = []
        values: list[tuple[Any, Values]] = [
            (sparse.identity(len(query.low), format="csr"), np.zeros(len(query.low)))
        ]
        is_first = True
        for position, step in enumerate(program.steps):
            if isinstance(step, Affine):
                parts = [
                    (m @ self._widened(values[place][0]), m @ values[place][1])
                    for m, place in zip(step.matrices, step.inputs, strict=True)
                ]
                values.append((sum(p[0] for p in parts), sum((p[1] for p in parts), step.offset)))
            else:
                form = (self._widened(values[step.input][0]), values[step.input][1])
                box = query.boxes[position]
                values.append(self._rectified(form, *box, step.slope, None if is_first else until))
                is_first = False
        self.output = (self._widened(values[-1][0]), values[-1][1])
        self.constant = 0.0

    def _widened(self, matrix: Any) -> Any:
        """The same rows over all the variables that there are by now."""
        matrix = matrix.tocsr()
        matrix.resize((matrix.shape[0], len(self.low)))
        return matrix

    def _variable(self, low: float, high: float, *, binary: bool = False) -> int:
        self.low.append(low)
        self.high.append(high)
        self.integral.append(int(binary))
        return len(self.low) - 1

    def _rectified(
        self, form: tuple[Any, Values], low: Values, high: Values, slope: float, until: float | None
    ) -> tuple[Any, Values]:
        """The form of what rectifiers give; their boxes are tightened first, if there is time."""
        matrix, offset = form
        entries: list[tuple[int, int]] = []
        scale = np.where(low >= 0, 1.0, slope)
        for i in np.flatnonzero((low < 0) & (high > 0)).tolist():
            row = matrix.getrow(i)
            columns, weights = row.indices.tolist(), row.data.tolist()
            bottom, top = float(low[i]), float(high[i])
            if until is not None and time.monotonic() < until:
                bottom, top = self._tightened(columns, weights, float(offset[i]), bottom, top)
            if bottom >= 0 or top <= 0:
                scale[i] = 1.0 if bottom >= 0 else slope
                continue
            z = self._variable(bottom, top)
            y = self._variable(slope * bottom, top)
            b = self._variable(0, 1, binary=True)
            self.rows += [
                ([*columns, z], [*weights, -1.0], -float(offset[i]), -float(offset[i])),
                ([y, z], [1.0, -1.0], 0.0, np.inf),
                ([y, z], [1.0, -slope], 0.0, np.inf),
                ([y, z, b], [1.0, -slope, -(1 - slope) * top], -np.inf, 0.0),
                ([y, z, b], [1.0, -1.0, -(1 - slope) * bottom], -np.inf, -(1 - slope) * bottom),
            ]
            scale[i] = 0.0
            entries.append((i, y))
        lines = self._widened(self.sparse.diags(scale) @ matrix)
        if entries:
            at, columns = (list(one) for one in zip(*entries, strict=True))
            ones = (np.ones(len(at)), (at, columns))
            lines += self.sparse.csr_matrix(ones, shape=lines.shape)
        return lines, scale * offset

    def _constraints(self) -> Any:
        from scipy.optimize import LinearConstraint

        data = [weight for _, weights, *_ in self.rows for weight in weights]
        columns = [column for columns, *_ in self.rows for column in columns]
        starts = np.cumsum([0, *(len(columns) for columns, *_ in self.rows)])
        shape = (len(self.rows), len(self.low))
        matrix = self.sparse.csr_matrix((data, columns, starts), shape=shape)
        ends = np.array([row[2:] for row in self.rows]).reshape(-1, 2)
        return LinearConstraint(matrix, ends[:, 0], ends[:, 1])

    def _solved(self, objective: Values, *, integral: bool, **options: float) -> Any:
        from scipy.optimize import Bounds, milp

        return milp(
            objective,
            integrality=np.array(self.integral) if integral else None,
            bounds=Bounds(np.array(self.low), np.array(self.high)),
            constraints=self._constraints() if self.rows else None,
            options=options,
        )

    def _tightened(
        self,
        columns: Sequence[int],
        weights: Sequence[float],
        offset: float,
        low: float,
        high: float,
    ) -> tuple[float, float]:
        """The ends of one neuron's input by two linear programs, binaries let go."""
        ends = [low, high]
        for end, sign in enumerate((1.0, -1.0)):
            objective = np.zeros(len(self.low))
            objective[list(columns)] = sign * np.array(weights)
            answer = self._solved(objective, integral=False)
            if answer.status == 0:
                found = sign * answer.fun + offset - sign * 1e-6
                ends[end] = max(low, found) if sign > 0 else min(high, found)
        return ends[0], ends[1]

    def search(self, other: int, cutoff: float, gap: float, seconds: float) -> Any:
        """The least margin against another class, among the points where it is at most cutoff."""
        matrix, offset = self.output
        label = self.query.label
        row = (matrix.getrow(label) - matrix.getrow(other)).toarray()[0]
        self.constant = float(offset[label] - offset[other])
        used = np.flatnonzero(row)
        self.rows.append((used.tolist(), row[used].tolist(), -np.inf, cutoff - self.constant))
        try:
            return self._solved(row, integral=True, time_limit=seconds, mip_rel_gap=gap)
        finally:
            self.rows.pop()


def serve() -> None:
    """Answer queries from standard input, a program before them, until there are no more."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    program = pickle.load(questions)
    while True:
        try:
            query = pickle.load(questions)
        except EOFError:
            return
        pickle.dump(settle(program, query), answers)
        answers.flush()
