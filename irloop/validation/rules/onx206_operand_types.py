"""ONX206: element type that the operation does not accept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.signature import signature_of, type_text
from irloop.graph.loops import Invariant
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.walk import node_path
from irloop.validation.onnx_context import OnnxContext, at_path
from irloop.validation.rule import OnnxRule

_FIXES = {
    "input": "insert a Cast",
    "output": "use an opset that has the type (irloop convert MODEL -o NEW --opset N), or another "
    "type",
}


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
                    found = list(self._wrong(node, opset))
                    yield from found
                    if not found and not node.bodies:
                        seen.add(key)

    def _wrong(self, node: Node, opset: int) -> Iterator[Diagnostic]:
        for word, position, value, allowed in _operands(node, opset):
            text = "" if value is None else type_text(value.type)
            if not text or text in allowed:
                continue
            path = node_path(node)
            finding = self.found(
                at_path(path),
                f"{word} {position} of {node.op.type} {path!r} is of type {text}",
                expected=", ".join(sorted(allowed)),
                found=text,
                fix=_FIXES[word],
            )
            is_input = word == "input"
            yield finding if is_input else replace(finding, severity=Severity.WARNING)


def _operands(node: Node, opset: int) -> Iterator[tuple[str, int, Value | None, frozenset[str]]]:
    """Yield what the standard gives a type: a word, a position, the value and the types.

    These are inputs, without those that only bodies read, and outputs of nodes without bodies.
    """
    signature = signature_of(node.op.type, opset, "")
    if signature is None:
        return
    ports = [port for body in node.bodies for port in body.ports.inputs]
    captured = {port.external for port in ports if isinstance(port, Invariant)}
    types, most = signature.types, signature.inputs[1]
    count = len(node.inputs) if most is None else min(len(node.inputs), len(types))
    for position in range(count) if types else ():
        if position not in captured:
            allowed = types[min(position, len(types) - 1)]
            yield "input", position, node.inputs[position], allowed
    if signature.results and not node.bodies:
        for position, value in enumerate(node.outputs):
            allowed = signature.results[min(position, len(signature.results) - 1)]
            yield "output", position, value, allowed
