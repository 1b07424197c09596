"""ONX104: wrong number of inputs or outputs."""

from __future__ import annotations

from collections.abc import Iterator

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
        mandatory inputs.
    Why is this bad:
        onnx.checker and ONNX Runtime refuse the model. OpenVINO ignores surplus inputs.
        ONNX Runtime skips a node that has neither inputs nor outputs, whatever its type is.
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
        one for each mandatory input that has an empty name.
        """
        for node, signature in context.standard_nodes:
            if signature is None:
                continue
            yield from self._count(node, signature, "input", signature.inputs, node.inputs)
            yield from self._count(node, signature, "output", signature.outputs, node.outputs)
            first = signature.variadic
            for at, name in enumerate(node.inputs):
                if not name and (at in signature.mandatory or (first is not None and at >= first)):
                    yield self.found(
                        at_node(node),
                        f"input {at} of {node.type} {node.label!r} is left out",
                        expected=f"a value: {signature.label} needs it",
                        found="an empty name",
                        fix="connect it",
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
