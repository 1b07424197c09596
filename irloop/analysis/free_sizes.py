"""Finds sizes of which OpenVINO knows nothing before the model runs.

OpenVINO infers bounds of sizes: an If that gives 2 or 3 rows has 2 to 3, a Concat with one row at
least 1. A loop that runs zero times gives 0, and the plugin fails if 0 is outside the bounds. It
never knows the size of a model input, and an operation that keeps such a size keeps it unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from irloop.analysis.operands import integers_in
from irloop.dialects.openvino.gather import GATHERS
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.reduction import Reduction
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf, ShapeOf3, Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Concat, Slice
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Parameter

__all__ = ["Place", "is_free_size", "size_given_by"]

#: At most so many sizes are looked at.
MOST = 64

#: A value and an axis of it.
Place = tuple[Value, int]


def is_free_size(value: Value, axis: int, outer: Mapping[Value, Value]) -> bool:
    """Return whether OpenVINO knows no bounds of an unknown size. False if that is not known.

    `outer` has the values that enter loop bodies, by the parameters of the bodies. A parameter that
    is not among them is an input of the model.
    """
    pending, seen = [(value, axis)], set()
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        origins = _given_by(*place, outer) if len(seen) <= MOST else None
        if origins is None:
            return False
        pending += origins
    return True


def _given_by(value: Value, axis: int, outer: Mapping[Value, Value]) -> list[Place] | None:
    """The sizes that a size is free with; an empty list if it is free, None if it may not be."""
    dims, node = shape_of(value).dims, value.producer
    dim = dims[axis] if dims is not None and -1 < axis < len(dims) else 0
    if isinstance(dim, int) or dims is None:
        return None
    if value in outer:
        return [(outer[value], axis)]
    if isinstance(node.op, Parameter):
        return [] if dim.low == 0 and dim.high is None else None
    if node.op.elementwise:
        return _of_operands(node, axis - len(dims))
    if isinstance(node.op, Broadcast3) and node.op.mode == "numpy":
        return size_given_by(node.inputs[1], axis)
    operand = _size_source(node, axis, len(dims))
    return None if operand is None else [operand]


def _of_operands(node: Node, axis: int) -> list[Place] | None:
    """The sizes along a negative axis of operands that are not repeated along it."""
    sizes = []
    for operand in node.inputs:
        dims = None if operand is None else shape_of(operand).dims
        if operand is None or dims is None:
            return None
        at = axis + len(dims)
        if at >= 0 and dims[at] != 1:
            sizes.append((operand, at))
    return sizes or None


def _size_source(node: Node, axis: int, rank: int) -> Place | None:
    """The operand, and its axis, that gives a result its size at `axis`; `rank` is the result's."""
    first, second = (*node.inputs, None, None)[:2]
    inner = None if first is None else shape_of(first).rank
    if first is None or second is None or inner is None:
        return None
    if isinstance(node.op, MatMul):
        return _factor(node.op, (first, second), axis - rank)
    if isinstance(node.op, (Squeeze, Unsqueeze)):
        moved = _numbers(second, max(rank, inner))
        if not moved:
            return None
        stay = [at for at in range(max(rank, inner)) if at not in moved]
        at = stay[axis] if rank < inner else stay.index(axis) if axis in stay else inner
        return first, at
    if isinstance(node.op, Reduction):
        reduced = _numbers(second, inner)
        stay = [at for at in range(inner) if node.op.keep_dims or at not in reduced]
        return (first, stay[axis]) if reduced else None
    if isinstance(node.op, GATHERS) and shape_of(second).rank == 0 and node.inputs[2] is not None:
        gathered = _numbers(node.inputs[2], inner)
        return (first, axis + (axis >= gathered[0])) if gathered else None
    return None


def _factor(op: MatMul, factors: tuple[Value, Value], axis: int) -> Place | None:
    """The matrix, and its axis, that gives a product its size at a negative axis."""
    left, right = (shape_of(factor).rank or 0 for factor in factors)
    if right < 2 or (axis == -2 and left < 2):
        return None
    if axis == -1:
        return factors[1], right - (2 if op.transpose_b else 1)
    return (factors[0], left - (1 if op.transpose_a else 2)) if axis == -2 else None


def size_given_by(value: Value | None, index: int) -> list[Place] | None:
    """The size that an element of a vector is, as a list; None if it is something else."""
    if value is None:
        return None
    if isinstance(value.producer.op, Concat):
        return size_given_by(*_part(value.producer, index))
    # The first element of a Slice is the one at its start, like that of a Gather at its index.
    picked = value.producer if isinstance(value.producer.op, (*GATHERS, Slice)) else None
    vector = value if picked is None else picked.inputs[0]
    shape = None if vector is None else vector.producer
    if shape is None or not isinstance(shape.op, ShapeOf | ShapeOf3) or shape.inputs[0] is None:
        return None
    if picked is None:
        return [(shape.inputs[0], index)]
    places = _numbers(picked.inputs[1], shape_of(shape.inputs[0]).rank or 1)
    return [(shape.inputs[0], places[index])] if index < len(places) else None


def _part(node: Node, index: int) -> tuple[Value | None, int]:
    """The operand of a Concat of vectors that has the element `index`, and its place there."""
    for part in node.inputs:
        count = None if part is None else shape_of(part).count()
        if count is None:
            break
        if index < count:
            return part, index
        index -= count
    return None, 0


def _numbers(value: Value | None, rank: int) -> list[int]:
    """The axes or places in a constant, non-negative, without those out of bounds."""
    return [number % rank for number in integers_in(value) if -rank <= number < rank]
