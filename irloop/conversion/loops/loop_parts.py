"""Shared parts of the conversions of Loop, TensorIterator and Scan.

`LoopPlan` sorts the ports of an OpenVINO port map into the kinds that an ONNX body needs: states,
captured values, slices, last values without a state, and concatenated outputs. The builders in
`onnx_loop_builder` assemble the target node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, overload

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms import onnx_shape_forms as shape_forms
from irloop.conversion.forms.axis_forms import filled, merge_axes
from irloop.conversion.framework.translation import Conversion, Converted
from irloop.dialects.loops import from_front
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Carried,
    Concatenated,
    Invariant,
    LastValue,
    Sliced,
)
from irloop.graph.model import Body, Value
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

PortWithAxis = TypeVar("PortWithAxis", Sliced, Concatenated)

__all__ = [
    "LoopPlan",
    "as_type",
    "bind_constant_parameters",
    "given",
    "is_single",
    "join_parts",
    "scalar",
    "zeros_like_type",
]


def scalar(c: Conversion, value: Value) -> Value:
    """Return a one-element value as a scalar, because ONNX requires rank 0 where IR allows [1]."""
    return value if shape_of(value).rank == 0 else shape_forms.reshape(c, value, [])


def as_type(c: Conversion, value: Value, type: ValueType) -> Value:
    """Cast `value` to the element type of `type` if they differ."""
    if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
        return value
    return value if element_of(value) is type.element else forms.cast(c, value, type.element)


def zeros_like_type(c: Conversion, type: ValueType) -> Value:
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


@overload
def given(c: Conversion, inputs: Sequence[Value | None], position: int) -> Value: ...


@overload
def given(c: Conversion, inputs: Sequence[Converted | None], position: int) -> Converted: ...


def given(c: Conversion, inputs: Sequence[Converted | None], position: int) -> Converted:
    """The converted value of input `position` of the source node.

    Raises:
        RefusedError: when it is not connected.
    """
    value = inputs[position] if position < len(inputs) else None
    if value is None:
        raise c.refuse(f"input {position} is not connected")
    return value


def is_single(dim: object, port: Concatenated) -> bool:
    """Return whether each iteration adds exactly one element to a concatenated output.

    `dim` is the size of the body result along the axis of `port`; if it is not a number, the
    `part_size` of the port decides.
    """
    return dim == 1 or (not isinstance(dim, int) and port.part_size == 1)


@dataclass(slots=True, eq=False, repr=False)
class LoopPlan:
    """The ports in the port map of an OpenVINO loop, grouped by what they become in ONNX."""

    body: Body
    c: Conversion
    carried: list[Carried] = field(default_factory=list)
    invariant: list[Invariant] = field(default_factory=list)
    sliced: list[Sliced] = field(default_factory=list)
    #: Last values that have no state, or a state of another element type.
    extra: list[LastValue] = field(default_factory=list)
    #: For every other last value, the position of its state in `carried`, keyed by the loop output.
    last: dict[int, int] = field(default_factory=dict)
    joined: list[Concatenated] = field(default_factory=list)
    #: Positions of the parameters that hold the condition, which is true in every iteration that
    #: runs.
    always_true: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, c: Conversion, *, has_condition: bool) -> LoopPlan:
        """Group the ports in the port map of the node that `c` converts.

        Raises:
            RefusedError: when an axis is negative and the rank of the tensor is unknown.
        """
        plan = cls(c.node.body(), c)
        body = plan.body
        lasts = [port for port in body.ports.outputs if isinstance(port, LastValue)]
        shown = {port.result for port in lasts}
        for port in body.ports.inputs:
            if isinstance(port, Invariant):
                plan.invariant.append(port)
            elif isinstance(port, Sliced):
                plan.sliced.append(plan._slice(port, is_loop=has_condition))
            elif isinstance(port, Carried):
                starts = c.node.inputs[1] if has_condition else None
                is_condition = (
                    starts is not None
                    and c.node.inputs[port.external] is starts
                    and port.result == body.ports.condition
                )
                if is_condition and port.result not in shown:
                    plan.always_true.append(port.parameter)
                else:
                    plan.carried.append(port)
        for out in lasts:
            state = plan._state_of(out)
            if state is None:
                plan.extra.append(out)
            else:
                plan.last[out.external] = state
        plan.joined = [
            plan._counted(port, shape_of(body.graph.output(port.result)).rank)
            for port in body.ports.outputs
            if isinstance(port, Concatenated)
        ]
        return plan

    def _slice(self, port: Sliced, *, is_loop: bool) -> Sliced:
        value = given(self.c, self.c.node.inputs, port.external)
        port = self._counted(port, shape_of(value).rank)
        if not is_loop:
            return port
        # A Loop always starts at an end of the axis, whatever range its port map has.
        whole = (0, -1) if port.stride > 0 else (-1, 0)
        return replace(port, start=whole[0], end=whole[1])

    def _counted(self, port: PortWithAxis, rank: int | None) -> PortWithAxis:
        found = from_front(port, rank)
        if found.axis >= 0:
            return found
        raise self.c.refuse(
            f"axis {port.axis} of a port map is negative, and the rank is not known",
            "use a non-negative axis",
        )

    def _state_of(self, out: LastValue) -> int | None:
        made = self.result_type(out.result)
        for index, port in enumerate(self.carried):
            held = self.parameter_type(port.parameter)
            if port.result == out.result and _element(held) is _element(made):
                return index
        return None

    def parameter_type(self, index: int) -> ValueType:
        """The type of a body parameter, valid for every iteration."""
        return self.body.graph.input(index).type

    def result_type(self, index: int) -> ValueType:
        """The type of a body result."""
        return self.body.graph.output(index).type

    def parameter_name(self, index: int) -> str:
        """The name of a body parameter."""
        return self.body.graph.parameters[index].name


def _element(type: ValueType) -> ElementType:
    return type.element if isinstance(type, TensorType) else ElementType.DYNAMIC


def bind_constant_parameters(
    inner: Conversion, plan: LoopPlan, bound: dict[int, Value], iteration: Value | None
) -> list[Value]:
    """Complete `bound` and return the value of each body parameter, in order.

    `bound` maps indices of body parameters to their values. The iteration number and the condition,
    which is true in every iteration that runs, are added to it. Parameters that nothing reads get a
    zero.

    Raises:
        RefusedError: when a parameter that is read gets no value.
    """
    if iteration is not None and plan.body.ports.iteration is not None:
        index = plan.body.ports.iteration
        number = as_type(inner, iteration, plan.parameter_type(index))
        bound[index] = _shaped(inner, number, plan.parameter_type(index))
    for index in plan.always_true:
        truth = inner.constant(True, ElementType.BOOLEAN)
        bound[index] = _shaped(inner, truth, plan.parameter_type(index))
    for index, node in enumerate(plan.body.graph.parameters):
        if index in bound:
            continue
        if node.outputs[0].is_used:
            raise inner.refuse(
                f"body parameter {node.name!r} gets no value",
                "map it in the port map (rule IRL512)",
            )
        bound[index] = zeros_like_type(inner, TensorType(ElementType.F32, Shape(())))
    return [bound[index] for index in range(len(bound))]


def _shaped(inner: Conversion, value: Value, type: ValueType) -> Value:
    rank = type.shape.rank if isinstance(type, TensorType) else None
    return value if rank in (None, 0) else shape_forms.reshape(inner, value, [1] * rank)


def join_parts(c: Conversion, stacked: Value, axis: int, *, merge: bool) -> Value:
    """Turn stacked parts [n, ...] into a tensor concatenated along `axis`, as in OpenVINO.

    With `merge`, each part has this axis already, and the two axes are merged into one. Without it,
    the parts have no such axis, because the body has squeezed it: the first axis moves to `axis`.
    """
    if axis == 0 and not merge:
        return stacked
    rank = shape_of(stacked).rank
    if rank is None:
        raise c.refuse("the rank of a concatenated output is not known")
    moved = stacked
    if axis:
        rest = list(range(1, rank))
        moved = shape_forms.transpose(c, stacked, [*rest[:axis], 0, *rest[axis:]])
    return merge_axes(c, moved, axis) if merge else moved
