"""Variables that live from one run to the next: ReadValue and Assign of OpenVINO."""

from __future__ import annotations

from typing import Any

from irloop.execution.program import Context
from irloop.graph.model import Node
from irloop.graph.op import Kernel

__all__ = ["STATEFUL", "stateful_kernel"]

#: Operations that the executor runs itself, since their result is no function of their inputs.
STATEFUL = frozenset({"Assign", "ReadValue"})


def stateful_kernel(node: Node) -> Kernel:
    """The step of a ReadValue or Assign (opset3 and opset6: `variable_id` names the variable)."""
    name = str(getattr(node.op, "variable_id", node.name))

    def read(context: Context, *initial: Any) -> Any:
        if name not in context.variables and initial:
            return initial[0]
        return context.variables[name]

    def assign(context: Context, value: Any) -> Any:
        context.variables[name] = value
        return value

    return read if node.op.type == "ReadValue" else assign
