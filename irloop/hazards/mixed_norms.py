"""Finds layer normalisations that ONNX Runtime fuses although their operands differ in type."""

from __future__ import annotations

from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.elementwise import Div, Mul, Pow, Sub
from irloop.dialects.onnx.reduction import ReduceMean1, ReduceMean18
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

__all__ = ["squares_widened_data"]

_NARROW = frozenset({ElementType.F16, ElementType.BF16})


def squares_widened_data(node: Node) -> bool:
    """Return whether `node` is the Pow(x - mean, 2) of a layer normalisation with widened data.

    Widened means that x is cast from 16 bits to a wider type, for example from f16 to f32. The
    normalised data must also be multiplied by something, usually the scale.
    """
    if not isinstance(node.op, Pow) or not _is_two(node.inputs[1]):
        return False
    centred = node.inputs[0]
    if centred is None or not isinstance(centred.producer.op, Sub):
        return False
    data, mean = centred.producer.inputs
    if data is None or mean is None or not _is_widened(data):
        return False
    if (
        not isinstance(mean.producer.op, ReduceMean1 | ReduceMean18)
        or mean.producer.inputs[0] is not data
    ):
        return False
    quotients = [user for user, at in centred.uses if isinstance(user.op, Div) and at == 0]
    return any(isinstance(user.op, Mul) for item in quotients for user, _ in item.output.uses)


def _is_two(value: Value | None) -> bool:
    if value is None or not isinstance(value.producer.op, Constant):
        return False
    tensor = value.producer.op.tensor
    return tensor.count == 1 and float(tensor.numpy().reshape(-1)[0]) == 2


def _is_widened(value: Value) -> bool:
    node = value.producer
    given = node.inputs[0] if isinstance(node.op, Cast6) else None
    return given is not None and element_of(given) in _NARROW and element_of(value) not in _NARROW
