"""Type inference for loops and branches, shared by both dialects.

OpenVINO infers a TensorIterator's body only once, so it reports a growing state with the shape of
the first iteration. Here the states of every loop are widened until nothing changes, as OpenVINO
does for Loop (operation specifications Loop-5, TensorIterator-1, If-8; ONNX Loop, Scan, If).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from irloop.graph.arguments import Arguments
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Body
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    UNKNOWN_TYPE,
    Dim,
    ElementType,
    Shape,
    TensorType,
    ValueType,
    widen_types,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "counting_output",
    "from_front",
    "infer_branches",
    "infer_loop",
    "is_consistent",
    "joined_count",
    "normal_axis",
    "overlaps",
    "parameter_types",
    "sets_the_count",
    "sliced_count",
]

Port = TypeVar("Port", bound=InputPort | OutputPort)


def normal_axis(axis: int, rank: int | None) -> int:
    """`axis` as a non-negative axis; unchanged if the rank is unknown."""
    return axis + rank if axis < 0 and rank is not None else axis


def from_front(port: Port, rank: int | None) -> Port:
    """Make the negative axis of a port non-negative.

    `rank` is the rank of the outer tensor for an input, or of the body result for an output. If it
    is unknown, a negative axis is kept.
    """
    if not isinstance(port, Sliced | ScanInput | Concatenated | ScanOutput) or port.axis >= 0:
        return port
    if rank is None:
        return port
    if isinstance(port, ScanOutput):
        rank += 1
    elif isinstance(port, Concatenated):
        rank = max(rank, 1)  # scalars are concatenated to a vector
    return replace(port, axis=port.axis + rank)


def is_consistent(port: Sliced) -> bool:
    """Return whether the slice length equals the absolute value of the stride.

    OpenVINO infers shapes from `part_size` but slices by `stride`. If they differ, it refuses the
    model or reads different elements than intended.
    """
    return port.part_size == abs(port.stride)


def overlaps(port: Sliced) -> bool:
    """Return whether slices are longer than the steps between them, which has no meaning.

    Slices may be shorter: then the elements between them are skipped, as the specification of
    TensorIterator says, which has a stride, but no part_size.
    """
    return port.part_size > abs(port.stride)


def sliced_count(port: Sliced | Concatenated, size: int) -> int | None:
    """The trip count that `port` demands on an axis of `size` elements; None for an invalid range.

    As in OpenVINO, a negative bound v means size + 1 + v; the range is half open, and its length
    must be a positive multiple of the stride. On an axis without elements there are no iterations,
    which OpenVINO refuses.
    """
    first, second = (size + 1 + v if v < 0 else v for v in (port.start, port.end))
    low, high = (first, second) if port.stride > 0 else (second, first)
    step = abs(port.stride)
    if step == 0 or not 0 <= low <= high <= size or (high - low) % step:
        return None
    return (high - low) // step if low < high or size == 0 else None


def sets_the_count(port: InputPort | OutputPort) -> bool:
    """Return whether the range of an output sets the trip count of a TensorIterator without slices.

    Only a range with non-negative bounds has a known length.
    """
    return isinstance(port, Concatenated) and port.start >= 0 and port.end >= 0


def counting_output(ports: PortMap) -> Concatenated | None:
    """Return the output whose range is the trip count of a TensorIterator; None if there is none.

    A TensorIterator that slices an input takes its trip count from the slices.
    """
    if any(isinstance(port, Sliced) for port in ports.inputs):
        return None
    joined = (port for port in ports.outputs if isinstance(port, Concatenated))
    return next(filter(sets_the_count, joined), None)


def joined_count(ports: PortMap) -> int | None:
    """Return the trip count of a TensorIterator without slices; None for an invalid range."""
    port = counting_output(ports)
    if port is None:
        return 1
    length, step = abs(port.end - port.start), abs(port.stride)
    return None if step == 0 or length == 0 or length % step else length // step


def parameter_types(
    args: Arguments, body: Body, *, keep_element: bool = False, outer: int = 0
) -> list[ValueType]:
    """Types of the body's parameters in the first iteration.

    `keep_element` keeps the element types that the parameters declare (a TensorIterator converts
    the values that it copies into its body). `outer` is the number of leading axes that carried and
    scanned inputs have only outside the body.
    """
    types = []
    for index, value in enumerate(body.graph.inputs):
        port = body.ports.by_parameter.get(index)
        if port is None or not args.has(port.external):
            types.append(value.type)
            continue
        type = args.type(port.external)
        if isinstance(type, TensorType):
            shape = type.shape
            if not isinstance(port, Invariant) and outer and shape.dims is not None:
                shape = Shape(shape.dims[outer:])
            shape = _seen_shape(args, port, shape)
            element = type.element
            declared = value.type.element if isinstance(value.type, TensorType) else element
            if keep_element and declared is not ElementType.DYNAMIC:
                element = declared
            type = TensorType(element, shape)
        types.append(type)
    return types


def _seen_shape(
    args: Arguments, port: Invariant | Carried | Sliced | ScanInput, shape: Shape
) -> Shape:
    if shape.dims is None or not isinstance(port, Sliced | ScanInput):
        return shape
    rank = len(shape.dims)
    axis = normal_axis(port.axis, rank)
    if not 0 <= axis < rank:
        raise args.error(
            f"input {port.external} has no axis {port.axis} to slice", f"rank > {axis}", str(shape)
        )
    if isinstance(port, Sliced):
        return shape.with_dim(axis, port.part_size)
    return Shape(shape.dims[:axis] + shape.dims[axis + 1 :])


def infer_loop(
    args: Arguments,
    types: list[ValueType],
    count_of: Callable[[Body], int | None],
    *,
    keep_element: bool = False,
    steady: Collection[int] = (),
) -> list[ValueType]:
    """Infer the output types of a loop; `types` are those of the body parameters in iteration 0.

    `count_of` returns the trip count if it is known; it is called after the body was inferred once,
    because a constant condition in the body may decide the count. Parameters in `steady` keep their
    type, whatever type the back edge carries to them.
    """
    (body,) = args.bodies
    constants = _invariant_constants(args, body)
    initial = list(types)
    results = args.infer_body(body, types, constants)
    count = count_of(body)
    for _ in range(64):
        if count is not None and count <= 1:
            break
        widened = _next_types(body, types, results, keep_element)
        for at in steady:
            widened[at] = types[at]
        if widened == types:
            break
        types = widened
        results = args.infer_body(body, types, constants)
        count = count_of(body)
    return _output_types(args, body, initial, results, count)


def _next_types(
    body: Body, types: list[ValueType], results: list[ValueType], keep_element: bool
) -> list[ValueType]:
    widened = list(types)
    for port in body.ports.carried:
        old, new = types[port.parameter], results[port.result]
        if isinstance(old, TensorType) and isinstance(new, TensorType):
            # A state keeps its element type; a result of another type is converted back.
            new = TensorType(old.element, new.shape)
        widened[port.parameter] = widen_types(old, new)
    return widened


def _invariant_constants(args: Arguments, body: Body) -> dict[int, Array]:
    constants = {}
    for port in body.ports.inputs:
        value = args.constant(port.external) if isinstance(port, Invariant) else None
        if value is not None:
            constants[port.parameter] = value
    return constants


def _output_types(
    args: Arguments,
    body: Body,
    initial: list[ValueType],
    results: list[ValueType],
    count: int | None,
) -> list[ValueType]:
    outputs: list[ValueType] = [UNKNOWN_TYPE] * args.n_outputs
    start = {port.result: initial[port.parameter] for port in body.ports.carried}
    for port in body.ports.outputs:
        result = results[port.result]
        if isinstance(port, LastValue):
            before = start.get(port.result)
            if before is not None and count == 0:
                result = before
            elif before is not None and count is None:
                result = widen_types(before, result)
            outputs[port.external] = result
        elif isinstance(result, TensorType):
            outputs[port.external] = TensorType(
                result.element, _joined_shape(args, port, result.shape, count)
            )
    return outputs


def _joined_shape(
    args: Arguments, port: Concatenated | ScanOutput, shape: Shape, count: int | None
) -> Shape:
    if shape.dims is None:
        return UNKNOWN_SHAPE
    rank = len(shape.dims)
    axis = from_front(port, rank).axis
    if not 0 <= axis < (rank + 1 if isinstance(port, ScanOutput) else max(rank, 1)):
        raise args.error(
            f"output {port.external} has no axis {port.axis} along which the iterations can be "
            "concatenated",
            f"an axis of a body result of rank {rank}",
            str(shape),
        )
    length: Dim = UNKNOWN_DIM if count is None else count
    if isinstance(port, ScanOutput):
        return Shape((*shape.dims[:axis], length, *shape.dims[axis:]))
    if rank == 0:
        return Shape((length,))
    part = shape.dims[axis]
    joined = part * count if isinstance(part, int) and count is not None else UNKNOWN_DIM
    return shape.with_dim(axis, joined)


def infer_branches(
    args: Arguments, widen: Callable[[ValueType, ValueType], ValueType] = widen_types
) -> list[ValueType]:
    """Return the output types of an If.

    If the condition is constant, these are the types of the branch that it selects. Otherwise
    `widen` returns, for each output, a type that covers the types in both branches.
    """
    condition = args.constant(0)
    if condition is None or condition.size != 1:
        left, right = (_infer_branch(args, body) for body in args.bodies)
        return [widen(*pair) for pair in zip(left, right, strict=True)]
    taken = "then" if bool(condition.reshape(-1)[0]) else "else"
    types: list[ValueType] = []
    for body in args.bodies:
        if body.label == taken:
            types = _infer_branch(args, body)
            continue
        # Shape errors in a branch that is not taken do not matter.
        with args.errors_ignored():
            _infer_branch(args, body)
    return types


def _infer_branch(args: Arguments, body: Body) -> list[ValueType]:
    types = parameter_types(args, body)
    results = args.infer_body(body, types, _invariant_constants(args, body))
    outputs: list[ValueType] = [UNKNOWN_TYPE] * args.n_outputs
    for port in body.ports.outputs:
        outputs[port.external] = results[port.result]
    return outputs
