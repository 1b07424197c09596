"""Quantises what operations make of quantised data, so that ONNX Runtime keeps the integers."""

from __future__ import annotations

from irloop.analysis.operands import axes_of, single_number
from irloop.conversion.quantised.integer_weights import has_integer_kernel, weights_of
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx.convolution import Conv
from irloop.dialects.onnx.matmul import Gemm, MatMul
from irloop.dialects.onnx.pooling import GlobalAveragePool
from irloop.dialects.onnx.quantize import DequantizeLinear13, QuantizeLinear13
from irloop.dialects.onnx.reduction import ReduceMean1, ReduceMean18
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["QuantisedMeans", "QuantisedMoves"]

_CONCAT, _RESIZE = classes_of("Concat"), classes_of("Resize")
#: Operations whose results are elements of their data.
_SINGLE = classes_of("MaxPool", "Slice", "Gather", "DepthToSpace", "SpaceToDepth")
_PRODUCTS = (Conv, Gemm, MatMul)


class QuantisedMoves(NodePass):
    """Quantises elements of quantised data again, for a product that then multiplies integers.

    Given::

        c = Concat(DequantizeLinear(q, s, z), DequantizeLinear(r, s, z))    y = Conv(c, w)

    Result::

        c = Concat(DequantizeLinear(q, s, z), DequantizeLinear(r, s, z))
        y = Conv(DequantizeLinear(QuantizeLinear(c, s, z), s, z), w)

    The numbers are the same. ONNX Runtime and TensorRT compute with integers only between such a
    pair; in an IR, the operation needs no FakeQuantize.
    """

    name = "quantised_moves"
    dialects = frozenset({"onnx"})
    operations = (*_CONCAT, *_RESIZE, *_SINGLE)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        if len(node.outputs) != 1 or element_of(node.output) is not ElementType.F32:
            return None
        pair = _pair_of(node)
        if pair is None or not _is_multiplied(node.output, single_number(pair[0])):
            return None
        moved = w.emit(node.op, *node.inputs, n_outputs=1).output
        codes = w(QuantizeLinear13(), moved, *pair)
        return w(DequantizeLinear13(), codes, *pair)


class QuantisedMeans(NodePass):
    """Writes a mean of images between quantised data as GlobalAveragePool.

    Given::

        QuantizeLinear(ReduceMean(DequantizeLinear(q, s, z), axes 2 and 3))

    Result::

        QuantizeLinear(GlobalAveragePool(DequantizeLinear(q, s, z)))

    ONNX Runtime has an integer kernel for GlobalAveragePool only.
    """

    name = "quantised_means"
    dialects = frozenset({"onnx"})
    operations = (ReduceMean1, ReduceMean18)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        x, rank = node.inputs[0], shape_of(node.output).rank
        if x is None or not rank or not isinstance(x.producer.op, DequantizeLinear13):
            return None
        if shape_of(x).rank != rank or element_of(x) is not ElementType.F32:
            return None
        axes = axes_of(node)
        if not axes or sorted(axis % rank for axis in axes) != list(range(2, rank)):
            return None
        is_quantised = all(isinstance(user.op, QuantizeLinear13) for user, _ in node.output.uses)
        return w(GlobalAveragePool(), x) if is_quantised else None


def _is_multiplied(value: Value, step: float | None) -> bool:
    """Return whether a product would multiply integers if the scale of its data were `step`."""
    for user, position in value.uses:
        weights = user.inputs[1] if isinstance(user.op, _PRODUCTS) and position == 0 else None
        found = None if weights is None else weights_of(weights)
        if found is not None and has_integer_kernel(user, found, step):
            return True
    return False


def _pair_of(node: Node) -> tuple[Value, Value] | None:
    """Return scale and zero point of the data of `node`; None if they are not one pair."""
    if isinstance(node.op, _RESIZE) and getattr(node.op, "mode", "nearest") != "nearest":
        return None
    data = node.inputs if isinstance(node.op, _CONCAT) else node.inputs[:1]
    pairs = set()
    first: tuple[Value, Value] | None = None
    for value in data:
        if value is None or not isinstance(value.producer.op, DequantizeLinear13):
            return None
        _, scale, zero = (*value.producer.inputs, None)[:3]
        if scale is None or zero is None:
            return None
        first = first or (scale, zero)
        pairs.add((single_number(scale), single_number(zero), element_of(zero)))
    numbers = next(iter(pairs))
    return first if len(pairs) == 1 and None not in numbers[:2] else None
