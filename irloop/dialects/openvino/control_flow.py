"""TensorIterator, Loop and If; the port maps of their bodies connect them to the outer graph."""

from __future__ import annotations

from dataclasses import replace

from irloop.dialects import loops
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.loops import Carried, Sliced
from irloop.graph.meanings import Condition, TripCount
from irloop.graph.model import Body
from irloop.graph.types import ElementType, Shape, TensorType, ValueType, widen_types

__all__ = ["If", "Loop", "TensorIterator"]


class TensorIterator(OpenVinoOp, type="TensorIterator", since=1, inputs=(0, None), outputs=None):
    """Runs its body once per slice (TensorIterator-1).

    The trip count comes from the sliced inputs or, without any, from the range of a concatenated
    output; without either there is one iteration.
    """

    operands = "values of the body...: any -> outputs...: any"
    body_labels = ("body",)

    def infer(self, args: Arguments) -> list[ValueType]:
        types = loops.parameter_types(args, args.bodies[0], keep_element=True)
        return loops.infer_loop(args, types, lambda body: _slices(args, body), keep_element=True)


class Loop(OpenVinoOp, type="Loop", since=5, inputs=(2, None), outputs=None):
    """Runs its body until the trip count is reached or the condition is false (Loop-5).

    Input 0 is the trip count (i32 or i64, one element, -1: unlimited), input 1 the condition before
    the first iteration (boolean, one element). Sliced inputs do not limit the trip count.
    """

    operands = (
        "trip count: integer, condition: boolean | u8 | u4, values of the body...: any "
        "-> outputs...: any"
    )
    body_labels = ("body",)
    leading_inputs = 2
    meanings = (TripCount(0), Condition(1))
    omissible = frozenset({0, 1})

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.element(1) not in (ElementType.BOOLEAN, ElementType.DYNAMIC):
            raise args.error("the condition is not boolean", "boolean", str(args.element(1)))
        types = loops.parameter_types(args, args.bodies[0])
        return loops.infer_loop(args, types, lambda body: _trips(args, body))


class If(OpenVinoOp, type="If", since=8, inputs=(1, None), outputs=None):
    """Runs its body "then" if input 0, the condition, is true, and its body "else" if not (If-8).

    If one body returns a scalar and the other a vector, the output is a vector, and the scalar
    becomes its only element.
    """

    operands = "condition: any, captured values...: any -> outputs...: any"
    body_labels = ("then", "else")
    leading_inputs = 1
    meanings = (Condition(0),)

    def infer(self, args: Arguments) -> list[ValueType]:
        return loops.infer_branches(args, _widened)


def _widened(left: ValueType, right: ValueType) -> ValueType:
    wide = widen_types(left, right)
    tensors = [type for type in (left, right) if isinstance(type, TensorType)]
    if isinstance(wide, TensorType) and {type.shape.rank for type in tensors} == {0, 1}:
        return replace(wide, shape=Shape.of(None))
    return wide


def _slices(args: Arguments, body: Body) -> int | None:
    """Return the trip count of a TensorIterator, or None if it is unknown.

    With sliced inputs, the first input whose sliced axis has a known size determines the count; it
    is unknown if there is none. Without sliced inputs, the count is the number of steps in the
    range of the first concatenated output whose bounds are not negative, or 1 if there is no such
    output.

    Raises:
        InferenceError: when the range of a sliced input does not fit its axis.
    """
    sliced = [port for port in body.ports.inputs if isinstance(port, Sliced)]
    for port in sliced:
        shape = args.shape(port.external)
        size = shape.dim(loops.normal_axis(port.axis, shape.rank))
        if isinstance(size, int):
            count = loops.sliced_count(port, size)
            if count is None:
                raise args.error(
                    f"the range of input {port.external} cannot be sliced",
                    f"a range of whole steps of {abs(port.stride)} within {size} elements",
                    f"{port.start}..{port.end}",
                )
            return count
    return None if sliced else loops.joined_count(body.ports)


def _trips(args: Arguments, body: Body) -> int | None:
    """The trip count of a Loop, or None if it is only known at run time."""
    trip, before = args.ints(0), args.constant(1)
    goes_on = _condition(args, body)
    if trip is not None and trip[:1] == (0,):
        return 0
    if before is None:
        return None
    if not bool(before.reshape(-1)[0]):
        return 0
    if trip is None:
        # The trip count may be 0, whatever the condition is.
        return None
    if goes_on is False:
        return 1
    if goes_on is None or trip[0] < 0:
        return None
    return trip[0]


def _condition(args: Arguments, body: Body) -> bool | None:
    """The body's condition if it has the same value after every iteration, else None."""
    ports = body.ports
    if ports.condition is None:
        return None
    constant = args.constant_result(body, ports.condition)
    if constant is not None:
        return bool(constant.reshape(-1)[0])
    value = body.graph.results[ports.condition].inputs[0]
    for port in ports.inputs:
        same = value is not None and value is body.graph.input(port.parameter)
        if same and isinstance(port, Carried) and port.result == ports.condition:
            before = args.constant(port.external)
            return None if before is None else bool(before.reshape(-1)[0])
    return None
