"""Finds values in a loop body that share memory in OpenVINO's CPU plugin and may be overwritten.

Faults use these functions to find their patterns. The conversion and the pass `body_barriers` use
them to decide where copies are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from irloop.analysis.patterns import is_view, number_of, same_memory
from irloop.analysis.sources import MOST, is_computed_from_inputs, sources
from irloop.dialects.openvino import (
    activation,
    comparison,
    control_flow,
    convolution,
    elementwise,
    gather,
    matmul,
    normalization,
    padding,
    recurrent,
    reduction,
    scatter,
    search,
    shape,
    slicing,
)
from irloop.dialects.openvino.convert import Convert
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Invariant
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Result
from irloop.graph.types import ElementType
from irloop.graph.walk import reached

__all__ = [
    "IN_PLACE",
    "MOVES",
    "OWN_MEMORY",
    "begins_in_place",
    "has_one_source",
    "is_copy",
    "is_kept",
    "is_overwritten",
    "joins_in_place",
    "may_share",
    "moving",
    "needs_barrier",
    "readers_of",
    "shares_memory_with",
]

#: Operations that always compute into their own memory; others may work in place.
OWN_MEMORY = (
    matmul.MatMul,
    convolution.Convolution,
    convolution.GroupConvolution,
    recurrent.LSTMCell,
    recurrent.LSTMCell1,
    recurrent.GRUCell,
    recurrent.RNNCell,
    *recurrent.SEQUENCES,
    recurrent.LSTMSequence1,
    control_flow.Loop,
    control_flow.TensorIterator,
    control_flow.If,
    reduction.ReduceSum,
    reduction.ReduceMean,
    reduction.ReduceMax,
    reduction.ReduceMin,
    reduction.ReduceProd,
)

#: Operations that write into the memory of their first input if nothing else reads it.
IN_PLACE = (
    activation.SoftMax1,
    activation.SoftMax8,
    activation.LogSoftmax,
    activation.GRN,
    normalization.MVN1,
    normalization.MVN2,
    normalization.MVN6,
    scatter.ScatterUpdate,
    scatter.ScatterElementsUpdate,
    scatter.ScatterElementsUpdate12,
    scatter.ScatterNDUpdate,
    scatter.ScatterNDUpdate15,
    slicing.SliceScatter,
)

#: Operations that only their first operand may lend its memory to, see `is_kept`.
_FIRST_IN_PLACE = (
    elementwise.Add,
    elementwise.Maximum,
    elementwise.Minimum,
    elementwise.Multiply,
)

#: Operations that copy elements into memory of their own, or that OpenVINO removes because they
#: have no effect.
MOVES = (
    shape.Broadcast,
    shape.Broadcast3,
    shape.ShapeOf,
    shape.ShapeOf3,
    shape.Tile,
    slicing.Concat,
    slicing.Slice,
    slicing.Split,
    slicing.StridedSlice,
    slicing.VariadicSplit,
    gather.Gather,
    gather.Gather7,
    gather.Gather8,
    gather.GatherElements,
    gather.GatherND,
    gather.GatherND8,
    search.NonZero,
    search.TopK,
    search.TopK3,
    search.TopK11,
    padding.Pad,
    padding.Pad12,
)


def needs_barrier(
    value: Value, own: Value, parameters: AbstractSet[Value], moving: AbstractSet[Value]
) -> bool:
    """Return whether the next value of a state must be copied.

    `value` is the next value, and `own` is the body parameter of the state. `parameters` are all
    parameters of the body. `moving` are the parameters whose memory the next iteration overwrites.
    """
    if is_copy(value):
        return False
    return same_memory(value) in parameters - {own} or may_share(value, moving - {own})


def moving(body: Body) -> set[Value]:
    """The parameters whose memory the next iteration overwrites: all but the invariants."""
    ports = [port for port in body.ports.inputs if not isinstance(port, Invariant)]
    parameters = {body.graph.input(port.parameter) for port in ports}
    if body.ports.iteration is not None:
        parameters.add(body.graph.input(body.ports.iteration))
    return parameters


def shares_memory_with(value: Value, parameters: AbstractSet[Value]) -> bool:
    """Return whether a concatenated value shares its memory with one of these parameters.

    Such a value must be copied. The memory of states, slices and the iteration number is
    overwritten before the value is concatenated; for invariants the copy is only a precaution.
    """
    return same_memory(value) in parameters


def is_overwritten(value: Value, *, viewed: bool = False) -> bool:
    """Return whether the body may overwrite the memory of a captured value.

    `viewed` means that `value` is not the captured value itself, but a view of it.
    """
    pending = [(value, viewed)]
    seen: set[tuple[Value, bool]] = set()
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        value, viewed = place
        for user, position in value.uses:
            if isinstance(user.op, (Result, *OWN_MEMORY)) or _is_plain_copy(user):
                continue
            if isinstance(user.op, IN_PLACE) and position == 0:
                return True
            if begins_in_place(user, value):
                return True
            if is_kept(user, position):
                continue
            if joins_in_place(user):
                pending.append((user.output, True))
            elif is_view(user) and not (position and isinstance(user.op, MOVES)):
                pending += [(output, True) for output in user.outputs]
            elif viewed and not isinstance(user.op, MOVES):
                return True
            elif has_one_source(user):
                # OpenVINO may remove an operation that only moves elements; then a view of its
                # input remains.
                still_viewed = viewed and _may_keep_all(user)
                pending += [(output, still_viewed) for output in user.outputs]
    return False


def is_kept(node: Node, position: int) -> bool:
    """Return whether a sum, product, maximum or minimum surely leaves an operand as it is.

    The plugin computes an elementwise operation in the memory of its first operand, never of its
    second; and so it does with several in one, as measured with OpenVINO 2026.4. If the first
    operand is constant, the second one takes its place; if one of the operands is computed
    elementwise or both from the same value, they may be part of another operation.
    """
    if position != 1 or not isinstance(node.op, _FIRST_IN_PLACE) or None in node.inputs:
        return False
    first, second = (value for value in node.inputs if value is not None)
    if second.producer.op.elementwise and not is_view(second.producer):
        return False
    found = [*sources([first.producer])]
    if len(found) > MOST or same_memory(second).producer in found:
        return False
    return bool(is_computed_from_inputs(first.producer, _inputs_unless_a_known_shape))


def _may_keep_all(node: Node) -> bool:
    """Return whether the first input and the first output may have the same shape."""
    data = node.inputs[0]
    if data is None:
        return False
    before, after = shape_of(data), shape_of(node.outputs[0])
    return before == after or not (before.is_static and after.is_static)


def joins_in_place(node: Node) -> bool:
    """Return whether OpenVINO's CPU plugin may put the inputs of a Concat into its output.

    The inputs then have no memory of their own, so that nothing is copied, as measured with
    OpenVINO 2026.4. All axes in front of the joined one must have size 1, or a size that is not
    known.
    """
    if not isinstance(node.op, slicing.Concat):
        return False
    dims = shape_of(node.output).dims
    return dims is None or _is_outermost(node.op.axis, dims)


def _splits_in_place(node: Node) -> bool:
    """Return whether `node` is a split whose outputs may lie in the memory of its input.

    All axes in front of the split axis must have size 1, or a size that is not known. If the axis
    or the rank is not known, the result is True.
    """
    if not isinstance(node.op, slicing.Split | slicing.VariadicSplit):
        return False
    data, axis = node.inputs[0], number_of(node.inputs[1])
    dims = None if data is None else shape_of(data).dims
    return dims is None or axis is None or _is_outermost(axis, dims)


def _is_outermost(axis: int, dims: Sequence[object]) -> bool:
    """Return whether each axis in front of `axis` has size 1, or a size that is not known."""
    before = dims[: axis % len(dims)] if dims else ()
    return all(dim == 1 or not isinstance(dim, int) for dim in before)


def begins_in_place(node: Node, value: Value) -> bool:
    """Return whether `node` is the first operation of a pattern that is computed in place.

    The patterns are a decomposed softmax, normalisation or rotation of `value`. With x for `value`,
    the first operation is x - mean(x), x - max(x), an exp(x) that a ReduceSum reads, or a Slice or
    VariadicSplit that returns halves of x. OpenVINO's CPU plugin replaces the pattern by one
    operation (MVN, SoftMax or rotary position embedding), which it computes in place.
    """
    if isinstance(node.op, slicing.VariadicSplit | slicing.Slice) and node.inputs[0] is value:
        return any(_is_rotated(half) for half in node.outputs)
    if isinstance(node.op, elementwise.Exp):
        return any(isinstance(user.op, reduction.ReduceSum) for user, _ in node.output.uses)
    if not isinstance(node.op, elementwise.Subtract) or node.inputs[0] is not value:
        return False
    other = None if node.inputs[1] is None else node.inputs[1].producer
    if other is None or not isinstance(other.op, reduction.ReduceMean | reduction.ReduceMax):
        return False
    return other.inputs[0] is value


def _is_rotated(half: Value) -> bool:
    """Return whether a Concat reads a difference in which one operand is a product of `half`.

    For example, Concat(x1 * cos - x2 * sin, ...) in a rotary position embedding, where x1 and x2
    are the halves.
    """
    products = [user for user, _ in half.uses if isinstance(user.op, elementwise.Multiply)]
    sums = [user for product in products for user, _ in product.output.uses]
    turned = [item for item in sums if isinstance(item.op, elementwise.Subtract)]
    return any(
        isinstance(user.op, slicing.Concat) for item in turned for user, _ in item.output.uses
    )


def has_one_source(node: Node) -> bool:
    """Return whether at most one input of a node is computed from parameters.

    OpenVINO folds the other inputs to constants. It may then remove the node, for example an Add of
    a constant 0.
    """
    given = [value.producer for value in node.inputs if value is not None]
    varying = [
        item for item in given if is_computed_from_inputs(item, _inputs_unless_a_known_shape)
    ]
    return len(varying) <= 1


def _inputs_unless_a_known_shape(node: Node) -> Sequence[Value | None]:
    data = node.inputs[0] if isinstance(node.op, shape.ShapeOf | shape.ShapeOf3) else None
    return () if data is not None and shape_of(data).is_static else node.inputs


def is_copy(value: Value) -> bool:
    """Return whether `value` is a copy: the maximum or the LogicalOr of a value with itself.

    A Convert of a copy counts as a copy, too: 8-bit floats are copied as f32.
    """
    node = value.producer
    while isinstance(node.op, Convert) and node.inputs[0] is not None:
        node = node.inputs[0].producer
    return _is_plain_copy(node)


def readers_of(value: Value) -> set[Node]:
    """The nodes that read a loop output, also through Transposes and copies after the loop."""

    def moved(value: Value) -> list[Value]:
        return [user.outputs[0] for user, _ in value.uses if _only_moves(user)]

    users = (user for one in reached([value], moved) for user, _ in one.uses)
    return {user for user in users if not _only_moves(user)}


def _only_moves(node: Node) -> bool:
    return isinstance(node.op, shape.Transpose) or _is_plain_copy(node)


def _is_plain_copy(node: Node) -> bool:
    kinds = (comparison.LogicalOr, elementwise.Maximum)
    return isinstance(node.op, kinds) and node.inputs[0] is node.inputs[1]


def may_share(value: Value, moving: AbstractSet[Value]) -> bool:
    """Return whether `value` may be computed in the memory of a parameter in `moving`.

    `moving` holds the loop parameters whose memory OpenVINO's CPU plugin overwrites for the next
    iteration. The plugin may compute a value in the memory of a parameter if the path from the
    parameter to the value contains a view, such as a Reshape, or a Concat or split that copies
    nothing, as measured with OpenVINO 2026.4, and both have one type in the plugin. Then the value
    can be lost: the plugin copies the next slice into this memory before it copies the value along
    its back edge.
    """

    def onward(item: tuple[Value, bool]) -> Iterator[tuple[Value, bool]]:
        current, viewed = item
        node = current.producer
        if isinstance(node.op, OWN_MEMORY):
            return
        is_part = joins_in_place(node) or _splits_in_place(node)
        for position, one in enumerate(node.inputs):
            if one is None or is_kept(node, position):
                continue
            if is_part or _may_be_as_large(one, current):
                is_seen = is_part or (is_view(node) and _kind(one) == _kind(current))
                yield one, viewed or is_seen

    return any(
        viewed and one in moving and _kind(one) == _kind(value)
        for one, viewed in reached([(value, False)], onward)
    )


def _kind(value: Value) -> str:
    """The type in which the plugin has a value; only values of one type may share memory."""
    element = element_of(value)
    if element.is_integer:
        return "integer" if element.bits > 8 else str(element)
    return "u8" if element is ElementType.BOOLEAN else "float"


def _may_be_as_large(operand: Value, result: Value) -> bool:
    """Return whether an operation may compute `result` in place of `operand`, by their sizes."""
    before, after = shape_of(operand).count(), shape_of(result).count()
    return before is None or after is None or before == after
