"""Runs If, in either dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from irloop.dialects.openvino import control_flow as ov
from irloop.execution.failure import StepError
from irloop.execution.program import Context, Program, sweep, tame
from irloop.graph.loops import PortMap
from irloop.graph.model import Node
from irloop.graph.types import TensorType

__all__ = ["Branches", "truth"]


def truth(node: Node, value: Any, what: str) -> bool:
    """The boolean value of a condition, a tensor of any rank with exactly one element.

    `what` names the condition in the error message.

    Raises:
        StepError: when there is not exactly one element.
    """
    try:
        return bool(value.item())
    except (ValueError, AttributeError):
        found = str(np.shape(value))
    raise StepError(node, f"{what} is not one value", expected="one element", found=found)


class Branches:
    """Runs the branch that the condition (input 0) selects (If-8; ONNX If-1 ... If-25).

    If one branch of OpenVINO's If returns a scalar and the other a vector, the output is declared
    as a vector. The scalar then gets the shape [1].
    """

    def __init__(self, node: Node, programs: Mapping[str, Program]) -> None:
        self._node = node
        self._programs = programs
        self._quick = {
            label: sweep(program.steps, program.outputs)
            for label, program in programs.items()
            if tame(program.steps)
        }
        self._work = {
            label: sum(step.work for step in program.steps) for label, program in programs.items()
        }
        self._lists = [
            at
            for at, value in enumerate(node.outputs)
            if isinstance(node.op, ov.If)
            and isinstance(value.type, TensorType)
            and value.type.shape.rank == 1
        ]
        self._ports: dict[str, PortMap] = {body.label: body.ports for body in node.bodies}

    def __call__(self, context: Context, *inputs: Any) -> Any:
        label = "then" if truth(self._node, inputs[0], "the condition") else "else"
        context.took(self._node, label)
        program, ports = self._programs[label], self._ports[label]
        arguments: list[Any] = [None] * len(program.inputs)
        for port in ports.inputs:
            arguments[port.parameter] = inputs[port.external]
        results = self._results(context, label, arguments)
        outputs: list[Any] = [None] * len(self._node.outputs)
        for out in ports.outputs:
            outputs[out.external] = results[out.result]
        for at in self._lists:
            if np.ndim(outputs[at]) == 0:
                outputs[at] = np.reshape(outputs[at], 1)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _results(self, context: Context, label: str, arguments: list[Any]) -> list[Any]:
        program = self._programs[label]
        compute = self._quick.get(label)
        if compute is None or context.watched:
            return program.call(context, arguments)
        slots = program.slots(context)
        for slot, value in zip(program.inputs, arguments, strict=True):
            slots[slot] = value
        context.charge(self._work[label], self._node)
        compute(slots)
        return [slots[slot] for slot in program.outputs]
