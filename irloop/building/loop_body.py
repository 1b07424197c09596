"""Builds the body of a loop, and connects it to the graph around the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from irloop.boundary import guarded
from irloop.building.graph_builder import OperationBuilder
from irloop.dialects.wire_ends import (
    INVARIANT,
    LAST,
    STATE,
    Entering,
    element_port,
    joined_port,
    slice_port,
    stacked_port,
)
from irloop.dialects.wires import Wires
from irloop.errors import UsageError
from irloop.graph import builder
from irloop.graph.loops import InputPort
from irloop.graph.model import Body, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]] | np.generic

__all__ = ["Kind", "LoopBody"]

Kind = Literal["Loop", "TensorIterator", "Scan"]


class LoopBody(OperationBuilder):
    """Builds the body of a Loop, TensorIterator or Scan, and connects it to the graph around it."""

    def __init__(
        self,
        outer: OperationBuilder,
        kind: Kind,
        op: Op,
        inputs: tuple[Value | None, ...],
        name: str,
    ) -> None:
        super().__init__(outer._inner.nested("body"), outer._target, outer)
        self._around = outer
        self._kind = kind
        self._operation = op
        self._name = name
        self._wires = Wires(self.graph)
        if kind == "Loop":
            self._wires.trip, self._wires.starts = inputs
        if self._target.is_onnx and kind == "Loop":
            self._wires.number(self._inner.names.fresh("iteration"))
            truth = TensorType(ElementType.BOOLEAN, Shape(()))
            self._wires.running = self._inner.parameter("condition", truth)

    @guarded("building a state")
    def state(self, initial: Value | Array, *, name: str = "state") -> Value:
        """Add a state that starts as `initial`, a value of the graph around the loop.

        `next` sets its value for the next iteration.
        """
        self._require_open()
        first = self._around._local(initial)
        return self._enter(first, name, STATE, first.type)

    @guarded("building a back edge")
    def next(self, state: Value, value: Value | Array) -> None:
        """Add a back edge: `state` has the value `value` in the next iteration.

        Raises:
            UsageError: when `state` has a next value already, or is not a state of this loop.
        """
        self._require_open()
        entry = self._state(state)
        if entry is None:
            raise UsageError(
                "only a state has a next value",
                expected="a value that state() of this loop has returned",
                found=f"{state!r:.60}",
            )
        if entry.result is not None:
            raise UsageError(
                f"the state {state.name!r} has a next value already",
                fix="call next() once for each state",
            )
        entry.result = self._local(value)

    @guarded("building a sliced input")
    def slice(
        self,
        value: Value | Array,
        axis: int = 0,
        *,
        part_size: int = 1,
        start: int | None = None,
        end: int | None = None,
        reverse: bool = False,
        name: str = "slice",
    ) -> Value:
        """Slice `value` along `axis`: each iteration gets one part.

        In IR the axis remains, with `part_size` elements. In an ONNX Scan an iteration gets one
        element, without the axis. An ONNX Loop cannot slice: gather with `iteration` instead.

        Args:
            value: a value of the graph around the loop.
            axis: the axis to slice; if the rank is known, it may be negative.
            part_size: the number of elements of a slice (IR).
            start: the first element (IR); negative values count from the end, -1 is the end.
            end: the element before which the slices end (IR), counted in the same way.
            reverse: slice from the end to the front.
            name: the name of the body's parameter.

        Raises:
            UsageError: for an ONNX Loop, or options that the operation does not have.
        """
        self._require_open()
        if self._kind == "Loop" and self._target.is_onnx:
            raise UsageError(
                "an ONNX Loop cannot slice its inputs",
                fix="gather with iteration, or use scan()",
            )
        source = self._around._local(value)
        low, high, stride = self._range(start, end, part_size, reverse)
        shape = source.type.shape if isinstance(source.type, TensorType) else Shape(None)
        position = _axis(axis, shape.rank)
        element = builder.element_of(source)
        seen = shape.with_dim(position, part_size)
        if self._kind == "Scan" and shape.dims is not None:
            seen = Shape(shape.dims[:position] + shape.dims[position + 1 :])
        port = slice_port(position, low, high, stride, part_size)
        wanted = element_port(position, reverse) if self._kind == "Scan" else port
        return self._enter(source, name, wanted, TensorType(element, seen))

    @guarded("building an invariant input")
    def invariant(self, value: Value | Array) -> Value:
        """Make a value of the outer graph an invariant input, which is the same in every iteration.

        Operations of the body may also use values of outer graphs directly.
        """
        self._require_open()
        source = self._around._local(value)
        known = self._invariant(source)
        return known or self._enter(source, source.producer.name, INVARIANT, source.type)

    @property
    @guarded("building the iteration number")
    def iteration(self) -> Value:
        """The number of the iteration, from 0: an i64 scalar (Loop only).

        Raises:
            UsageError: for a TensorIterator or a Scan.
        """
        self._require_open()
        if self._kind != "Loop":
            raise UsageError(
                f"{self._kind} has no iteration number",
                fix="use loop(), or count in a state",
            )
        known = self._wires.iteration
        return known or self._wires.number(self._inner.names.fresh("iteration"))

    @guarded("building a condition")
    def continue_while(self, condition: Value) -> None:
        """Run the next iteration only if this value of the body is true (Loop only).

        Raises:
            UsageError: for a TensorIterator or a Scan, or when there is a condition already.
        """
        self._require_open()
        if self._kind != "Loop":
            raise UsageError(f"{self._kind} has no condition", fix="use loop()")
        if self._wires.goes_on is not None:
            raise UsageError("the loop has a condition already")
        self._wires.goes_on = self._local(condition)

    @guarded("building an output of a loop")
    def last(self, value: Value) -> Value:
        """Add a loop output that returns the body's `value` of the last iteration.

        For a state, the output is its next value or, if the loop runs zero times, its initial
        value.

        Raises:
            UsageError: when, in an ONNX model, the value is neither a state nor its next value.
        """
        self._require_open()
        states = self._wires.states
        state = self._state(value) or next((s for s in states if s.result is value), None)
        inner = value if state is not None else self._local(value)
        if self._target.is_onnx and state is None:
            raise UsageError(
                "an ONNX loop returns only states and joined values",
                found=f"{inner!r:.60}",
                fix="make it the next value of a state first",
            )
        for known in self._wires.outputs:
            same = known.value is inner or (state is not None and known.state is state)
            if same and known.port == LAST:
                return known.output
        output = self._promised(f"{inner.name}/last")
        return self._wires.leave(inner, LAST, state, output=output).output

    @guarded("building an output of a loop")
    def joined(
        self,
        value: Value,
        axis: int = 0,
        *,
        part_size: int = 1,
        start: int | None = None,
        end: int | None = None,
        reverse: bool = False,
    ) -> Value:
        """Add an output that joins `value` of all iterations along `axis`.

        In IR the values are concatenated along one of their axes, on which they have `part_size`
        elements. In ONNX they are stacked along a new axis, which is axis 0 in a Loop.

        Args:
            value: a value of the body; for a state, its value at the start of each iteration.
            axis: the axis of the output.
            part_size: the number of elements that an iteration adds along the axis (IR).
            start: the beginning of the range on `axis`, counted as in `slice` (IR). In a
                TensorIterator without slices, the range determines the trip count.
            end: the end of this range, counted as in `slice` (IR).
            reverse: true if the value of the last iteration comes first.

        Raises:
            UsageError: for options that the operation does not have.
        """
        self._require_open()
        if self._target.is_onnx and self._kind == "Loop" and (axis != 0 or reverse):
            raise UsageError(
                "an ONNX Loop stacks its outputs forwards along a new first axis",
                found=f"axis={axis}, reverse={reverse}",
                fix="transpose or reverse after the loop, or use scan()",
            )
        inner = self._local(value)
        low, high, stride = self._range(start, end, part_size, reverse)
        rank = builder.shape_of(inner).rank
        if rank is not None:
            rank = rank + 1 if self._target.is_onnx else max(rank, 1)
        output = self._promised(f"{inner.name}/joined")
        at = _axis(axis, rank)
        port = joined_port(at, low, high, stride, part_size)
        wanted = stacked_port(at, reverse) if self._target.is_onnx else port
        return self._wires.leave(inner, wanted, output=output).output

    def _range(
        self, start: int | None, end: int | None, part_size: int, reverse: bool
    ) -> tuple[int, int, int]:
        """Start, end and stride for an entry of a port map.

        With `reverse` the range runs backward. If `start` is None, it begins at the first element,
        or at the last element with `reverse`; if `end` is None, it includes the rest of the axis.

        Raises:
            UsageError: when `part_size` is not positive, or ONNX cannot represent the range.
        """
        if part_size < 1:
            raise UsageError(
                "a part needs at least one element", expected="1 or more", found=str(part_size)
            )
        if self._target.is_onnx and (part_size != 1 or start is not None or end is not None):
            raise UsageError(
                "ONNX slices the whole axis, one element at a time",
                found=f"part_size={part_size}, start={start}, end={end}",
                fix="slice or reshape the input before the loop",
            )
        first, past = (-1, 0) if reverse else (0, -1)
        low, high = first if start is None else start, past if end is None else end
        return low, high, -part_size if reverse else part_size

    def _enter(self, outer: Value, wish: str, port: InputPort, type: ValueType) -> Value:
        return self._wires.enter(outer, self._inner.names.fresh(wish), port, type).parameter

    def _state(self, value: Any) -> Entering | None:
        return next((state for state in self._wires.states if state.parameter is value), None)

    def _invariant(self, value: Value) -> Value | None:
        """The body parameter that reads an outer value in every iteration, if there is one."""
        wires = self._wires.invariants
        return next((wire.parameter for wire in wires if wire.outer is value), None)

    def _captured(self, value: Value) -> Value:
        return self._invariant(value) or self._copied(value) or self.invariant(value)

    @guarded("finishing a loop")
    def _finish(self) -> None:
        """Add the operation with this body to the graph around it."""
        wires = self._wires
        for state in wires.states:
            if state.result is None:
                name = state.parameter.producer.name
                raise UsageError(
                    f"the state {name!r} has no next value", fix=f"call next({name}, value)"
                )
        if not wires.outputs:
            raise UsageError("the loop has no output", fix="call last() or joined()")
        if self._kind == "Scan" and not wires.slices:
            raise UsageError("a Scan needs a sliced input", fix="call slice(), or use loop()")
        if self._kind == "Loop" and wires.goes_on is None:
            wires.goes_on = self._inner.constant(True, ElementType.BOOLEAN)
        wires.sort()
        wires.outputs.sort(key=lambda leaving: leaving.port != LAST)
        for leaving in wires.outputs:
            if leaving.state is not None:
                leaving.value = leaving.state.following
        made = wires.numbered(self._operation)
        self.graph.parameters[:] = [value.producer for value in made.parameters]
        for value in made.results:
            self._add_result(value)
        # ONNX has an output for every state, even if the user has not asked for it.
        unread = self.graph.parameters[0]
        outputs = tuple(shown[0].output if shown else Value(unread, 0) for shown in made.shown)
        bodies = (Body("body", self.graph, made.ports),)
        self._around._emit_promised(self._operation, made.externals, bodies, outputs, self._name)


def _axis(axis: int, rank: int | None) -> int:
    """The axis as a non-negative index.

    Raises:
        UsageError: when the axis does not exist, or is negative and the rank is unknown.
    """
    if axis >= 0 and (rank is None or axis < rank):
        return axis
    if rank is None or axis < -rank or axis >= rank:
        raise UsageError(
            "there is no such axis",
            expected="a non-negative axis, because the rank of the tensor is unknown"
            if rank is None
            else f"-{rank} to {rank - 1}",
            found=str(axis),
        )
    return axis + rank
