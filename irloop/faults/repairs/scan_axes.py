"""Rewrites loops to work along axis 0 where an engine would otherwise divide by zero."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from irloop.analysis.patterns import across, number_of, scanned_across
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.repair import Known, Repair
from irloop.graph.builder import shape_of
from irloop.graph.loops import Concatenated, ScanInput, ScanOutput
from irloop.graph.model import Node, Value
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ScanAlongFront", "divides_by_zero"]


class ScanAlongFront(Repair, LoopPass):
    """Adds Transposes before and after a loop, so that the loop itself works along axis 0.

    Given::

        y = Scan(x [?,5]):            p: x[axis 1]      -> joined -p, axis 1
        z = TensorIterator(w [5]):    q: w[axis 0]      -> joined r [?,2], axis 1

    Result::

        t = Transpose(x)
        j = Scan(t):                  p: t[axis 0]      -> joined -p, axis 0
        y = Transpose(j)
        k = TensorIterator(w):        q: w[axis 0]      -> joined Transpose(r), axis 0
        z = Transpose(k)

    ONNX Runtime 1.31 transposes inputs and outputs of a Scan along an axis other than 0. It crashes
    (division by zero) if such a tensor has no elements (fault ORT112). OpenVINO 2026.4 crashes if
    a Loop or TensorIterator joins values along an axis other than 0 and an axis before it is empty
    (OVN132). The Transpose operations have no such fault. A loop is not changed if its known
    dimensions exclude such a crash, or if a rank is unknown.
    """

    name = "scan_along_front"
    after = ("joined_outputs",)
    loops = (onnx.Scan, ov.Loop, ov.TensorIterator)

    def had(self, node: Node, known: Known) -> bool:
        return divides_by_zero(node)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        slices = [wire for wire in wires.slices if across(wire.port, wire.outer)]
        outputs = [wire for wire in wires.outputs if across(wire.port, wire.value)]
        if not slices and not outputs:
            return
        # Most models need no such change, nor the operations that it emits.
        from irloop.passes.writers import writer_at

        before = writer_at(self.model, rewriter, node, node.name)
        inside = writer_at(self.model, self.session.rewriter(wires.graph), None, node.name)
        after = writer_at(self.model, rewriter, node.following, node.name)
        for sliced in slices:
            entering, rank = sliced.port, shape_of(sliced.outer).rank
            assert isinstance(entering, ScanInput)
            assert rank is not None
            sliced.outer = before.moved(sliced.outer, entering.axis, 0, rank)
            sliced.port = replace(entering, axis=0)
        for leaving in outputs:
            port, rank = leaving.port, shape_of(leaving.value).rank
            assert isinstance(port, ScanOutput | Concatenated)
            assert rank is not None
            if isinstance(port, Concatenated):
                leaving.value = _with_part_in_front(inside, leaving.value, port.axis, rank)
            else:
                # A scan output has one axis more than the value of an iteration.
                rank += 1
            leaving.port = replace(port, axis=0)
            wires.change_output(leaving, rewriter, partial(_moved_back, after, port.axis, rank))
        wires.replace(node.op, rewriter)


def _with_part_in_front(w: NodeWriter, value: Value, axis: int, rank: int) -> Value:
    """Move `axis` of a body value to the front.

    If the value is the result of an Unsqueeze that inserts this axis, return an Unsqueeze of the
    operand at axis 0 instead.
    """
    node = value.producer
    if isinstance(node.op, Unsqueeze) and node.inputs[0] is not None:
        made = number_of(node.inputs[1])
        if made is not None and made in (axis, axis - rank):
            return w.unsqueeze(node.inputs[0], [0])
    return w.moved(value, axis, 0, rank)


def _moved_back(w: NodeWriter, axis: int, rank: int, value: Value) -> Value:
    return w.moved(value, 0, axis, rank)


def divides_by_zero(node: Node) -> bool:
    """Return whether an engine may divide by zero in the loop `node`.

    This can happen if the loop slices or joins a tensor along an axis other than 0, and the tensor
    may be empty. `ScanAlongFront` rewrites these loops. Return False if `node` is not a loop.
    """
    return isinstance(node.op, ScanAlongFront.loops) and bool(scanned_across(node))
