"""Builds the body of a loop, and connects it to the graph around the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from irloop.boundary import guarded
from irloop.building.graph_builder import OperationBuilder
from irloop.building.wiring import (
    Joined,
    Last,
    Part,
    State,
    Wired,
    Wires,
    onnx_wires,
    openvino_wires,
)
from irloop.errors import UsageError
from irloop.graph import builder
from irloop.graph.model import Body, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType

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
        self._fixed = inputs
        self._name = name
        self._wires = Wires()
        self._condition: Value | None = None
        if self._target.is_onnx and kind == "Loop":
            number = TensorType(ElementType.I64, Shape(()))
            self._wires.iteration = self._inner.parameter("iteration", number)
            self._inner.parameter("condition", TensorType(ElementType.BOOLEAN, Shape(())))

    @guarded("building a state")
    def state(self, initial: Value | Array, *, name: str = "state") -> Value:
        """Add a state that starts as `initial`, a value of the graph around the loop.

        `next` sets its value for the next iteration.
        """
        self._require_open()
        first = self._around._local(initial)
        parameter = self._inner.parameter(name, first.type)
        self._wires.states.append(State(parameter, first))
        return parameter

    @guarded("building a back edge")
    def next(self, state: Value, value: Value | Array) -> None:
        """Add a back edge: `state` has the value `value` in the next iteration.

        Raises:
            UsageError: when `state` has a next value already, or is not a state of this loop.
        """
        self._require_open()
        found = self._state(state)
        if found is None:
            raise UsageError(
                "only a state has a next value",
                expected="a value that state() of this loop has returned",
                found=f"{state!r:.60}",
            )
        if found.next is not None:
            raise UsageError(
                f"the state {state.name!r} has a next value already",
                fix="call next() once for each state",
            )
        found.next = self._local(value)

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
        at = _axis(axis, shape.rank)
        element = builder.element_of(source)
        seen = shape.with_dim(at, part_size)
        if self._kind == "Scan" and shape.dims is not None:
            seen = Shape(shape.dims[:at] + shape.dims[at + 1 :])
        parameter = self._inner.parameter(name, TensorType(element, seen))
        part = Part(parameter, source, at, low, high, stride, part_size)
        self._wires.parts.append(part)
        return parameter

    @guarded("building an invariant input")
    def invariant(self, value: Value | Array) -> Value:
        """Make a value of the outer graph an invariant input, which is the same in every iteration.

        Operations of the body may also use values of outer graphs directly.
        """
        self._require_open()
        source = self._around._local(value)
        if source not in self._wires.invariants:
            parameter = self._inner.parameter(source.producer.name, source.type)
            self._wires.invariants[source] = parameter
        return self._wires.invariants[source]

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
        if self._wires.iteration is None:
            number = TensorType(ElementType.I64, Shape(()))
            self._wires.iteration = self._inner.parameter("iteration", number)
        return self._wires.iteration

    @guarded("building a condition")
    def continue_while(self, condition: Value) -> None:
        """Run the next iteration only if this value of the body is true (Loop only).

        Raises:
            UsageError: for a TensorIterator or a Scan, or when there is a condition already.
        """
        self._require_open()
        if self._kind != "Loop":
            raise UsageError(f"{self._kind} has no condition", fix="use loop()")
        if self._condition is not None:
            raise UsageError("the loop has a condition already")
        self._condition = self._local(condition)

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
        state = self._state(value) or next((s for s in states if s.next is value), None)
        inner = value if state is not None else self._local(value)
        if self._target.is_onnx and state is None:
            raise UsageError(
                "an ONNX loop returns only states and joined values",
                found=f"{inner!r:.60}",
                fix="make it the next value of a state first",
            )
        for item in self._wires.lasts:
            if item.inner is inner or (state is not None and item.state is state):
                return item.output
        output = self._promised(f"{inner.name}/last")
        self._wires.lasts.append(Last(inner, output, state))
        return output

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
        item = Joined(inner, output, _axis(axis, rank), low, high, stride, part_size)
        self._wires.joined.append(item)
        return output

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

    def _state(self, value: Any) -> State | None:
        return next((item for item in self._wires.states if item.parameter is value), None)

    def _captured(self, value: Value) -> Value:
        known = self._wires.invariants.get(value)
        if known is not None:
            return known
        return self._copied(value) or self.invariant(value)

    @guarded("finishing a loop")
    def _finish(self) -> None:
        """Add the operation with this body to the graph around it."""
        wires = self._wires
        for state in wires.states:
            if state.next is None:
                name = state.parameter.producer.name
                raise UsageError(
                    f"the state {name!r} has no next value", fix=f"call next({name}, value)"
                )
        if not (wires.lasts or wires.joined):
            raise UsageError("the loop has no output", fix="call last() or joined()")
        if self._kind == "Loop":
            goes_on = self._condition
            if goes_on is None:
                goes_on = self._inner.constant(True, ElementType.BOOLEAN)
            wires.condition = goes_on
        if self._target.is_onnx:
            wired = self._onnx_wires()
        else:
            wired = openvino_wires(wires, self.graph, len(self._fixed), self._add_result)
        bodies = (Body("body", self.graph, wired.ports),)
        inputs = (*self._fixed, *wired.inputs)
        outer = self._around
        outer._emit_promised(self._operation, inputs, bodies, wired.outputs, self._name)

    def _onnx_wires(self) -> Wired:
        if self._kind == "Scan" and not self._wires.parts:
            raise UsageError("a Scan needs a sliced input", fix="call slice(), or use loop()")
        loop = self._kind == "Loop"
        first = len(self._fixed)
        return onnx_wires(self._wires, self.graph, first, self._add_result, loop=loop)


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
