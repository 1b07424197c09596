"""Refuses nested loops that take more iterations than allowed, before they run.

Loops of 60 iterations, nested six deep, would otherwise run until the time limit. Only iterations
that certainly take place are counted: those of loops directly inside each other that no condition
ends, and whose trip counts do not depend on the enclosing loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop import budget
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.execution.failure import StepError
from irloop.graph.loops import ScanInput, Sliced
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import TensorType
from irloop.graph.walk import invariant_of

__all__ = ["Level", "refuse_too_many"]

#: A loop that runs, and the number of iterations that it certainly takes; 0 if that is unknown.
Level = tuple[Node, int]

#: A run may take this many iterations for each step that its budget allows.
PER_STEP = 3


def refuse_too_many(levels: Sequence[Level]) -> None:
    """Raise if the loops that run now need more iterations than the budget allows.

    Raises:
        StepError: naming the innermost loop.
    """
    most = budget.current().operations
    if most is None:
        return
    node, total = levels[-1]
    for outer, count in reversed(levels[:-1]):
        if not count or node.owner is not outer or not _repeats_equally(node):
            break
        node, total = outer, total * count
    if total > most * PER_STEP:
        raise StepError(
            levels[-1][0],
            "this loop and the loops around it together take more iterations than allowed",
            expected=f"at most {most * PER_STEP:,} iterations",
            found=f"{total:,} iterations",
            fix="allow more time (--max-seconds) if the trip counts are intended",
            limit=True,
        )


def _repeats_equally(node: Node) -> bool:
    """Return whether a nested loop has the same trip count in each iteration of the loop around it.

    This is certain if its trip count is a constant, or if the inputs that it slices have static
    shapes.
    """
    if isinstance(node.op, onnx.Loop | ov.Loop):
        return node.inputs[0] is not None and _is_constant(node.inputs[0])
    values = [
        node.inputs[port.external]
        for port in node.body().ports.inputs
        if isinstance(port, ScanInput | Sliced)
    ]
    types = [None if value is None else value.type for value in values]
    return all(isinstance(type, TensorType) and type.shape.is_static for type in types)


def _is_constant(value: Value) -> bool:
    """Return whether `value` is a constant, including one that a body receives from outside."""
    while not isinstance(value.producer.op, Constant):
        outside = invariant_of(value)
        if outside is None:
            return False
        value = outside
    return True
