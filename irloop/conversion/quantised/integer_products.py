"""Writes matrix products of integers as MatMulInteger."""

from __future__ import annotations

from irloop.analysis.operands import inputs_of
from irloop.conversion.quantised.reading import BYTES
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.elementwise import Sub
from irloop.dialects.onnx.matmul import MatMul
from irloop.dialects.onnx.quantize import MatMulInteger
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["IntegerProducts"]

#: A sum of at most this many products of 8-bit integers fits into i32.
_MOST_TERMS = (2**31 - 1) // 255**2


class IntegerProducts(NodePass):
    """Replaces a matrix product of integers that is computed in f32 by MatMulInteger.

    Given::

        y = Cast(MatMul(Cast(c) - Cast(z), Cast(w) - Cast(v)), i32)

    Result::

        y = MatMulInteger(c, w, z, v)

    The results are equal as long as f32 represents all sums; otherwise only MatMulInteger is exact.
    Integer convolutions are not replaced, because in ONNX Runtime a ConvInteger is slower than a
    Conv of f32, by a factor of 1.4.
    """

    name = "integer_products"
    dialects = frozenset({"onnx"})
    operations = (Cast6,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        inputs = _product_inputs(node.output)
        return None if inputs is None else w(MatMulInteger(), *inputs)


def _product_inputs(value: Value) -> tuple[Value, ...] | None:
    """Return the inputs of a MatMulInteger that can compute `value`, or None if there is none.

    `value` must be a matrix product of 8-bit integers that is computed in f32 and cast to i32.
    """
    cast = inputs_of(value, Cast6)
    product = None if cast is None else inputs_of(cast[0], MatMul)
    if product is None or element_of(value) is not ElementType.I32:
        return None
    data, weights = _centred(product[0]), _centred(product[1])
    if data is None or weights is None or len(data) != 2 or not _is_single(data[1]):
        return None
    dims = shape_of(weights[0]).dims
    if element_of(data[0]) is not ElementType.U8 or dims is None or len(dims) != 2:
        return None
    if not isinstance(dims[0], int) or dims[0] > _MOST_TERMS:
        return None
    if len(weights) == 2 and not _is_single(weights[1]) and shape_of(weights[1]).dims != dims[1:]:
        return None
    return (data[0], weights[0], data[1], *weights[1:])


def _centred(value: Value) -> tuple[Value, ...] | None:
    """Match a cast of 8-bit integers to f32, with or without the subtraction of a zero point.

    Returns (a,) if `value` is Cast(a), and (a, zero) if it is Sub(Cast(a), Cast(zero)), where a and
    zero have the same 8-bit type. Returns None for any other value.
    """
    parts = inputs_of(value, Sub) or (value,)
    casts = [inputs_of(part, Cast6) for part in parts]
    integers = tuple(cast[0] for cast in casts if cast is not None)
    if len(integers) != len(parts) or element_of(value) is not ElementType.F32:
        return None
    elements = {element_of(item) for item in integers}
    return integers if len(elements) == 1 and elements <= set(BYTES) else None


def _is_single(zero: Value) -> bool:
    return shape_of(zero).rank == 0
