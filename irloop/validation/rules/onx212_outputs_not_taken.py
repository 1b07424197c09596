"""ONX212: body has more outputs than its node."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.outline import OutlineNode
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class OutputsNotTaken(
    OnnxRule, code="ONX212", severity=Severity.ERROR, title="body has more outputs than its node"
):
    """A Loop or Scan has fewer outputs than its body, or an If than its branches.

    What it does:
        Compares the number of outputs of each node with that of its bodies. The condition that a
        Loop body returns does not count.
    Why is this bad:
        onnx.checker (full check) and ONNX Runtime refuse the model ("Graph attribute inferencing
        returned type information for 4 outputs. Expected 3"). irloop ignores the surplus outputs.
    Bad example:
        y = Loop <body (i, c, s) => (c_out, s_out, part)> (n, "", x)
    Good example:
        y, parts = Loop <body (i, c, s) => (c_out, s_out, part)> (n, "", x)
    Fix:
        Give the node an output for each output of its body, used or not, or remove unused outputs
        from the body.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per body that has more outputs than its node."""
        for node in context.nodes("Loop", "Scan", "If"):
            for body in node.bodies.values():
                count = len(body.outputs) - (node.type == "Loop")
                # A node without any output violates ONX104.
                if 0 < len(node.outputs) < count:
                    yield self._missing(node, body.outputs[len(node.outputs) - count :], count)

    def _missing(self, node: OutlineNode, names: tuple[str, ...], count: int) -> Diagnostic:
        return self.found(
            at_node(node),
            f"{node.type} {node.label!r} has fewer outputs than its body",
            expected=f"{count} outputs",
            found=f"{len(node.outputs)}, and none for {', '.join(map(repr, names[:8]))}",
            fix="give the node an output for each of them, or remove them from the body",
        )
