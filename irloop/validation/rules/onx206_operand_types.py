"""ONX206: element type that the operation does not accept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.signature import signature_of, type_text
from irloop.graph.loops import Invariant
from irloop.graph.model import Node
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.walk import node_path
from irloop.validation.onnx_context import OnnxContext, at_path
from irloop.validation.rule import OnnxRule


class OperandTypes(
    OnnxRule,
    code="ONX206",
    severity=Severity.ERROR,
    title="element type that the operation does not accept",
    requires=("ONX201",),
):
    """An input or output of a node has an element type that its operation does not have.

    What it does:
        Infers the element types of all values, bodies included, and compares them with the types
        that the standard allows for each input and output. A wrong type of an output is a warning:
        ONNX Runtime does not mind a Cast to a type that is newer than the opset.
    Why is this bad:
        onnx.checker and ONNX Runtime refuse the model ("Type Error: Type 'tensor(float)' of input
        parameter is invalid"). OpenVINO silently converts some of them.
    Bad example:
        an If or a Loop whose condition is float
    Good example:
        a Cast to bool, then the If
    Fix:
        Insert a Cast.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each operand whose element type the operation of its node rejects."""
        opset = context.outline.opsets.get("", 0)
        # The operation and the input types of each node without a finding. Later nodes with equal
        # ones are skipped.
        seen: set[tuple[object, ...]] = set()
        for graph in context.inferred_graphs:
            for node in graph.nodes:
                if isinstance(node.op, (Constant, UnknownOp)) or node.op.domain:
                    continue
                values = (*node.inputs, *node.outputs)
                types = [id(None if value is None else value.type) for value in values]
                key = node.op.type, *types
                if node.bodies or key not in seen:
                    found = [*self._inputs(node, opset), *self._outputs(node, opset)]
                    yield from found
                    if not found and not node.bodies:
                        seen.add(key)

    def _inputs(self, node: Node, opset: int) -> Iterator[Diagnostic]:
        signature = signature_of(node.op.type, opset, "")
        if signature is None or not signature.types:
            return
        ports = [port for body in node.bodies for port in body.ports.inputs]
        captured = {port.external for port in ports if isinstance(port, Invariant)}
        for at, value in enumerate(node.inputs):
            if at in captured:
                continue
            text = "" if value is None else type_text(value.type)
            if not text:
                continue
            if at >= len(signature.types) and signature.inputs[1] is not None:
                break
            allowed = signature.types[min(at, len(signature.types) - 1)]
            if text not in allowed:
                path = node_path(node)
                yield self.found(
                    at_path(path),
                    f"input {at} of {node.op.type} {path!r} is of type {text}",
                    expected=", ".join(sorted(allowed)),
                    found=text,
                    fix="insert a Cast",
                )

    def _outputs(self, node: Node, opset: int) -> Iterator[Diagnostic]:
        signature = signature_of(node.op.type, opset, "")
        if signature is None or not signature.results or node.bodies:
            return
        for position, value in enumerate(node.outputs):
            text = type_text(value.type)
            allowed = signature.results[min(position, len(signature.results) - 1)]
            if text and text not in allowed:
                path = node_path(node)
                finding = self.found(
                    at_path(path),
                    f"output {position} of {node.op.type} {path!r} is of type {text}",
                    expected=", ".join(sorted(allowed)),
                    found=text,
                    fix="use an opset that has the type (irloop convert MODEL -o NEW --opset N), "
                    "or another type",
                )
                yield replace(finding, severity=Severity.WARNING)
