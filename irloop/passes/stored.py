"""Looks through the conversion of a constant that is stored in a smaller float type.

OpenVINO's `save_model` stores weights as f16 and converts them where they are read. To a pattern,
such a weight is a constant like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import convert as ov
from irloop.dialects.unpacked import ConvertedTensor
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import ElementType
from irloop.passes.match_rewriter import MatchRewriter

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["array_of", "changed", "is_stored", "stored", "stored_node"]

_CONVERSIONS = (ov.Convert, onnx.Cast6, onnx.Cast1)

#: For each float type, the types that hold all of its numbers.
_WIDER = {
    ElementType.F16: frozenset({ElementType.F32, ElementType.F64}),
    ElementType.BF16: frozenset({ElementType.F32, ElementType.F64}),
    ElementType.F32: frozenset({ElementType.F64}),
}


def stored_node(value: Value) -> Node | None:
    """The Constant that holds the elements of `value`, exactly, perhaps in a smaller float type."""
    node = value.producer
    if isinstance(node.op, Constant):
        return node
    source = node.inputs[0] if isinstance(node.op, _CONVERSIONS) else None
    if source is None or not isinstance(source.producer.op, Constant):
        return None
    wider = _WIDER.get(source.producer.op.tensor.element, frozenset())
    return source.producer if element_of(value) in wider else None


def is_stored(value: Value) -> bool:
    """Return whether `value` is a constant, or one that is stored in a smaller float type."""
    return stored_node(value) is not None


def stored(value: Value) -> Tensor | None:
    """The constant `value`, in its own element type; None if it is not constant."""
    node = stored_node(value)
    if node is None:
        return None
    assert isinstance(node.op, Constant)
    if node is value.producer:
        return node.op.tensor
    return ConvertedTensor(node.op.tensor, element_of(value))


def array_of(value: Value) -> Array | None:
    """The elements of a constant of any size; None if `value` is not a constant."""
    tensor = stored(value)
    return None if tensor is None else tensor.numpy()


def changed(
    value: Value, change: Callable[[Array], Array], rewriter: MatchRewriter, before: Node | None
) -> Value | None:
    """Insert the constant whose elements are those of `value`, moved by `change`.

    It is stored in the same type as `value`. The result is None if `value` is not constant.
    """
    import numpy as np

    node = stored_node(value)
    if node is None:
        return None
    assert isinstance(node.op, Constant)
    array = np.ascontiguousarray(change(node.op.tensor.numpy()))
    tensor = ArrayTensor(array, node.op.tensor.element)
    made = rewriter.insert_constant(tensor, before=before, name=node.name)
    if node is value.producer:
        return made
    conversion = value.producer
    back = rewriter.insert(conversion.op, (made,), before=before, name=conversion.name)
    back.info = dict(conversion.info)
    return back.output
