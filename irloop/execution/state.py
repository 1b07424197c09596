"""Variables that keep their value between runs: ReadValue and Assign of OpenVINO."""

from __future__ import annotations

from typing import Any

from irloop.dialects.openvino import state
from irloop.execution.program import Context
from irloop.execution.stack import empty_value
from irloop.graph.model import Node
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_TYPE

__all__ = ["STATEFUL", "stateful_kernel"]

_READING = (state.ReadValue, state.ReadValue6)
#: Operations that the executor runs itself, because their result depends on more than their inputs.
STATEFUL = (state.Assign, state.Assign6, *_READING)


def stateful_kernel(node: Node) -> Kernel:
    """Return the kernel of a ReadValue or Assign.

    The attribute `variable_id` names the variable (in opset3 and opset6 alike). If a ReadValue has
    no input for the initial value, the variable starts as zeros of its declared type.
    """
    name = str(getattr(node.op, "variable_id", node.name))
    declared = node.outputs[0].type if node.outputs else UNKNOWN_TYPE

    def read(context: Context, *initial: Any) -> Any:
        if name in context.variables:
            return context.variables[name]
        return initial[0] if initial else empty_value(declared)

    def assign(context: Context, value: Any) -> Any:
        context.variables[name] = value
        return value

    return read if isinstance(node.op, _READING) else assign
