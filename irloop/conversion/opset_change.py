"""Writes an ONNX model in another opset of ai.onnx.

Most operations mean the same in both opsets and stay as they are. Any other operation is converted
to OpenVINO, and the result back to ONNX in the new opset: the rules of import know what an old
version means, and those of export how a new one is written.
"""

from __future__ import annotations

from irloop.conversion.alone import alone
from irloop.conversion.opset_fit import misfit
from irloop.conversion.pipelines import require_onnx_opset, to_onnx, to_openvino
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.writing.element_types import ELEMENT_SINCE
from irloop.errors import InferenceError, UnsupportedError
from irloop.formats.onnx.notes import DEFAULT
from irloop.formats.onnx.signature import type_text
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.tensor import Tensor
from irloop.graph.walk import all_nodes, node_path
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session
from irloop.passes.written_out import replace_by_graph

__all__ = ["to_opset"]

#: The first opset in which the axes of all operations may be negative.
NEGATIVE_AXES = 11


def to_opset(model: Model, opset: int) -> None:
    """Write the operations of an ONNX model, which is changed, in `opset` of ai.onnx.

    Raises:
        UsageError: when `opset` is older than the oldest that is written, or newer than the
            installed onnx package.
        UnsupportedError: naming every operation, constant and input that the opset cannot express.
    """
    require_onnx_opset(opset)
    if model.opsets.get("") == opset:
        return
    if model.metadata.get("training_info"):
        reason = "its training_info holds graphs of the old opset, which irloop does not read"
        found = Diagnostic("CNV001", Severity.ERROR, reason, fix="remove training_info")
        raise UnsupportedError(f"the model cannot be written in opset {opset}", diagnostics=[found])
    change = _Change(model, opset)
    change.graph(model.graph)
    if change.refusals:
        message = f"operations that opset {opset} cannot express: {len(change.refusals)}"
        raise UnsupportedError(message, diagnostics=change.refusals)
    change.keep_declared_outputs(model.graph)
    model.opsets[""] = opset
    model.version = 0


class _Change:
    """One change of opset; `refusals` has a finding for each node that cannot be written."""

    def __init__(self, model: Model, opset: int) -> None:
        self._opset = opset
        self._opsets = dict(model.opsets)
        self._session = Session(model)
        self.refusals: list[Diagnostic] = []

    def graph(self, graph: Graph) -> None:
        """Write the nodes of a graph and its bodies in the new opset."""
        if graph.owner is None:
            for node in graph.parameters:
                self._require_element(node)
        rewriter = self._session.rewriter(graph)
        for node in list(graph.nodes):
            if self._opset < NEGATIVE_AXES:
                _count_from_first(node, rewriter)
            why_not = misfit(node, self._opset)
            if why_not:
                why_not = self._restated(node, rewriter)
            if why_not:
                self._refuse(node, why_not)
            elif node.graph is graph:
                for body in node.bodies:
                    self.graph(body.graph)

    def keep_declared_outputs(self, graph: Graph) -> None:
        """Give outputs whose types inference does not find the types that the file declares."""
        for value in graph.outputs:
            declared = self._session.inference.declared(value)
            if type_text(declared) and not type_text(value.type):
                value.type = declared

    def _restated(self, node: Node, rewriter: MatchRewriter) -> str:
        """Replace a node by operations of the new opset; return the reason if there are none."""
        single = alone(node, rewriter, self._opsets)
        try:
            neutral, _ = to_openvino(single.model, to_run=False)
            made, _ = to_onnx(neutral, opset=self._opset)
        except UnsupportedError as error:
            first = error.diagnostics[0]
            return first.message.partition(" cannot be converted: ")[2] or first.message
        except InferenceError as error:
            return error.message
        for new in all_nodes(made.graph):
            reason = misfit(new, self._opset)
            if reason:
                return f"it would become {new.op.label}, and {reason}"
        if len(made.graph.results) != len(single.outputs):
            return "its outputs are sequences"
        stored = [
            value for value in node.inputs if value and isinstance(value.producer.op, Constant)
        ]
        replace_by_graph(node, made.graph, single.inputs, single.outputs, rewriter)
        _reuse(stored, rewriter)
        return ""

    def _require_element(self, node: Node) -> None:
        """Refuse an input of the model whose element type the opset lacks."""
        element = element_of(node.outputs[0])
        since = ELEMENT_SINCE.get(element, 1)
        if since > self._opset:
            reason = f"element type {element} needs opset {since}"
            self._refuse(node, reason, f"input {node_path(node)!r}")

    def _refuse(self, node: Node, reason: str, what: str = "") -> None:
        path = node_path(node)
        self.refusals.append(
            Diagnostic(
                "CNV001",
                Severity.ERROR,
                f"{what or f'{node.op.label} {path!r}'} cannot be written in opset {self._opset}: "
                f"{reason}",
                location=Location(line=node.location.line, path=path),
            )
        )


def _reuse(stored: list[Value], rewriter: MatchRewriter) -> None:
    """Let the inserted nodes read the weights that the replaced node read, instead of copies.

    Weights that nothing reads any more are erased, unless they are default values of inputs.
    """
    known = {id(_tensor_of(value.producer)): value for value in stored}
    inserted = rewriter.take_inserted()
    for node in inserted:
        old = known.get(id(_tensor_of(node)))
        if old is not None and not node.output.is_output:
            rewriter.replace_value(node.output, old, keep_names=False)
    rewriter.erase_unread(inserted)
    rewriter.erase_unread(value.producer for value in stored if DEFAULT not in value.info)


def _tensor_of(node: Node) -> Tensor | None:
    return node.op.tensor if isinstance(node.op, Constant) else None


def _count_from_first(node: Node, rewriter: MatchRewriter) -> None:
    """Count the axis in the attributes of a node from the first axis, if the rank is known.

    Operations whose default axis is negative accept negative axes in every opset.
    """
    if (getattr(type(node.op), "axis", None) or 0) < 0:
        return
    axis, value = getattr(node.op, "axis", 0), node.inputs[0] if node.inputs else None
    rank = None if value is None else shape_of(value).rank
    if isinstance(axis, int) and axis < 0 and rank:
        rewriter.set_attributes(node, axis=axis % rank)
