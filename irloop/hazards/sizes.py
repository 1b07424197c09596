"""Finds Abs and Convert operations on sizes that OpenVINO wrongly removes."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Abs
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3, Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.memory import is_copy
from irloop.hazards.sources import sources

__all__ = ["leaves_out_abs", "narrows_a_size"]


def narrows_a_size(node: Node) -> bool:
    """True for a Convert of a size to boolean or a narrow type that another Convert reads."""
    given = node.inputs[0] if isinstance(node.op, Convert) else None
    if given is None or not _is_narrow(element_of(node.output)):
        return False
    if _is_narrow(element_of(given)) or is_copy(given) or not _is_size(given):
        return False
    return any(isinstance(user.op, Convert) for user, _ in node.output.uses)


def leaves_out_abs(node: Node) -> bool:
    """True for an Abs of rank 1 whose operand depends on constants and sizes alone.

    It is also true if the operand depends on more operations than are visited. Each operand of a
    Concat counts by itself. OpenVINO folds an Abs of a constant correctly.
    """
    data = node.inputs[0] if isinstance(node.op, Abs) else None
    if data is None or shape_of(data).rank not in (1, None):
        return False
    if shape_of(data).rank is None and isinstance(data.producer.op, Unsqueeze):
        return False
    parts = data.producer.inputs if isinstance(data.producer.op, Concat) else (data,)
    return any(
        part is not None and not isinstance(part.producer.op, Constant) and _is_known(part.producer)
        for part in parts
    )


def _is_known(node: Node) -> bool:
    """True unless the node is found to depend on a parameter of its graph."""
    return all(
        found.inputs or isinstance(found.op, Constant)
        for found in sources([node], _inputs_unless_a_shape)
    )


def _inputs_unless_a_shape(node: Node) -> Sequence[Value | None]:
    """Return the inputs of a node, or none of a ShapeOf: it reads no elements of its operand."""
    return () if isinstance(node.op, ShapeOf | ShapeOf3) else node.inputs


def _is_narrow(element: ElementType) -> bool:
    """True for types that cannot hold every size."""
    return element is ElementType.BOOLEAN or (element.is_integer and element.bits < 32)


def _is_size(value: Value) -> bool:
    """True for a value that is computed from the shape of another one."""
    return any(isinstance(node.op, ShapeOf | ShapeOf3) for node in sources([value.producer]))
