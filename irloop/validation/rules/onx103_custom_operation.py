"""ONX103: operation outside the standard."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.contrib.base import DOMAIN, ContribOp
from irloop.dialects.contrib.refused import REASONS
from irloop.dialects.onnx import ONNX
from irloop.formats.onnx.outline import OutlineNode
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
        Reports each operation of another domain once.
    Why is this bad:
        It may be intended: com.microsoft, for example, is ONNX Runtime's own domain. But only a
        runtime that has the operation can run the model. irloop checks, runs and converts the
        operations of com.microsoft that `irloop ops` lists; of other operations it checks nothing.
    Bad example:
        a node of the domain my.company in a model for other users
    Good example:
        the same node with a function of that name in the model
    Fix:
        Define the operation as a function of the model, or export the model without it.
        `irloop convert --standard` writes ONNX Runtime's own operations as standard ones.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per operation that neither ONNX nor the model defines, at its first node."""
        seen = set(context.outline.functions)
        opsets = context.outline.opsets
        for graph in context.graphs:
            for node in graph.nodes:
                key = node.domain, node.type
                if key in seen:
                    continue
                cls = ONNX.find(node.type, opsets.get(node.domain, 1), node.domain)
                of_runtime = cls is not None and issubclass(cls, ContribOp)
                if node.domain in STANDARD and not of_runtime:
                    continue
                seen.add(key)
                yield self._finding(node, of_runtime)

    def _finding(self, node: OutlineNode, of_runtime: bool) -> Diagnostic:
        domain = node.domain or "ai.onnx"
        fix = "make sure that every runtime that gets this model has the operation"
        reason = REASONS.get(node.type, "") if node.domain == DOMAIN else ""
        return self.found(
            at_node(node),
            f"{node.type!r} of the domain {domain!r} is not in the ONNX standard",
            expected="an operation of ai.onnx or ai.onnx.ml, or a function of the model",
            found="an operation of ONNX Runtime" if of_runtime else f"domain {domain!r}",
            cause=f"irloop does not run or convert it: {reason}" if reason else "",
            fix="write standard ONNX: irloop convert --standard" if of_runtime else fix,
        )
