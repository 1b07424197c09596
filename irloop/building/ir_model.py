"""A compact way to write IR models with loops in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.builder import Builder, element_of, shape_of
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    Sliced,
)
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["IrLoop", "IrModel"]


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
        return IrLoop(self.builder, ov.TensorIterator(), ())

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

    def __init__(self, outer: Builder, op: Op, fixed: tuple[Value, ...]) -> None:
        self.outer = outer
        self.body = outer.nested("body")
        self._op = op
        self._externals = list(fixed)
        self._entering: list[tuple[InputPort, Value]] = []
        self._next: dict[Value, Value] = {}
        self._iteration: Value | None = None
        self._condition: Value | None = None
        self._leaving: list[tuple[Value, OutputPort]] = []
        #: Results, keyed by their value and by the state for which they were created.
        self._results: list[tuple[Value, Value | None]] = []
        self._own: set[Value] = set()

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
        port = Sliced(len(self._externals), 0, axis, start, end, stride, part_size)
        return self._enter(value, TensorType(element_of(value), shape), port)

    def state(self, initial: Value, *, dims: Sequence[int | None] | None = None) -> Value:
        """Add a state, and return its body parameter.

        `dims` is its shape in the body; None means the shape of the initial value.
        """
        shape = shape_of(initial) if dims is None else Shape.of(*dims)
        port = Carried(len(self._externals), 0, 0)
        return self._enter(initial, TensorType(element_of(initial), shape), port)

    def invariant(self, value: Value) -> Value:
        """Add an invariant input for the outer `value`; return the body parameter that reads it."""
        return self._enter(value, value.type, Invariant(len(self._externals), 0))

    def iteration(self) -> Value:
        """Add the body parameter that receives the iteration number, an i64 scalar."""
        self._iteration = self.body.parameter("i", TensorType(ElementType.I64, Shape(())))
        return self._iteration

    def carry(self, state: Value, value: Value) -> None:
        """Set the next value of a state."""
        self._next[state] = value

    def condition(self, value: Value) -> None:
        """Use this body value as the condition; if this is never called, the condition is true."""
        self._condition = value

    def last(self, value: Value) -> None:
        """Add a loop output that returns the body's `value` of the last iteration."""
        self._leaving.append((value, LastValue(0, len(self._leaving))))

    def last_of(self, state: Value) -> None:
        """Add an output with the last value of a state, or its initial value after no iteration.

        The state gets its own Result, because a Result that several states share has no initial
        value of its own.
        """
        self._own.add(state)
        self._leaving.append((state, LastValue(0, len(self._leaving))))

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
        port = Concatenated(0, len(self._leaving), axis, start, end, stride, part_size)
        self._leaving.append((value, port))

    def done(self) -> tuple[Value, ...]:
        """Add the loop to the outer graph and return its outputs."""
        is_loop = isinstance(self._op, ov.Loop)
        if is_loop:
            always = self.body.constant(True, ElementType.BOOLEAN)
            self._result(always if self._condition is None else self._condition)
        outputs = tuple(
            replace(port, result=self._result_of(value)) for value, port in self._leaving
        )
        parameters = [node.outputs[0] for node in self.body.graph.parameters]
        inputs = []
        for port, value in self._entering:
            placed = replace(port, parameter=parameters.index(value))
            if isinstance(placed, Carried):
                own = value if value in self._own else None
                placed = replace(placed, result=self._result(self._next[value], own))
            inputs.append(placed)
        for number, (value, _) in enumerate(self._results):
            self.body.result(value, self.body.names.fresh(f"result{number}"))
        iteration = None if self._iteration is None else parameters.index(self._iteration)
        ports = PortMap(tuple(inputs), outputs, iteration, 0 if is_loop else None)
        node = self.outer.emit(
            self._op,
            *self._externals,
            n_outputs=len(outputs),
            bodies=(Body("body", self.body.graph, ports),),
        )
        return node.outputs

    def _result_of(self, value: Value) -> int:
        if value in self._own:
            return self._result(self._next[value], value)
        return self._result(value)

    def _result(self, value: Value, own: Value | None = None) -> int:
        """Return the position of the body result that returns `value`; add the result if needed.

        All uses of a value share one result by default. If `own` is a state, that state gets a
        result that it shares with nothing else.
        """
        if (value, own) not in self._results:
            self._results.append((value, own))
        return self._results.index((value, own))

    def _enter(self, value: Value, type: ValueType, port: InputPort) -> Value:
        inner = self.body.parameter(f"in{len(self._entering)}", type)
        self._externals.append(value)
        self._entering.append((port, inner))
        return inner
