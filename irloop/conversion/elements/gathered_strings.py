"""Rewrites each Gather of slices of strings as a Gather of single strings.

If a slice has several strings, ONNX Runtime copies only the first of them.
"""

from __future__ import annotations

from irloop.dialects.onnx.gather import Gather
from irloop.dialects.onnx.generate import Range, Range27
from irloop.dialects.onnx.shape import Reshape, Reshape14, Size
from irloop.graph.model import Model, Node
from irloop.graph.walk import all_nodes, has_op
from irloop.hazards.strings import gathers_parts_of_strings
from irloop.passes.base import ModelPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["GatherSingleStrings"]


class GatherSingleStrings(ModelPass):
    """Replaces a Gather of strings by a Gather of positions; then gathers single strings.

    Given::

        y = Gather<axis = 0>(x [2,3] of strings, i)

    Result::

        numbers [2,3] = 0, 1, ... 5
        y = Gather<axis = 0>(list of x, Gather<axis = 0>(numbers, i))

    Hazard ORT123 is the reason.
    """

    name = "gather_single_strings"
    dialects = frozenset({"onnx"})

    def run_on_model(self, model: Model) -> bool:
        if not has_op(model.graph, Gather):
            return False
        session = Session(model)
        modified = False
        for node in list(all_nodes(model.graph)):
            assert node.graph is not None
            if gathers_parts_of_strings(node) and not self.transformation_callback(node):
                _rewrite(model, node, session.rewriter(node.graph))
                modified = True
        return modified


def _rewrite(model: Model, node: Node, rewriter: MatchRewriter) -> None:
    data, indices = node.inputs
    assert data is not None
    assert indices is not None
    # Most models need no such change, nor the operations that it emits.
    from irloop.passes.forms import Forms

    forms = Forms(model, rewriter, node, node.name)
    reshape = Reshape14(allowzero=True) if forms.opset >= 14 else Reshape()
    stop = forms.emit(Size(), data)
    count = Range27() if forms.opset >= 27 else Range()
    numbers = forms.emit(count, forms.constant(0), stop, forms.constant(1))
    placed = forms.emit(reshape, numbers, forms.shape_of(data))
    strings = forms.reshaped(data, [-1])
    moved = forms.emit(node.op, placed, indices)
    rewriter.replace_node(node, [forms.emit(Gather(0), strings, moved)])
