"""Finds sizes of which OpenVINO knows nothing before the model runs.

OpenVINO infers bounds of sizes: an If that gives 2 or 3 rows has 2 to 3, a Concat with one row at
least 1. A loop that runs zero times gives 0, and the plugin fails if 0 is outside the bounds. It
never knows the size of a model input, and an operation that keeps such a size keeps it unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from irloop.dialects.openvino.gather import Gather, Gather7, Gather8
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf, ShapeOf3, Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Parameter

__all__ = ["is_free_size"]

#: At most so many operations are looked through.
MOST = 32

GATHERS = (Gather, Gather7, Gather8)


def is_free_size(value: Value, axis: int, outer: Mapping[Value, Value], depth: int = MOST) -> bool:
    """Return whether OpenVINO knows no bounds of an unknown size. False if that is not known.

    `outer` has the values that enter loop bodies, by the parameters of the bodies. A parameter that
    is not among them is an input of the model.
    """
    dims, node = shape_of(value).dims, value.producer
    if not depth or dims is None or not -1 < axis < len(dims):
        return False
    dim = dims[axis]
    if isinstance(dim, int):
        return False
    if value in outer:
        return is_free_size(outer[value], axis, outer, depth - 1)
    if isinstance(node.op, Parameter):
        return dim.low == 0 and dim.high is None
    if node.op.elementwise:
        return _all_free(node, axis - len(dims), outer, depth)
    operand = _size_source(node, axis, len(dims))
    if operand is not None:
        return is_free_size(*operand, outer, depth - 1)
    if isinstance(node.op, Broadcast3) and node.op.mode == "numpy":
        return _is_free_number(node.inputs[1], axis, outer, depth - 1)
    return False


def _all_free(node: Node, axis: int, outer: Mapping[Value, Value], depth: int) -> bool:
    """Return whether an elementwise result has a free size at a negative axis.

    It has if each operand has this size or is repeated along the axis.
    """
    found = []
    for operand in node.inputs:
        dims = None if operand is None else shape_of(operand).dims
        if operand is None or dims is None:
            return False
        at = axis + len(dims)
        if at >= 0 and dims[at] != 1:
            found.append(is_free_size(operand, at, outer, depth // 2))
    return bool(found) and all(found)


def _size_source(node: Node, axis: int, rank: int) -> tuple[Value, int] | None:
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
    if isinstance(node.op, GATHERS) and shape_of(second).rank == 0 and node.inputs[2] is not None:
        gathered = _numbers(node.inputs[2], inner)
        return (first, axis + (axis >= gathered[0])) if gathered else None
    return None


def _factor(op: MatMul, factors: tuple[Value, Value], axis: int) -> tuple[Value, int] | None:
    """The matrix, and its axis, that gives a product its size at a negative axis."""
    left, right = (shape_of(factor).rank or 0 for factor in factors)
    if right < 2 or (axis == -2 and left < 2):
        return None
    if axis == -1:
        return factors[1], right - (2 if op.transpose_b else 1)
    return (factors[0], left - (1 if op.transpose_a else 2)) if axis == -2 else None


def _is_free_number(value: Value | None, at: int, outer: Mapping[Value, Value], depth: int) -> bool:
    """Return whether the element `at` of a vector is a size of which OpenVINO knows nothing."""
    node = None if value is None else value.producer
    if node is None or not depth:
        return False
    if isinstance(node.op, Concat):
        for part in node.inputs:
            count = None if part is None else shape_of(part).count()
            if count is None or at < count:
                return count is not None and _is_free_number(part, at, outer, depth - 1)
            at -= count
        return False
    shape = node.inputs[0].producer if isinstance(node.op, GATHERS) and node.inputs[0] else node
    if not isinstance(shape.op, ShapeOf | ShapeOf3) or shape.inputs[0] is None:
        return False
    places = [at] if shape is node else _numbers(node.inputs[1], 1 << 31)
    return at < len(places) and is_free_size(shape.inputs[0], places[at], outer, depth - 1)


def _numbers(value: Value | None, rank: int) -> list[int]:
    """The axes or places in a constant, non-negative; empty if they are not known."""
    if value is None or not isinstance(value.producer.op, Constant):
        return []
    return [int(item) % rank for item in value.producer.op.tensor.numpy().reshape(-1)]
