"""Rewrites Scans to axis 0 where ONNX Runtime would transpose a tensor without elements."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.builder import shape_of
from irloop.graph.loops import ScanInput, ScanOutput
from irloop.graph.model import Node, Value
from irloop.hazards.patterns import scanned_across
from irloop.passes.forms import Forms
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["ScanAlongFront"]


class ScanAlongFront(LoopPass):
    """Adds Transposes before and after a Scan, so that the Scan itself need not transpose.

    Given::

        y = Scan(x [?,5]):   p: x[axis 1]              -> joined -p, axis 1

    Result::

        t = Transpose(x)
        j = Scan(t):         p: t[axis 0]              -> joined -p, axis 0
        y = Transpose(j)

    ONNX Runtime 1.31 transposes inputs and outputs of a Scan along another axis than 0, and crashes
    (division by zero) if such a tensor has no elements. Its Transpose operation has no such fault.
    A Scan stays as it is if all dimensions are known and none is 0, or if a rank is unknown, or if
    its name is in `leave`.
    """

    name = "scan_along_front"
    dialects = frozenset({"onnx"})
    loops = (onnx.Scan,)

    def __init__(self, leave: AbstractSet[str] = frozenset()) -> None:
        self._leave = leave

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        across = dict(scanned_across(node))
        if node.name in self._leave or not across:
            return
        before = Forms(self.model, rewriter, node, node.name)
        after = Forms(self.model, rewriter, node.following, node.name)
        for item in wires.slices:
            rank = shape_of(item.outer).rank
            if isinstance(item.port, ScanInput) and item.port in across and rank is not None:
                item.outer = before.moved(item.outer, across[item.port], 0, rank)
                item.port = replace(item.port, axis=0)
        for leaving in wires.outputs:
            parts, port = shape_of(leaving.value).rank, leaving.port
            if isinstance(port, ScanOutput) and port in across and parts is not None:
                leaving.port = replace(port, axis=0)
                change = partial(_moved_back, after, across[port], parts + 1)
                wires.change_output(leaving, rewriter, change)
        wires.replace(node.op, rewriter)


def _moved_back(forms: Forms, axis: int, rank: int, value: Value) -> Value:
    return forms.moved(value, 0, axis, rank)
