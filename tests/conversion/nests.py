"""A loop in a loop, its results in plain NumPy, and the inputs for testing it.

Each iteration has a *row*, and makes a state from it::

    state = row - (the last state of the inner loop, or the state before)

The inner loop starts from the state of the outer one. A loop returns its last state and,
concatenated, the states after each iteration (`parts`). The outer loop also concatenates the sum
and the number of the inner parts, and the state before each iteration (`starts`). That state is an
input of the body, and ONNX Runtime returns wrong values if a body returns its input directly. All
numbers are small and whole, so that they are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

__all__ = ["COUNTED", "NAMES", "SETS", "Given", "expected", "same"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Iterations of a Loop whose trip count is a constant.
COUNTED = 3


@dataclass(frozen=True)
class Given:
    """The inputs of all models, in this order."""

    h: Array  # the first state, [n,3]
    x: Array  # the operand from which rows are computed, [n,3]
    xs: Array  # the slices of a Scan or a TensorIterator, [t,n,3]
    fixed: Array  # four constant slices, [4,n,3]
    count: Array  # a trip count
    go: Array  # a condition before the first iteration
    stop: Array  # the iteration after which the condition ends a Loop
    flag: Array  # the condition of an If


NAMES = tuple(Given.__annotations__)


def _given(
    n: int, rows: int, count: int, stop: int, *, go: bool = True, flag: bool = True
) -> Given:
    random = np.random.default_rng(n)
    shapes = ((n, 3), (n, 3), (rows, n, 3), (4, n, 3))
    tensors = [random.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    return Given(*tensors, *map(np.array, (count, go, stop, flag)))


#: The inferences of one session, in this order: many iterations, none, many with other sizes and an
#: early stop, none because of the condition, one, many again.
SETS = [
    _given(2, 3, 3, 5),
    _given(2, 1, 0, 0, flag=False),
    _given(4, 5, 4, 1),
    _given(1, 2, 3, 3, go=False, flag=False),
    _given(3, 1, 1, 0),
    _given(2, 3, 3, 5),
]


def _rows(kind: str, given: Given) -> Iterator[Array]:
    """The row of each iteration; of `slices backwards`, the sum of two."""
    numbers: Any = range(COUNTED)
    match kind:
        case "scan" | "slices":
            yield from given.xs
            return
        case "scan backwards":
            yield from given.fixed[::-1]
            return
        case "slices backwards":
            yield given.fixed[2] + given.fixed[3]
            yield given.fixed[0] + given.fixed[1]
            return
        case "never":
            return
        case "run time":
            numbers = range(min(int(given.count), int(given.stop) + 1)) if given.go else ()
        case "while":
            numbers = range(int(given.stop) + 1) if given.go else ()
    for number in numbers:
        yield given.x + np.float32(number)


def _run(kinds: tuple[str, ...], h: Array, given: Given) -> list[Array]:
    """Run the nest; return the last state, the parts, the sums and lengths of the inner parts, and
    the starts.
    """
    kind, *inner = kinds
    if kind == "branch" and not given.flag:
        nothing = np.zeros(2, np.float32), np.zeros(2, np.int64)
        return [h - given.x, np.stack([h, h]), *nothing, np.stack([h, h])]
    shape = (-1, *h.shape)
    parts, sums, lengths, starts = [], [], [], []
    for row in [given.x] if kind == "branch" else _rows(kind, given):
        starts.append(h)
        if inner:
            h, inner_parts, *_ = _run(tuple(inner), h, given)
            sums.append(inner_parts.sum())
            lengths.append(len(inner_parts))
        h = row - h
        parts.append(h)
    joined = [np.array(item, np.float32).reshape(shape) for item in (parts, starts)]
    inner_sums, inner_lengths = np.array(sums, np.float32), np.array(lengths, np.int64)
    return [h, joined[0], inner_sums, inner_lengths, joined[1]]


def expected(outer: str, inner: str) -> list[list[Array]]:
    """The outputs for each of the `SETS`."""
    return [_run((outer, inner), given.h, given) for given in SETS]


def same(found: list[list[Any]], wanted: list[list[Array]]) -> bool:
    """True if all arrays are equal, element types included; empty ones may have other sizes."""
    pairs = [pair for sets in zip(found, wanted, strict=True) for pair in zip(*sets, strict=True)]
    return all(
        x.dtype == y.dtype and (np.array_equal(x, y) or x.size == y.size == 0) for x, y in pairs
    )


def arrays(names: tuple[str, ...]) -> list[list[Array]]:
    """The inputs of these names for each of the `SETS`."""
    return [
        [value for name, value in zip(NAMES, astuple(given), strict=True) if name in names]
        for given in SETS
    ]
