"""Loop, Scan and If in ONNX, with bodies that do not refer to outer values.

Captured outer values are explicit: they follow the node's own inputs, and enter the body as
`Invariant` parameters after the body's own inputs. The reader adds them, the writer removes them.

=====  ==================================  ==================================================
op     node inputs                         body parameters
=====  ==================================  ==================================================
Loop   M, cond, states..., captures...     iteration, condition, states..., captures...
Scan   (8: lengths,) states..., scanned... states..., scanned elements..., captures...
If     cond, captures...                   captures... (each body those it uses)
=====  ==================================  ==================================================
"""

from __future__ import annotations

from irloop.dialects import inference, loops
from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.onnx.convert import Identity
from irloop.graph.arguments import Arguments
from irloop.graph.loops import Carried, ScanInput
from irloop.graph.meanings import Condition, Lengths, TripCount
from irloop.graph.model import Body
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

__all__ = ["If", "Loop", "Scan", "Scan8"]

#: The trip count that exporters write for "no limit"; conversion writes it if M cannot be omitted.
NO_LIMIT = 2**63 - 1

#: The first opset in which a Loop may have no state.
STATELESS = 11


class Loop(OnnxOp, type="Loop", since=1, inputs=(2, None), outputs=None):
    """Runs its body until the trip count is reached or the condition is false (Loop-1 ... Loop-25).

    Input 0 (M) is the trip count and input 1 (cond) the first condition; both may be omitted. In
    the port map of the body, parameter 0 is the iteration number. Parameter 1 is the condition: it
    is `Carried`, with input 1 as its initial value and result 0 as its next value, even if cond is
    omitted. The parameters for states and captures follow. Outputs are `LastValue` or `ScanOutput`
    with axis 0.
    """

    body_labels = ("body",)
    leading_inputs = 2
    meanings = (TripCount(0), Condition(1))
    omissible = frozenset({0, 1})

    def infer(self, args: Arguments) -> list[ValueType]:
        (body,) = args.bodies
        declared = [value.type for value in body.graph.inputs]
        types = loops.parameter_types(args, body)
        conditions = [port.parameter for port in body.ports.carried if port.external == 1]
        for at in conditions:
            types[at] = _condition_type(declared[at], types[at])
        return loops.infer_loop(args, types, lambda body: _trips(args, body), steady=conditions)


class Scan(OnnxOp, type="Scan", since=9, inputs=(1, None), outputs=None):
    """Runs its body for each element of the scanned inputs (Scan-9 ... Scan-25).

    Axes and directions are in the port map (`ScanInput`, `ScanOutput`); axes are nonnegative where
    the rank is known. The attribute `num_scan_inputs` and the lists of axes and directions in a
    file are derived from the port map.
    """

    body_labels = ("body",)
    omissible = frozenset({0})

    def infer(self, args: Arguments) -> list[ValueType]:
        types = loops.parameter_types(args, args.bodies[0])
        _require_steady(args, args.bodies[0], types)
        return loops.infer_loop(args, types, lambda body: _known(_scan_length(args, body, 0)))


class Scan8(OnnxOp, type="Scan", since=8, inputs=(2, None), outputs=None):
    """Scan with a batch axis (Scan-8): each batch item is scanned separately.

    Input 0 is the optional lengths [B]. All other inputs and outputs have a leading batch axis,
    which the values in the body lack, and are scanned along axis 1. `ScanInput.axis` and
    `ScanOutput.axis` do not count the batch axis, so they are 0.
    """

    meanings = (Lengths(0, data=-1, axis=1),)

    body_labels = ("body",)
    leading_inputs = 1
    omissible = frozenset({0})

    def infer(self, args: Arguments) -> list[ValueType]:
        (body,) = args.bodies
        types = loops.parameter_types(args, body, outer=1)
        _require_steady(args, body, types)
        length = _scan_length(args, body, 1)
        inference.require_within(args, 0, 0, length, "a length")
        outputs = loops.infer_loop(args, types, lambda _: _known(length))
        batch = _batch(args, body)
        return [
            TensorType(item.element, Shape((batch, *item.shape.dims)))
            if isinstance(item, TensorType) and item.shape.dims is not None
            else item
            for item in outputs
        ]


class If(OnnxOp, type="If", since=1, inputs=(1, None), outputs=None):
    """Runs one of its two bodies, labelled then and else (If-1 ... If-25)."""

    body_labels = ("then", "else")
    leading_inputs = 1
    meanings = (Condition(0),)

    def infer(self, args: Arguments) -> list[ValueType]:
        return loops.infer_branches(args)


def _require_steady(args: Arguments, body: Body, types: list[ValueType]) -> None:
    """Refuse the body of a Scan that returns a state with another shape than it gets.

    `types` are the types of the body's parameters in the first iteration.

    Raises:
        InferenceError: when there is such a state.
    """
    found = args.infer_body(body, types)
    for port in body.ports.carried:
        before, after = types[port.parameter], found[port.result]
        if not isinstance(before, TensorType) or not isinstance(after, TensorType):
            continue
        if before.shape.refine(after.shape) is None:
            message = "a state of a Scan changes its shape"
            raise args.error(message, str(before.shape), str(after.shape))


def _condition_type(declared: ValueType, initial: ValueType) -> ValueType:
    """Return the type that a body receives for its condition: a tensor with one element.

    Its rank, 0 or 1, is the rank that the body declares, as in ONNX Runtime. If the body declares
    no rank, it is the rank of `initial`. If `initial` has no known rank either, the result is
    `initial`.
    """
    element = initial.element if isinstance(initial, TensorType) else ElementType.BOOLEAN
    for type in (declared, initial):
        if isinstance(type, TensorType) and type.shape.rank is not None:
            return TensorType(element, Shape((1,) if type.shape.rank else ()))
    return initial


def _known(dim: Dim) -> int | None:
    return dim if isinstance(dim, int) else None


def _scan_length(args: Arguments, body: Body, outer: int) -> Dim:
    """The common length of the scanned inputs; `outer` axes precede the scanned axis.

    Raises:
        InferenceError: when two scanned inputs have different lengths.
    """
    length: Dim = UNKNOWN_DIM
    for port in body.ports.inputs:
        if not isinstance(port, ScanInput):
            continue
        shape = args.shape(port.external)
        if shape.dims is None:
            continue
        dim = shape.dims[outer:][loops.normal_axis(port.axis, len(shape.dims) - outer)]
        if isinstance(dim, int) and isinstance(length, int) and dim != length:
            raise args.error("scanned inputs differ in length", str(length), str(dim))
        length = dim if isinstance(dim, int) else length
    return length


def _batch(args: Arguments, body: Body) -> Dim:
    """Return the batch size that states and scanned inputs of a Scan-8 have in common.

    It is unknown if no input has a known batch size.

    Raises:
        InferenceError: when two inputs have different batch sizes.
    """
    batch: Dim = UNKNOWN_DIM
    for port in body.ports.inputs:
        shape = args.shape(port.external)
        if not isinstance(port, Carried | ScanInput) or not shape.dims:
            continue
        dim = shape.dims[0]
        if isinstance(dim, int) and isinstance(batch, int) and dim != batch:
            raise args.error("the inputs differ in their batch size", str(batch), str(dim))
        batch = dim if isinstance(dim, int) else batch
    return batch


def _trips(args: Arguments, body: Body) -> int | None:
    """The trip count of a Loop, or None if it is only known at run time."""
    limit, before = args.ints(0), args.constant(1)
    for position, is_empty in ((0, limit == ()), (1, before is not None and not before.size)):
        if is_empty:
            raise args.error(f"input {position} is empty", "1", "0")
    if limit is not None and limit[0] <= 0:
        return 0
    starts = True if not args.has(1) else None if before is None else bool(before.reshape(-1)[0])
    if starts is False:
        return 0
    goes_on = _condition(args, body, starts)
    if starts is None or goes_on is None:
        return None
    if not goes_on:
        # An unknown trip count may be 0.
        return None if limit is None and args.has(0) else 1
    return None if limit is None or limit[0] == NO_LIMIT else limit[0]


def _condition(args: Arguments, body: Body, starts: bool | None) -> bool | None:
    constant = args.constant_result(body, 0)
    if constant is not None:
        return bool(constant.reshape(-1)[0])
    # If the body returns the condition unchanged, the condition keeps its initial value.
    return starts if keeps_condition(body) else None


def keeps_condition(body: Body) -> bool:
    """Return whether the body of a Loop returns its condition, unchanged or through Identity."""
    value = body.graph.results[0].inputs[0]
    while value is not None and isinstance(value.producer.op, Identity):
        value = value.producer.inputs[0]
    return value in body.graph.inputs[1:2]
