"""Rewrites operations of newer OpenVINO opsets in an older opset, by converting via ONNX.

An operation is converted to ONNX and the result back to OpenVINO, in the older opset. For example,
GroupNormalization-12 becomes MVN-6 with Reshapes, a multiplication and an addition.
"""

from __future__ import annotations

from dataclasses import dataclass

from irloop.conversion.pipelines import to_onnx, to_openvino
from irloop.dialects.openvino import OPENVINO, recurrent
from irloop.errors import InferenceError, UnsupportedError
from irloop.graph.clone import clone_into
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import TensorType
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.options import option
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.stored import is_stored, stored

__all__ = ["LowerThroughOnnx"]


@dataclass(eq=False)
class LowerThroughOnnx(MatcherPass):
    """Converts operations newer than an opset to ONNX, and the result back to an older opset.

    Given::

        y = GroupNormalization-12(x, scale, bias)

    Result (opset 7)::

        y = Reshape(MVN-6(Reshape(x, [n, groups, ...])), shape of x) * scale + bias

    Operations with bodies stay, as do operations that one of the two directions refuses.
    """

    name = "lower_through_onnx"
    dialects = frozenset({"openvino"})

    opset: int = option(7, "the newest opset to use; 7 is that of OpenVINO 2021.4")
    computed_weights: bool = option(
        True, "leave recurrent operations with computed weights as they are"
    )

    def pattern(self) -> Pattern:
        newer = [cls for cls in OPENVINO.all() if cls.since > self.opset]
        return wrap_type((*newer, *recurrent.SEQUENCES))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        newer = node.op.since > self.opset
        if node.bodies or not node.op.pure or not (newer or self._computes_weights(node)):
            return False
        alone, given = _alone(node, rewriter)
        try:
            lowered, _ = to_openvino(
                to_onnx(alone)[0], opset=self.opset, computed_weights=self.computed_weights
            )
        except (UnsupportedError, InferenceError):
            return False
        values = clone_into(lowered.graph, rewriter, given, before=node)
        rewriter.replace_node(node, values)
        return True

    def _computes_weights(self, node: Node) -> bool:
        if self.computed_weights or not isinstance(node.op, recurrent.SEQUENCES):
            return False
        return not all(value is None or is_stored(value) for value in node.inputs[-3:])


def _alone(node: Node, rewriter: MatchRewriter) -> tuple[Model, list[Value]]:
    """Copy a node into a new model that contains only this node and its constant inputs.

    Each other input of the node becomes an input of the model, and each output an output. Returns
    the model, and for each input of the model the value that the node reads.
    """
    graph = Graph(node.name)
    given: list[Value] = []
    inner: dict[Value, Value] = {}
    for value in node.inputs:
        if value is None or value in inner:
            continue
        tensor = _constant(value, rewriter)
        if tensor is not None:
            inner[value] = graph.add_constant(tensor, f"constant_{len(inner)}")
            continue
        inner[value] = graph.add_parameter(f"input_{len(given)}", value.type)
        given.append(value)
    inputs = tuple(None if value is None else inner[value] for value in node.inputs)
    made = graph.add_node(node.op, node.name, inputs, len(node.outputs))
    for index, value in enumerate(made.outputs):
        graph.add_result(value, f"output_{index}")
    return Model(graph, "openvino", 11), given


def _constant(value: Value, rewriter: MatchRewriter) -> Tensor | None:
    tensor = stored(value)
    if tensor is not None:
        return tensor
    known = rewriter.inference.constant(value)
    if known is None or not isinstance(value.type, TensorType):
        return None
    return ArrayTensor(known, value.type.element)
