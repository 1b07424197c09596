"""Moves the limits of FakeQuantize so that 0 becomes one of its numbers."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.diagnostics import Location
from irloop.dialects.openvino.quantize import FakeQuantize
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.graph.walk import node_path
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.options import option
from irloop.passes.quantisation_grid import (
    BYTE,
    WORD,
    Rounding,
    is_same_range,
    may_be_quantised,
    rounding_of,
)

__all__ = ["RoundZeroPoints"]


@dataclass(eq=False)
class RoundZeroPoints(NodePass):
    """Moves the limits of FakeQuantize so that 0 becomes one of its numbers.

    Given::

        y = FakeQuantize(x, -1.005, 1.545, -1.005, 1.545, levels 256)

    Result::

        y = FakeQuantize(x, -1.0, 1.55, -1.0, 1.55, levels 256)

    QuantizeLinear and DequantizeLinear of ONNX express only the second one. The numbers move by
    half a step at most, so results change. A FakeQuantize is not changed if its limits are not
    constant or not f32, if its ranges of input and output differ, if 0 is outside of the range, if
    it has neither 256 nor 65536 levels, or if ONNX Runtime fails on what reads numbers of as many
    scales.
    """

    name = "round_zero_points"
    dialects = frozenset({"openvino"})
    operations = (FakeQuantize,)

    levels: int = option(WORD, "the most levels of a FakeQuantize that is changed")

    def __post_init__(self) -> None:
        #: The places of the nodes that were changed, and how.
        self.changed: list[tuple[Location, Rounding]] = []

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        op, (x, first) = node.op, node.inputs[:2]
        assert isinstance(op, FakeQuantize)
        if x is None or first is None or element_of(first) is not ElementType.F32:
            return None
        if op.levels not in (BYTE, WORD) or op.levels > self.levels:
            return None
        known = [w.rewriter.inference.constant(value) for value in node.inputs[1:] if value]
        limits = [limit for limit in known if limit is not None]
        if len(limits) < len(known) or not is_same_range(limits):
            return None
        rounding = rounding_of(limits[0], limits[1], op.levels)
        if rounding is None or not may_be_quantised(node, rounding.low, rounding.high):
            return None
        self.changed.append((Location(line=node.location.line, path=node_path(node)), rounding))
        ends = [w.constant(end, ElementType.F32) for end in (rounding.low, rounding.high)]
        return w(op, x, *ends, *ends)
