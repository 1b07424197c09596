"""Keeps the weights of small convolutions out of the bodies of ONNX loops."""

from __future__ import annotations

from collections.abc import Set

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.convolution import Conv
from irloop.dialects.wire_ends import INVARIANT
from irloop.graph.builder import shape_of
from irloop.graph.model import Node
from irloop.graph.op import Constant, Op
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["OuterKernels"]

#: The most input channels of a convolution with one output channel that is faster unblocked.
MOST = 8


class OuterKernels(LoopPass):
    """Moves the weights of convolutions with one output channel out of loop bodies.

    Given::

        Loop(n, true, x):              s: x, s' = Conv(s, Const [1, 1, 3, 3])   -> last s

    Result::

        k = Const [1, 1, 3, 3]
        Loop(n, true, x), invariant k: s: x, s' = Conv(s, k)                    -> last s

    ONNX Runtime computes a convolution whose weights are in the same graph in blocks of 8 or 16
    channels, and converts its input and output in each iteration. That is faster for several
    channels, but takes 1.7 times as long for one.
    """

    name = "outer_kernels"
    dialects = frozenset({"onnx"})
    loops = (onnx.Loop, onnx.Scan)

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        return Conv in kinds and super().concerns(kinds)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        small = [
            item for item in wires.graph.nodes if isinstance(item.op, Conv) and _is_small(item)
        ]
        inner = self.session.rewriter(wires.graph)
        for conv in small:
            weights = conv.inputs[1]
            assert weights is not None
            op, name = weights.producer.op, weights.producer.name
            assert isinstance(op, Constant)
            outer = rewriter.insert_constant(op.tensor, before=node, name=name)
            wire = wires.enter(outer, inner.names.fresh(name), INVARIANT, weights.type)
            inner.set_input(conv, 1, wire.parameter)
            inner.erase_unread([weights.producer])
        if small:
            wires.replace(node.op, rewriter)


def _is_small(node: Node) -> bool:
    weights = node.inputs[1]
    if weights is None or not isinstance(weights.producer.op, Constant):
        return False
    dims = shape_of(weights).static()
    return dims is not None and len(dims) == 4 and dims[0] == 1 and dims[1] <= MOST
