"""ONX104: wrong number of inputs or outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.outline import OutlineNode
from irloop.formats.onnx.signature import Signature
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class NumberOfInputs(
    OnnxRule,
    code="ONX104",
    severity=Severity.ERROR,
    title="wrong number of inputs or outputs",
):
    """A node has fewer or more inputs or outputs than its operation, or lacks a mandatory input.

    What it does:
        Counts the inputs and outputs of each node of the standard, and looks for empty names of
        mandatory inputs and outputs.
    Why is this bad:
        onnx.checker and ONNX Runtime refuse the model. OpenVINO ignores surplus inputs.
        ONNX Runtime skips a node that has neither inputs nor outputs, whatever its type is, so that
        this is only a warning.
    Bad example:
        MatMul(a)
    Good example:
        MatMul(a, b)
    Fix:
        Connect the missing inputs, or remove the surplus ones.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield findings for wrong numbers of inputs and outputs, and for missing mandatory inputs.

        A node gets one finding for a wrong number of inputs, one for a wrong number of outputs, and
        one for each mandatory input or output that has an empty name.
        """
        for node, signature in context.standard_nodes:
            if signature is None:
                continue
            counts = (
                *self._count(node, signature, "input", signature.inputs, node.inputs),
                *self._count(node, signature, "output", signature.outputs, node.outputs),
            )
            for finding in counts:
                is_idle = not node.inputs and not node.outputs
                yield replace(finding, severity=Severity.WARNING) if is_idle else finding
            if node.type == "Optional" and not any(node.inputs):
                yield from self._untyped(node)
            for index, name in enumerate(node.outputs):
                if not name and index in signature.named:
                    what = f"output {index} of {node.type} {node.label!r} has no name"
                    yield self._left_out(node, what, f"a name: {signature.label} needs it")
            first = signature.variadic
            for index, name in enumerate(node.inputs):
                is_variadic = first is not None and index >= first
                if not name and (is_variadic or index in signature.mandatory):
                    what = f"input {index} of {node.type} {node.label!r} is left out"
                    yield self._left_out(node, what, f"a value: {signature.label} needs it")

    def _left_out(self, node: OutlineNode, what: str, expected: str) -> Diagnostic:
        fix = "connect it" if what.startswith("input") else "name it, or remove the node"
        return self.found(at_node(node), what, expected=expected, found="an empty name", fix=fix)

    def _untyped(self, node: OutlineNode) -> Iterator[Diagnostic]:
        if "type" not in {name for name, _ in node.attributes}:
            yield self.found(
                at_node(node),
                f"Optional {node.label!r} has neither an input nor a type",
                expected="an input, or the attribute type",
                found="neither",
                fix="add the attribute",
            )

    def _count(
        self,
        node: OutlineNode,
        signature: Signature,
        what: str,
        limits: tuple[int, int | None],
        names: tuple[str, ...],
    ) -> Iterator[Diagnostic]:
        low, high = limits
        if low <= len(names) and (high is None or len(names) <= high):
            return
        counts = f"{low} or more" if high is None else f"{low} to {high}"
        wanted = str(low) if low == high else counts
        yield self.found(
            at_node(node),
            f"{node.type} {node.label!r} has {len(names)} {what}s",
            expected=f"{wanted} of {signature.label}",
            found=", ".join(map(repr, names[:8])) or "none",
            fix=f"correct the {what}s of the node",
        )
