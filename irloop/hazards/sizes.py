"""Finds operations that OpenVINO wrongly removes: Abs and Convert of sizes."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Abs
from irloop.dialects.openvino.search import CumSum
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3, Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.shared_memory import is_copy
from irloop.hazards.sources import is_computed_from_inputs, sources

__all__ = ["is_running_sum", "leaves_out_abs", "narrows_a_size", "narrows_a_size_with_sign"]

_SIGNED = frozenset({ElementType.I4, ElementType.I8, ElementType.I16})


def narrows_a_size(node: Node) -> bool:
    """True if `node` converts a size to a narrow type, and another Convert reads the result.

    A size is a value computed from a ShapeOf. Narrow types are boolean and integers of less than 32
    bits; the size itself has a wider type. The result is False if the size is a copy (see `is_copy`
    and `is_running_sum`).
    """
    given = _narrowed(node)
    if given is None or is_copy(given) or is_running_sum(given) or not _is_size(given):
        return False
    return any(isinstance(user.op, Convert) for user, _ in node.output.uses)


def narrows_a_size_with_sign(node: Node) -> bool:
    """True if `node` converts a size to a narrow signed type, and OpenVINO may bound that size.

    The result is false if the Convert reads a running sum (see `is_running_sum`), because OpenVINO
    does not compute bounds through it.
    """
    given = _narrowed(node)
    if given is None or is_running_sum(given) or element_of(node.output) not in _SIGNED:
        return False
    return _is_size(given)


def is_running_sum(value: Value) -> bool:
    """Return whether `value` is a Squeeze of a CumSum.

    Conversion inserts these two to copy a size: a CumSum along an axis of size 1 changes nothing,
    and OpenVINO does not compute bounds through it.
    """
    node = value.producer
    if not isinstance(node.op, Squeeze) or node.inputs[0] is None:
        return False
    return isinstance(node.inputs[0].producer.op, CumSum)


def _narrowed(node: Node) -> Value | None:
    """Return the input of `node` if it is a Convert to a narrow type, else None.

    Narrow types are boolean and integers of fewer than 32 bits: they cannot hold every size. The
    result is also None if the input already has a narrow type.
    """
    given = node.inputs[0] if isinstance(node.op, Convert) else None
    if given is None or _is_narrow(element_of(given)) or not _is_narrow(element_of(node.output)):
        return None
    return given


def leaves_out_abs(node: Node) -> bool:
    """Return whether `node` is an Abs that OpenVINO would wrongly remove.

    OpenVINO assumes that a vector computed from constants and shapes alone holds sizes, which are
    not negative. An Abs of such a vector is removed, and so is an Abs of a Concat with one such
    operand. An operand of unknown rank counts as a vector, unless it is the result of an Unsqueeze.

    The Abs of a Constant stays correct, because OpenVINO folds it. If the graph is too large to
    search, the result is True.
    """
    data = node.inputs[0] if isinstance(node.op, Abs) else None
    if data is None or shape_of(data).rank not in (1, None):
        return False
    if shape_of(data).rank is None and isinstance(data.producer.op, Unsqueeze):
        return False
    parts = data.producer.inputs if isinstance(data.producer.op, Concat) else (data,)
    return any(
        part is not None
        and not isinstance(part.producer.op, Constant)
        and not is_computed_from_inputs(part.producer, _inputs_unless_a_shape)
        for part in parts
    )


def _inputs_unless_a_shape(node: Node) -> Sequence[Value | None]:
    """Return the inputs of a node, but none for a ShapeOf.

    A ShapeOf does not read the elements of its operand.
    """
    return () if isinstance(node.op, ShapeOf | ShapeOf3) else node.inputs


def _is_narrow(element: ElementType) -> bool:
    """True for types that cannot hold every size."""
    return element is ElementType.BOOLEAN or (element.is_integer and element.bits < 32)


def _is_size(value: Value) -> bool:
    """Return whether `value` is computed from the shape of some tensor, by a ShapeOf."""
    return any(isinstance(node.op, ShapeOf | ShapeOf3) for node in sources([value.producer]))
