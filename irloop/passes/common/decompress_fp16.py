"""Replaces a conversion of an f16 constant by a constant of the target type."""

from __future__ import annotations

from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import convert as ov
from irloop.dialects.unpacked import ConvertedTensor
from irloop.graph.builder import element_of
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type

__all__ = ["DecompressFp16"]


class DecompressFp16(MatcherPass):
    """Undoes the compression of weights to f16; the values keep the precision of f16.

    Given::

        y = MatMul(x, Convert(Const f16 [64, 64], f32))

    Result::

        y = MatMul(x, Const f32 [64, 64])

    Conversions to types other than f32 and f64 are not changed.
    """

    name = "decompress_fp16"

    def pattern(self) -> Pattern:
        return wrap_type((ov.Convert, onnx.Cast6, onnx.Cast1), wrap_type(Constant))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        value, element = node.inputs[0], element_of(node.output)
        if value is None or element_of(value) is not ElementType.F16:
            return False
        if element not in (ElementType.F32, ElementType.F64):
            return False
        op = value.producer.op
        assert isinstance(op, Constant)
        node.info = {key: item for key, item in node.info.items() if key != "decompression"}
        wide = ConvertedTensor(op.tensor, element)
        stored = rewriter.insert_constant(wide, before=node, name=node.name)
        rewriter.replace_node(node, (stored,))
        return True
