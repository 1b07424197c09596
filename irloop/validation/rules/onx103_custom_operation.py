"""ONX103: operation outside the standard."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.signature import STANDARD
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class CustomOperation(
    OnnxRule,
    code="ONX103",
    severity=Severity.INFO,
    title="operation outside the standard",
):
    """A node has a domain that ONNX does not define, and is not a function of the model.

    What it does:
        Lists the operations of other domains, once each.
    Why is this bad:
        It may be intended: com.microsoft, for example, is ONNX Runtime's own domain. But only a
        runtime that has the operation can run the model; its operands cannot be checked, and irloop
        can neither convert nor run it.
    Bad example:
        a node of the domain my.company in a model for other users
    Good example:
        the same node with a function of that name in the model
    Fix:
        Define the operation as a function of the model, or export the model without it.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per operation, at its first node."""
        seen = set(context.outline.functions)
        for graph in context.graphs:
            for node in graph.nodes:
                key = node.domain, node.type
                if node.domain in STANDARD or key in seen:
                    continue
                seen.add(key)
                yield self.found(
                    at_node(node),
                    f"{node.type!r} of the domain {node.domain!r} is not of the standard",
                    expected="an operation of ai.onnx or ai.onnx.ml, or a function of the model",
                    found=f"domain {node.domain!r}",
                    fix="make sure that every runtime of this model knows it",
                )
