"""A program: statements over vectors of two floats, evaluated in plain NumPy.

This module defines the meaning of each statement by Python's own loops and NumPy's arithmetic
alone, so that expected outputs come neither from an engine nor from irloop's executor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "OPERATIONS",
    "Block",
    "Choose",
    "Compute",
    "Program",
    "Repeat",
    "Statement",
    "Walk",
    "evaluate",
]

Array = np.ndarray[Any, np.dtype[Any]]
Values = dict[str, Array]

#: The operations of a `Compute`; each operand is a vector of two floats.
OPERATIONS: dict[str, Callable[..., Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Max": np.maximum,
    "Min": np.minimum,
    "Neg": np.negative,
    "Abs": np.abs,
}


@dataclass(frozen=True, slots=True)
class Compute:
    """A statement: `name` is the result of an operation on earlier values."""

    name: str
    operation: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Statements, and the names of their results."""

    statements: tuple[Statement, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop that runs at most `count` times, and ends when a value reaches `limit`.

    The body can read its states and every outer value. Each item of `states` is the name of a state
    in the body, and the name of its initial value. The first results of the body are the next
    values of the states; the other results are stacked over the iterations. `count` names an i64
    input; None means no limit. With `limit` the body runs again only while the largest element of
    the first state's next value is less than `limit`. `number` is the name under which the body
    sees the iteration number, as a vector.
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, str], ...]
    body: Block
    count: str | None
    limit: float | None
    number: str | None


@dataclass(frozen=True, slots=True)
class Walk:
    """A statement that loops over the rows of a matrix, as a Scan or a TensorIterator.

    In the body, `row` names the current row.
    """

    names: tuple[str, ...]
    rows: str
    row: str
    backwards: bool
    states: tuple[tuple[str, str], ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Choose:
    """A statement that runs block `then` if the vector `by` has a positive sum, else `other`."""

    names: tuple[str, ...]
    by: str
    then: Block
    other: Block


Statement = Compute | Repeat | Walk | Choose


@dataclass(frozen=True, slots=True)
class Program:
    """A program from which models are made: inputs of three kinds, statements, and outputs.

    `block` holds the statements and outputs; `feeds` holds the input values of each inference.
    """

    vectors: tuple[str, ...]
    counts: tuple[str, ...]
    matrices: tuple[str, ...]
    block: Block
    #: The results that are matrices of stacked vectors.
    stacked: frozenset[str]
    feeds: tuple[Mapping[str, Any], ...]

    def expected(self) -> list[list[Array]]:
        """The outputs of each inference, in order."""
        return [
            evaluate(self.block, {name: _array(value) for name, value in feed.items()})
            for feed in self.feeds
        ]


def _array(value: Any) -> Array:
    return np.asarray(value, np.int64 if isinstance(value, int) else np.float32)


def evaluate(block: Block, values: Values) -> list[Array]:
    """Run the statements of a block, and return the results of the block.

    `values` holds the values that the block can read from outside, by name.
    """
    scope = dict(values)
    for statement in block.statements:
        scope.update(_step(statement, scope))
    return [scope[name] for name in block.results]


def _step(statement: Statement, scope: Values) -> Values:
    match statement:
        case Compute(name, operation, operands):
            return {name: OPERATIONS[operation](*(scope[item] for item in operands))}
        case Choose(names, by, then, other):
            chosen = then if scope[by].sum() > 0 else other
            return dict(zip(names, evaluate(chosen, scope), strict=True))
        case Repeat():
            return _repeat(statement, scope)
        case Walk():
            return _walk(statement, scope)


def _repeat(loop: Repeat, scope: Values) -> Values:
    states = [scope[initial] for _, initial in loop.states]
    parts: list[list[Array]] = [[] for _ in loop.body.results[len(states) :]]
    number = 0
    while loop.count is None or number < scope[loop.count]:
        inner = {**scope, **_held(loop.states, states)}
        if loop.number is not None:
            inner[loop.number] = np.full(2, number, np.float32)
        results = evaluate(loop.body, inner)
        states = results[: len(states)]
        for kept, value in zip(parts, results[len(states) :], strict=True):
            kept.append(value)
        number += 1
        if loop.limit is not None and not states[0].max() < loop.limit:
            break
    return _named(loop.names, states, parts)


def _walk(loop: Walk, scope: Values) -> Values:
    states = [scope[initial] for _, initial in loop.states]
    parts: list[list[Array]] = [[] for _ in loop.body.results[len(states) :]]
    rows = scope[loop.rows]
    for row in rows[::-1] if loop.backwards else rows:
        inner = {**scope, **_held(loop.states, states)}
        results = evaluate(loop.body, {**inner, loop.row: row})
        states = results[: len(states)]
        for kept, value in zip(parts, results[len(states) :], strict=True):
            kept.append(value)
    return _named(loop.names, states, parts)


def _held(declared: tuple[tuple[str, str], ...], values: list[Array]) -> Values:
    return {name: value for (name, _), value in zip(declared, values, strict=True)}


def _named(names: Sequence[str], states: list[Array], parts: list[list[Array]]) -> Values:
    stacks = [np.stack(kept) if kept else np.zeros((0, 2), np.float32) for kept in parts]
    return dict(zip(names, [*states, *stacks], strict=True))
