"""Passes an error out of nested programs, and records in which iterations it occurred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irloop.errors import ExecutionError, IrloopError, LimitError, plain_reason
from irloop.graph.model import Node
from irloop.graph.walk import node_path

__all__ = ["Extents", "StepError", "extents_of", "failure_of"]

#: The shape of an operand, and its elements if the operand may hold a shape, as input 1 of Reshape
#: does.
Extents = tuple[tuple[int, ...], tuple[int, ...]]

#: Maximum length of a list of integers that may be a shape.
LONGEST_SHAPE = 8

#: How NumPy's messages about sizes beyond the address space begin.
_TOO_BIG = ("array is too big", "Maximum allowed")


def extents_of(values: Sequence[Any]) -> tuple[Extents, ...]:
    """Return the shape of each operand, and its elements if it may itself be a shape.

    For example, input 1 of Reshape holds a shape. An operand may be one if it is a short vector of
    integers. The second part is empty for all others, and both parts are empty for a sequence or an
    omitted input.
    """
    extents: list[Extents] = []
    for value in values:
        shape = tuple(np.shape(value)) if isinstance(value, np.ndarray | np.generic) else ()
        whole = len(shape) == 1 and shape[0] <= LONGEST_SHAPE and value.dtype.kind in "iu"
        extents.append((shape, tuple(map(int, value)) if whole else ()))
    return tuple(extents)


class StepError(Exception):
    """Raised inside the executor if a node fails; `as_error()` makes the public exception.

    Each enclosing loop puts its iteration in front of `iterations`. If the kernel of the node
    failed, `operands` holds a pair for each input: its shape, and its elements if the input may
    itself hold a shape, as input 1 of Reshape does (see `extents_of`). After any other failure
    `operands` is empty.
    """

    def __init__(
        self,
        node: Node,
        message: str,
        *,
        expected: str = "",
        found: str = "",
        fix: str = "",
        limit: bool = False,
        by_clock: bool = False,
    ) -> None:
        super().__init__(message)
        self.node = node
        self.message = message
        self.expected = expected
        self.found = found
        self.fix = fix
        self.limit = limit
        self.by_clock = by_clock
        self.iterations: list[tuple[Node, int]] = []
        self.operands: tuple[Extents, ...] = ()

    def inside(self, loop: Node, iteration: int) -> StepError:
        """Record that this failure occurred in iteration `iteration` of `loop`; return this error.

        `loop` must enclose the loops that were recorded before.
        """
        self.iterations.insert(0, (loop, iteration))
        return self

    def as_error(self) -> ExecutionError:
        """Make the public exception, which names the path of the node and the iterations."""
        path = node_path(self.node)
        where = f"{self.node.op.label} {path!r}"
        if len(self.iterations) == 1:
            where += f", iteration {self.iterations[0][1]}"
        elif self.iterations:
            steps = ", ".join(f"{index} of {loop.name!r}" for loop, index in self.iterations)
            where += f", iterations {steps}"
        kind = LimitError if self.limit else ExecutionError
        error = kind(
            f"{where}: {self.message}",
            location=replace(self.node.location, path=path),
            expected=self.expected,
            found=self.found,
            fix=self.fix,
        )
        if isinstance(error, LimitError):
            error.by_clock = self.by_clock
        return error


def failure_of(node: Node, error: Exception) -> StepError:
    """Convert an exception that the kernel of `node` raised to a `StepError`."""
    if isinstance(error, IrloopError):
        first = error.diagnostics[0]
        return StepError(
            node,
            error.message,
            expected=first.expected,
            found=first.found,
            fix=first.fix,
            limit=isinstance(error, LimitError),
            by_clock=isinstance(error, LimitError) and error.by_clock,
        )
    if isinstance(error, MemoryError):
        return StepError(node, f"not enough memory: {error}", limit=True)
    if isinstance(error, OverflowError) or str(error).startswith(_TOO_BIG):
        return StepError(node, f"sizes that no memory can hold: {error}", limit=True)
    types = ", ".join("none" if value is None else str(value.type) for value in node.inputs)
    return StepError(
        node,
        plain_reason(error) or "its attributes and inputs contradict each other",
        found=f"inputs of the types {types}" if types else "",
        fix="validate the model",
    )
