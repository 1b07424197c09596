"""A compact way to write IR models with loops in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import INVARIANT, LAST, STATE, Entering, joined_port, slice_port
from irloop.dialects.wires import Wires
from irloop.graph.builder import Builder, element_of, shape_of
from irloop.graph.loops import (
    InputPort,
)
from irloop.graph.model import Graph, Model, Value
from irloop.graph.op import Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["IrLoop", "IrModel", "with_input_ports"]


class IrModel:
    """An IR under construction: create inputs, operations and loops, then call `done`."""

    def __init__(self) -> None:
        self.builder = Builder(Graph("case"))

    def input(self, name: str, *dims: int | None, element: ElementType = ElementType.F32) -> Value:
        """Add an input to the model; a dimension None may have any size."""
        return self.builder.parameter(name, TensorType(element, Shape.of(*dims)), (name,))

    def constant(self, data: Any, element: ElementType = ElementType.F32) -> Value:
        """Add a constant, made from a number or nested lists."""
        return self.builder.constant(data, element)

    def __call__(self, op: Op, *inputs: Value) -> Value:
        """Add an operation, and return its first output."""
        return self.builder(op, *inputs)

    def tensor_iterator(self) -> IrLoop:
        """Begin a TensorIterator, which has no inputs and outputs yet."""
        return IrLoop(self.builder, ov.TensorIterator())

    def loop(self, trips: Value, starts: Value | None = None) -> IrLoop:
        """Begin a Loop of at most `trips` iterations.

        `starts` is its initial condition; without it, the condition is initially true.
        """
        first = self.constant(True, ElementType.BOOLEAN) if starts is None else starts
        return IrLoop(self.builder, ov.Loop(), (trips, first))

    def inside(self, loop: IrLoop) -> IrModel:
        """A builder that adds constants, operations and loops to the body of a loop."""
        nested = IrModel()
        nested.builder = loop.body
        return nested

    def done(self, *outputs: Value) -> Model:
        """The model with these outputs, in order."""
        for number, value in enumerate(outputs):
            name = f"out{number}"
            value.names = (*value.names, name)
            self.builder.result(value, name)
        return Model(self.builder.graph, "openvino", 11)


class IrLoop:
    """A Loop or TensorIterator under construction.

    Create body values with `slice`, `state`, `invariant` and `iteration`, compute in the body by
    calling the loop, set the next values of states with `carry`, request outputs with `last` and
    `joined`, and end with `done`, which returns the outputs in the order of the requests.
    """

    def __init__(self, outer: Builder, op: Op, fixed: tuple[Value, Value] | None = None) -> None:
        self.outer = outer
        self.body = outer.nested("body")
        self._op = op
        self._wires = Wires(self.body.graph, shares=True)
        self._wires.trip, self._wires.starts = fixed or (None, None)
        self._states: dict[Value, Entering] = {}

    def __call__(self, op: Op, *inputs: Value) -> Value:
        """Add an operation to the body, and return its first output."""
        return self.body(op, *inputs)

    def constant(self, data: Any, element: ElementType = ElementType.F32) -> Value:
        """A constant in the body."""
        return self.body.constant(data, element)

    def slice(
        self,
        value: Value,
        axis: int,
        start: int = 0,
        end: int = -1,
        stride: int = 1,
        part_size: int = 1,
    ) -> Value:
        """Add a sliced input to the loop and return the slice that one iteration reads."""
        shape = shape_of(value).with_dim(axis, part_size)
        port = slice_port(axis, start, end, stride, part_size)
        return self._enter(value, TensorType(element_of(value), shape), port).parameter

    def state(self, initial: Value, *, dims: Sequence[int | None] | None = None) -> Value:
        """Add a state, and return its body parameter.

        `dims` is its shape in the body; None means the shape of the initial value.
        """
        shape = shape_of(initial) if dims is None else Shape.of(*dims)
        state = self._enter(initial, TensorType(element_of(initial), shape), STATE)
        self._states[state.parameter] = state
        return state.parameter

    def invariant(self, value: Value) -> Value:
        """Add an invariant input for the outer `value`; return the body parameter that reads it."""
        return self._enter(value, value.type, INVARIANT).parameter

    def iteration(self) -> Value:
        """Add the body parameter that receives the iteration number, an i64 scalar."""
        return self._wires.number(self.body.names.fresh("i"))

    def carry(self, state: Value, value: Value) -> None:
        """Set the next value of a state."""
        self._states[state].result = value

    def condition(self, value: Value) -> None:
        """Use this body value as the condition; if this is never called, the condition is true."""
        self._wires.goes_on = value

    def last(self, value: Value) -> None:
        """Add a loop output that returns the body's `value` of the last iteration."""
        self._wires.leave(value, LAST)

    def last_of(self, state: Value) -> None:
        """Add an output with the last value of a state, or its initial value after no iteration."""
        self._wires.leave(state, LAST, self._states[state])

    def joined(
        self,
        value: Value,
        axis: int,
        start: int = 0,
        end: int = -1,
        stride: int = 1,
        part_size: int = 1,
    ) -> None:
        """Add a loop output that concatenates the `value` of all iterations along `axis`."""
        self._wires.leave(value, joined_port(axis, start, end, stride, part_size))

    def done(self) -> tuple[Value, ...]:
        """Add the loop to the outer graph and return its outputs."""
        wires = self._wires
        if wires.goes_on is None and isinstance(self._op, ov.Loop):
            wires.goes_on = self.body.constant(True, ElementType.BOOLEAN)
        for leaving in wires.outputs:
            if leaving.state is not None:
                leaving.value = leaving.state.following
        return wires.emit(self.outer, self._op).outputs

    def _enter(self, value: Value, type: ValueType, port: InputPort) -> Entering:
        name = self.body.names.fresh(f"in{len(self._wires.inputs)}")
        return self._wires.enter(value, name, port, type)


def with_input_ports(model: Model, kind: type[InputPort], **changes: Any) -> Model:
    """Change fields of the ports of one kind that enter a model's only loop; return the model.

    With this, a case has a port map that no IR model can be built with.
    """
    (node,) = [node for node in model.graph.nodes if node.bodies]
    body = node.body()
    ports = tuple(
        replace(port, **changes) if isinstance(port, kind) else port for port in body.ports.inputs
    )
    new = replace(body, ports=replace(body.ports, inputs=ports))
    Rewriter(model.graph).set_bodies(node, (new,))
    return model
