"""Queries about loops and memory, used by hazards and by the passes that avoid them.

For example: whether a state changes, whether a loop may run zero times, and whether two values may
share memory.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from irloop.dialects.loops import from_front, joined_count, sets_the_count
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.convert import Convert, Identity
from irloop.dialects.openvino.gather import Gather, Gather7, Gather8
from irloop.dialects.openvino.shape import RESHAPING, Transpose
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Carried,
    Concatenated,
    Invariant,
    LastValue,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.types import ElementType, Shape
from irloop.hazards.live_values import is_live
from irloop.hazards.sources import is_computed_from_inputs

__all__ = [
    "VIEWS",
    "changing_states",
    "computes_its_condition",
    "counted_by_unread_ports",
    "dropped_before_iteration",
    "has_one_constant_element",
    "is_computed",
    "is_invariant",
    "is_loop",
    "is_view",
    "may_be_empty",
    "may_not_run",
    "number_of",
    "one_of_several",
    "owner_of",
    "read_inputs",
    "returned_twice",
    "same_memory",
    "same_shape_source",
    "scanned_across",
    "shape_comes_from",
    "taken_over",
    "unread_beside_shared",
]

#: Operations whose output may be in the memory of their input.
VIEWS = (*RESHAPING, Transpose, Convert, Identity)

_LOOPS = (ov.Loop, ov.TensorIterator)

#: Element types of model inputs whose memory the plugin uses without a copy.
_GIVEN_AS_THEY_ARE = frozenset({ElementType.F32, ElementType.I32, ElementType.I8, ElementType.U8})


def is_loop(node: Node) -> bool:
    """True for an OpenVINO Loop or TensorIterator."""
    return isinstance(node.op, _LOOPS)


def owner_of(node: Node) -> tuple[Node, Body] | None:
    """The OpenVINO loop whose body contains `node`, and that body; None outside loops."""
    owner = None if node.graph is None else node.graph.owner
    if owner is None or not is_loop(owner):
        return None
    return owner, next(body for body in owner.bodies if body.graph is node.graph)


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


def one_of_several(value: Value) -> bool:
    """Return whether the node that computes `value` has several outputs."""
    return len(value.producer.outputs) > 1


def taken_over(value: Value) -> bool:
    """Return whether `value` is a model input that OpenVINO's CPU plugin uses without a copy.

    The plugin works directly on the caller's memory for inputs of certain element types.
    """
    return isinstance(value.producer.op, Parameter) and element_of(value) in _GIVEN_AS_THEY_ARE


def is_view(node: Node) -> bool:
    """True when the output of a node may be in the memory of its first input.

    This includes a Gather of the only element of an axis, which the plugin replaces by a reshape.
    """
    if isinstance(node.op, VIEWS):
        return True
    data = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, Gather | Gather7 | Gather8) or data is None:
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
    """True unless it is known that a tensor of this shape has elements."""
    dims = shape.dims
    return dims is None or not all(isinstance(dim, int) and dim > 0 for dim in dims)


def scanned_across(node: Node) -> list[ScanInput | ScanOutput | Concatenated]:
    """Return the ports of a node whose axis may make an engine divide by zero.

    Such an axis is not 0. ONNX Runtime fails when a Scan slices or joins a tensor that may be
    empty. OpenVINO fails when a Loop or TensorIterator joins tensors, and an axis before the joined
    one may be empty; slicing is safe. Axes of the returned ports are non-negative, and tensors of
    unknown rank are left out.
    """
    body, found = next(iter(node.bodies), None), list[ScanInput | ScanOutput | Concatenated]()
    if body is None:
        return found
    ends: list[tuple[ScanInput | ScanOutput | Concatenated, Value | None]] = [
        *[(x, node.inputs[x.external]) for x in body.ports.inputs if isinstance(x, ScanInput)],
        *[
            (x, body.graph.output(x.result))
            for x in body.ports.outputs
            if isinstance(x, ScanOutput | Concatenated)
        ],
    ]
    for port, value in ends:
        shape = Shape(None) if value is None else shape_of(value)
        placed = from_front(port, shape.rank)
        if shape.dims is None or placed.axis <= 0:
            continue
        if isinstance(placed, Concatenated):
            shape = Shape(shape.dims[: placed.axis])
        if may_be_empty(shape):
            found.append(placed)
    return found


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
    """True unless the value is known to be computed from constants alone.

    The operations that lead to the value are visited, up to a limit. Beyond the limit, the result
    is true. The search does not follow a captured value if the body of the loop does not read it.
    """
    return is_computed_from_inputs(value.producer, read_inputs) is not False


def has_one_constant_element(value: Value | None) -> bool:
    """True for a value of one element that is computed from constants alone."""
    if value is None or is_computed(value):
        return False
    dims = shape_of(value).static()
    return dims is not None and all(size == 1 for size in dims)


def returned_twice(node: Node) -> dict[int, int]:
    """Find unchanged body parameters that several outputs of a loop return.

    The parameter is a captured value, or a state that the body does not change. At least one of the
    outputs must return the last value: OpenVINO tries to remove such an output, and crashes.

    Returns a dictionary. Its keys are the positions of the body results that return such a
    parameter. Each value is the number of loop outputs that the body result feeds.
    """
    body = node.body()
    parameters, results = body.graph.inputs, body.graph.outputs
    kept = {
        parameters[port.parameter]
        for port in body.ports.inputs
        if isinstance(port, Invariant)
        or (isinstance(port, Carried) and results[port.result] is parameters[port.parameter])
    }
    places = [port.result for port in body.ports.outputs]
    last = {port.result for port in body.ports.outputs if isinstance(port, LastValue)}
    shared = [at for at in sorted(last) if places.count(at) > 1]
    return {at: places.count(at) for at in shared if results[at] in kept}


def unread_beside_shared(node: Node) -> list[int]:
    """List the positions of unread loop outputs that share a body result with another output.

    An output is unread if nothing depends on it.
    """
    ports = node.body().ports.outputs
    results = [port.result for port in ports]
    return [
        port.external
        for port in ports
        if results.count(port.result) > 1 and not is_live(node.outputs[port.external])
    ]


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


def dropped_before_iteration(node: Node) -> list[int]:
    """Return the positions of removed parameters that precede the iteration number of a loop.

    The positions are those in the body of the loop `node`. OpenVINO removes a body parameter on
    which no model output depends, even if a nested loop or If takes the parameter as an input. Only
    parameters that a nested loop or If takes are listed. For example, let parameter 0 be an input
    of a nested loop whose body does not read it. If parameter 1 is the iteration number, the result
    is [0]. Without an iteration number, the list is empty.
    """
    body = node.body()
    iteration = body.ports.iteration
    if iteration is None:
        return []
    before = enumerate(body.graph.inputs[:iteration])
    return [
        at
        for at, value in before
        if any(user.bodies for user, _ in value.uses) and not is_live(value)
    ]


def may_not_run(node: Node) -> bool:
    """True for a Loop that may run zero iterations."""
    if not isinstance(node.op, ov.Loop):
        return False
    return number_of(node.inputs[0]) in (None, 0) or number_of(node.inputs[1]) in (None, 0)


def computes_its_condition(body: Body) -> bool:
    """Return whether a body may stop a loop.

    It may not if its condition is a constant true, or is returned unchanged.
    """
    if body.ports.condition is None:
        return False
    value = same_memory(body.graph.output(body.ports.condition))
    return not isinstance(value.producer.op, Parameter) and number_of(value) in (None, 0)


def is_invariant(body: Body, value: Value) -> bool:
    """True for a body parameter that has the same outer value in every iteration.

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


def changing_states(node: Node) -> set[Value]:
    """The body parameters of a loop's states whose shape may change between iterations."""
    body = node.body()
    found = set()
    for port in body.ports.carried:
        given, own = node.inputs[port.external], body.graph.input(port.parameter)
        shapes = [shape_of(own), shape_of(body.graph.output(port.result))]
        if given is not None and shape_of(given).is_static:
            # Inference widens the type of the parameter of a state whose shape changes.
            shapes.append(shape_of(given))
        if any(shape != shapes[0] for shape in shapes):
            found.add(own)
    return found


def shape_comes_from(value: Value, sources: AbstractSet[Value]) -> bool:
    """Return whether `value` gets its shape from one of `sources`.

    Follows inputs backwards as long as they have the shape of the operation's output.
    """
    pending, seen = [value], set[Value]()
    while pending:
        found = pending.pop()
        if found in sources:
            return True
        if found in seen:
            continue
        seen.add(found)
        given = [item for item in found.producer.inputs if item is not None]
        pending += [item for item in given if shape_of(item) == shape_of(found)]
    return False
