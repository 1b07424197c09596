"""Queries about loops and memory, used by faults and by the passes that avoid them.

For example: whether a state changes, whether a loop may run zero times, and whether two values may
share memory.
"""

from __future__ import annotations

from irloop.analysis.live_values import is_live
from irloop.analysis.sources import is_computed_from_inputs
from irloop.dialects.loops import from_front, joined_count, sets_the_count
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.convert import Convert, Identity
from irloop.dialects.openvino.gather import GATHERS
from irloop.dialects.openvino.shape import RESHAPING, Transpose
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    OutputPort,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.types import ElementType, Shape
from irloop.graph.walk import body_around

__all__ = [
    "VIEWS",
    "across",
    "counted_by_unread_ports",
    "has_one_constant_element",
    "is_computed",
    "is_in_iterator",
    "is_invariant",
    "is_loop",
    "is_view",
    "loop_around",
    "may_be_empty",
    "number_of",
    "read_inputs",
    "same_memory",
    "same_shape_source",
    "scanned_across",
    "taken_over",
]

#: Operations whose output may be in the memory of their input.
VIEWS = (*RESHAPING, Transpose, Convert, Identity)

_LOOPS = (ov.Loop, ov.TensorIterator)

#: Element types of model inputs whose memory the plugin uses without a copy.
_GIVEN_AS_THEY_ARE = frozenset({ElementType.F32, ElementType.I32, ElementType.I8, ElementType.U8})


def is_loop(node: Node) -> bool:
    """Return whether `node` is an OpenVINO Loop or TensorIterator."""
    return isinstance(node.op, _LOOPS)


def loop_around(node: Node) -> tuple[Node, Body] | None:
    """The OpenVINO loop whose body contains `node`, and that body; None outside loops."""
    around = body_around(node)
    return around if around is not None and is_loop(around[0]) else None


def is_in_iterator(node: Node) -> bool:
    """Return whether a node is directly in the body of a TensorIterator."""
    return node.owner is not None and isinstance(node.owner.op, ov.TensorIterator)


def same_memory(value: Value) -> Value:
    """Follow views such as reshapes back from `value`, to the value whose memory it may share."""
    while is_view(value.producer) and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return value


def same_shape_source(value: Value) -> Value:
    """Follow elementwise operations back from `value`, to the value from which it has its shape.

    Operations are followed if they read one value and otherwise only values of one element.
    """
    while value.producer.op.elementwise:
        # A one-element operand does not change the shape, but another operand might.
        given = [item for item in value.producer.inputs if item is not None]
        wide = {item for item in given if shape_of(item).count() != 1}
        if len(wide) != 1:
            break
        (operand,) = wide
        if shape_of(operand) != shape_of(value):
            break
        value = operand
    return value


def taken_over(value: Value) -> bool:
    """Return whether `value` is a model input that OpenVINO's CPU plugin uses without a copy.

    The plugin works directly on the caller's memory for inputs of certain element types.
    """
    return isinstance(value.producer.op, Parameter) and element_of(value) in _GIVEN_AS_THEY_ARE


def is_view(node: Node) -> bool:
    """Return whether the output of a node may be in the memory of its first input.

    This includes a Gather of the only element of an axis, which the plugin replaces by a reshape.
    """
    if isinstance(node.op, VIEWS):
        return True
    data = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, GATHERS) or data is None:
        return False
    dims, axis = shape_of(data).dims, number_of(node.inputs[2])
    if dims is None or axis is None:
        return True
    if not -len(dims) <= axis < len(dims):
        return True
    return dims[axis] == 1 or not isinstance(dims[axis], int)


def number_of(value: Value | None) -> int | None:
    """The number in a constant with one element; None for anything else."""
    if value is None or not isinstance(value.producer.op, Constant):
        return None
    tensor = value.producer.op.tensor
    if tensor.count != 1:
        return None
    signed = tensor.element.is_integer and str(tensor.element).startswith("i")
    return int.from_bytes(bytes(tensor.raw()), "little", signed=signed)


def may_be_empty(shape: Shape) -> bool:
    """Return whether it is not known that a tensor of this shape has elements."""
    dims = shape.dims
    return dims is None or not all(isinstance(dim, int) and dim > 0 for dim in dims)


def scanned_across(node: Node) -> list[ScanInput | ScanOutput | Concatenated]:
    """Return the ports of a node that work `across`; their axes are non-negative."""
    body = next(iter(node.bodies), None)
    if body is None:
        return []
    inputs = [(port, node.inputs[port.external]) for port in body.ports.inputs]
    outputs = [(port, body.graph.output(port.result)) for port in body.ports.outputs]
    return [
        from_front(port, shape_of(value).rank)
        for port, value in (*inputs, *outputs)
        if value is not None
        and isinstance(port, ScanInput | ScanOutput | Concatenated)
        and across(port, value)
    ]


def across(port: InputPort | OutputPort, value: Value) -> bool:
    """Return whether a port has an axis that may make an engine divide by zero.

    Such an axis is not 0. ONNX Runtime fails when a Scan slices or joins a tensor that may be
    empty. OpenVINO fails when a Loop or TensorIterator joins tensors, and an axis before the joined
    one may be empty; slicing is safe. `value` is what is sliced or joined; its rank must be known.
    """
    shape = shape_of(value)
    placed = from_front(port, shape.rank)
    if not isinstance(placed, ScanInput | ScanOutput | Concatenated) or placed.axis <= 0:
        return False
    if isinstance(placed, Concatenated):
        shape = Shape((shape.dims or ())[: placed.axis])
    return shape.dims is not None and may_be_empty(shape)


def read_inputs(node: Node) -> list[Value]:
    """Return the inputs that a node still has after OpenVINO has simplified the node.

    OpenVINO removes an input of a loop if it is the same in each iteration and nothing in the body
    reads it.
    """
    given = [(at, value) for at, value in enumerate(node.inputs) if value is not None]
    if not is_loop(node) and not isinstance(node.op, onnx.Loop | onnx.Scan | onnx.Scan8):
        return [value for _, value in given]
    body = node.body()
    unread = {
        port.external
        for port in body.ports.inputs
        if isinstance(port, Invariant) and not body.graph.input(port.parameter).is_used
    }
    unread -= {port.external for port in body.ports.inputs if port.external not in unread}
    if isinstance(node.op, ov.Loop | onnx.Loop):
        unread -= {0, 1}
    return [value for at, value in given if at not in unread]


def is_computed(value: Value) -> bool:
    """Return whether the value is not known to be computed from constants alone.

    The operations that lead to the value are visited, up to a limit. Beyond the limit, the result
    is true. The search does not follow a captured value if the body of the loop does not read it.
    """
    return is_computed_from_inputs(value.producer, read_inputs) is not False


def has_one_constant_element(value: Value | None) -> bool:
    """Return whether `value` has one element and is computed from constants alone."""
    if value is None or is_computed(value):
        return False
    dims = shape_of(value).static()
    return dims is not None and all(size == 1 for size in dims)


def counted_by_unread_ports(node: Node) -> list[Sliced] | list[Concatenated]:
    """Return the ports that set the trip count of a TensorIterator if OpenVINO removes all of them.

    These are its slices, or the concatenated output whose range counts. OpenVINO removes a slice or
    an output on which no output of the model depends, and then the body runs once. The list is
    empty if one of them stays, or if the body runs once anyway.
    """
    if not isinstance(node.op, ov.TensorIterator):
        return []
    body = node.body()
    slices = [port for port in body.ports.inputs if isinstance(port, Sliced)]
    if slices:
        read = (body.graph.input(port.parameter) for port in slices)
        return [] if any(is_live(value, sizes_count=False) for value in read) else slices
    joined = [port for port in body.ports.outputs if isinstance(port, Concatenated)]
    joined = [port for port in joined if sets_the_count(port)]
    if joined_count(body.ports) == 1 or any(is_live(node.outputs[x.external]) for x in joined):
        return []
    return joined


def is_invariant(body: Body, value: Value) -> bool:
    """Return whether a body parameter has the same outer value in every iteration.

    This includes a state that the body returns unchanged: OpenVINO turns it into an invariant.
    """
    for port in body.ports.inputs:
        if body.graph.input(port.parameter) is not value:
            continue
        if isinstance(port, Invariant):
            return True
        if isinstance(port, Carried) and body.graph.output(port.result) is value:
            return True
    return False
