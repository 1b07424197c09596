"""Shared parts of the conversions of Loop, TensorIterator and Scan.

`LoopPlan` sorts the wires of an OpenVINO loop into the kinds that an ONNX body needs: states,
captured values, slices, last values without a state, and concatenated outputs. The builders in
`onnx_loop_builder` assemble the target node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import Conversion, Converted
from irloop.conversion.loops.axes import filled, merge_axes
from irloop.conversion.loops.loop_builder import LoopBuilder, Outputs
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import Entering, Leaving
from irloop.dialects.wires import LooseEndError, Wires
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Concatenated,
    Sliced,
)
from irloop.graph.model import Value
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

PortWithAxis = TypeVar("PortWithAxis", Sliced, Concatenated)
ConvertedT = TypeVar("ConvertedT", bound=Converted)

__all__ = [
    "CopiedStates",
    "LoopPlan",
    "as_type",
    "convert_body",
    "is_single",
    "join_parts",
    "part_of",
    "values_of",
    "wires_of",
    "zeros_like_type",
]


def as_type(c: Export, value: Value, type: ValueType) -> Value:
    """Cast `value` to the element type of `type` if they differ."""
    if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
        return value
    return value if element_of(value) is type.element else c.convert(value, type.element)


def zeros_like_type(c: Export, type: ValueType) -> Value:
    """Return a tensor of zeros of the given type; unknown dimensions become 0.

    Example: f32 [2, ?] gives an f32 tensor of shape [2, 0]. Conversion uses these zeros where IR
    defines no value, for example as the last value of a body result when the loop runs no iteration
    and no back edge provides an initial value.
    """
    if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
        raise c.refuse("an output of the loop body has no known element type")
    dims = type.shape.dims or ()
    shape = [dim if isinstance(dim, int) else 0 for dim in dims]
    return filled(c, 0, type.element, shape)


def wires_of(c: Conversion) -> Wires:
    """Read the wires of the source loop.

    Raises:
        RefusedError: when they do not connect all that the body reads.
    """
    wires = Wires(c.node.body().graph)
    try:
        wires.read(c.node)
    except LooseEndError as error:
        raise c.refuse(str(error), error.fix) from error
    return wires


def values_of(c: Conversion, inputs: Sequence[ConvertedT | None]) -> dict[Value, ConvertedT]:
    """The converted value of each input of the source node."""
    pairs = zip(c.node.inputs, inputs, strict=True)
    return {old: new for old, new in pairs if old is not None and new is not None}


def convert_body(
    inner: Import, source: Wires, bound: Mapping[Value, Converted]
) -> dict[Value, Converted]:
    """Convert the body of the source loop; return what becomes of each value that it returns.

    `bound` has the value of each body parameter.
    """
    graph = source.graph
    results = inner.convert_any(graph, [bound[parameter] for parameter in graph.inputs])
    return dict(zip(graph.outputs, results, strict=True))


def part_of(c: Import, value: Converted) -> Value:
    """Check that a body result that a loop concatenates is a tensor, and return it.

    Raises:
        RefusedError: when it is not a tensor.
    """
    if not isinstance(value, Value):
        raise c.refuse(f"the body returns {value}, which cannot be concatenated")
    return value


def is_single(dim: object, port: Concatenated) -> bool:
    """Return whether each iteration adds exactly one element to a concatenated output.

    `dim` is the size of the body result along the axis of `port`; if it is not a number, the
    `part_size` of the port decides.
    """
    return dim == 1 or (not isinstance(dim, int) and port.part_size == 1)


class LoopPlan:
    """The wires of an OpenVINO loop, sorted by what they become in ONNX."""

    def __init__(self, c: Export, inputs: Sequence[Value | None]) -> None:
        """Read the wires of the node that `c` converts; `inputs` are its converted inputs.

        Raises:
            RefusedError: when they are not connected, or when an axis is negative and the rank of
                the tensor is unknown.
        """
        self.c = c
        self.wires = wires = wires_of(c)
        self.values = values_of(c, inputs)
        self.invariants = wires.invariants
        self.slices: list[tuple[Entering, Sliced]] = []
        for wire in wires.slices:
            assert isinstance(wire.port, Sliced)
            self.slices.append((wire, self._range(wire.port)))
        shown = {leaving.state for leaving in wires.outputs}
        #: The states that are the condition, which is true in every iteration that runs.
        self.always_true = [
            wire
            for wire in wires.states
            if wire.outer is wires.starts and wire.result is wires.goes_on and wire not in shown
        ]
        self.states = [wire for wire in wires.states if wire not in self.always_true]
        #: Last values of states, with the state.
        self.lasts: list[tuple[Leaving, Entering]] = []
        #: Last values that have no state, or a state of another element type.
        self.extra: list[Leaving] = []
        self.joined: list[tuple[Leaving, Concatenated]] = []
        for leaving in wires.outputs:
            state, port = leaving.state, leaving.port
            if isinstance(port, Concatenated):
                self.joined.append((leaving, self._counted(port)))
            elif state is None or element_of(state.parameter) is not element_of(leaving.value):
                self.extra.append(leaving)
            else:
                self.lasts.append((leaving, state))

    def _range(self, port: Sliced) -> Sliced:
        port = self._counted(port)
        if isinstance(self.c.node.op, ov.TensorIterator):
            return port
        # A Loop always starts at an end of the axis, whatever range its port map has.
        whole = (0, -1) if port.stride > 0 else (-1, 0)
        return replace(port, start=whole[0], end=whole[1])

    def _counted(self, port: PortWithAxis) -> PortWithAxis:
        if port.axis >= 0:
            return port
        raise self.c.refuse(
            f"axis {port.axis} of a port map is negative, and the rank is not known",
            "use a non-negative axis",
        )

    def converted(self, wire: Entering) -> Value:
        """The converted outer value of a wire."""
        return self.values[wire.outer]

    def initial(self, wire: Entering) -> Value:
        """The converted outer value of a wire, in the element type of the body parameter."""
        return as_type(self.c, self.values[wire.outer], wire.parameter.type)

    def convert_body(
        self, inner: Export, bound: dict[Value, Value], iteration: Value | None
    ) -> dict[Value, Value]:
        """Convert the body; return what becomes of each value that it returns.

        `bound` has the values of body parameters. The iteration number and the condition, which is
        true in every iteration that runs, are added to it. Parameters that nothing reads get a
        zero.
        """
        graph, number = self.wires.graph, self.wires.iteration
        if iteration is not None and number is not None:
            bound[number] = _shaped(inner, as_type(inner, iteration, number.type), number.type)
        for wire in self.always_true:
            truth = inner.constant(True, ElementType.BOOLEAN)
            bound[wire.parameter] = _shaped(inner, truth, wire.parameter.type)
        unread = TensorType(ElementType.F32, Shape(()))
        parameters = [
            bound[value] if value in bound else zeros_like_type(inner, unread)
            for value in graph.inputs
        ]
        results = inner.convert_graph(graph, parameters)
        return dict(zip(graph.outputs, results, strict=True))


class CopiedStates:
    """The states of a new ONNX loop: those of the source loop, and one for each value in `held`.

    A state of the latter kind only holds the value of a body result until the loop ends.
    """

    def __init__(self, plan: LoopPlan, loop: LoopBuilder[Export], held: Sequence[Leaving]) -> None:
        self._plan = plan
        self._inner = loop.inner
        self._states = {
            old: loop.state(plan.initial(old), old.parameter.type, old.parameter.producer.name)
            for old in plan.states
        }
        self._held = {old: self._holding(loop, old.value.type) for old in held}
        #: The new value of each body parameter that holds a state.
        self.bound = {old.parameter: new.parameter for old, new in self._states.items()}

    def _holding(self, loop: LoopBuilder[Export], type: ValueType) -> Entering:
        return loop.state(zeros_like_type(loop.c, type), type, "last")

    def leave(self, results: Mapping[Value, Value]) -> None:
        """Set the next values of the states; `results` are those of the converted body."""
        for old, new in self._states.items():
            new.result = as_type(self._inner, results[old.following], old.parameter.type)
        for shown, new in self._held.items():
            new.result = results[shown.value]

    def outputs(self, made: Outputs) -> dict[Value, Value]:
        """The value of each output of the source loop that returns a last value."""
        lasts = {shown.output: made[self._states[old]] for shown, old in self._plan.lasts}
        return lasts | {shown.output: made[new] for shown, new in self._held.items()}


def _shaped(inner: Export, value: Value, type: ValueType) -> Value:
    rank = type.shape.rank if isinstance(type, TensorType) else None
    return value if rank in (None, 0) else inner.reshape(value, [1] * rank)


def join_parts(c: Export, stacked: Value, axis: int, *, merge: bool) -> Value:
    """Turn stacked parts [n, ...] into a tensor concatenated along `axis`, as in OpenVINO.

    With `merge`, each part has this axis already, and the two axes are merged into one. Without it,
    the parts have no such axis, because the body has squeezed it: the first axis moves to `axis`.
    """
    if axis == 0 and not merge:
        return stacked
    rank = shape_of(stacked).rank
    if rank is None:
        raise c.refuse("the rank of a concatenated output is not known")
    moved = c.moved(stacked, 0, axis, rank)
    return merge_axes(c, moved, axis) if merge else moved
