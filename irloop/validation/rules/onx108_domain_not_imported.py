"""ONX108: domain without an opset import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.opset_imports import ImportOpset, newest_opset
from irloop.formats.onnx.outline import OutlineNode
from irloop.formats.onnx.versions import implied_opset, import_missing
from irloop.validation.onnx_context import OnnxContext, at_graph, at_node
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import OnnxRule


class DomainNotImported(
    OnnxRule,
    code="ONX108",
    severity=Severity.ERROR,
    title="domain without an opset import",
):
    """The model uses operations of a domain, but imports no opset of it.

    What it does:
        Looks for domains of nodes that are not in opset_import, and reports each domain once. For
        ai.onnx.ml and com.microsoft the finding is a warning, because ONNX Runtime uses the newest
        opset that it knows.
    Why is this bad:
        Without an opset it is not defined which version of an operation is meant. onnx.checker
        refuses the model ("No opset import for domain").
    Bad example:
        opset_import: ["" : 17] and a node of ai.onnx.ml
    Good example:
        opset_import: ["" : 17, "ai.onnx.ml" : 3] and the same node
    Fix:
        Import the opset for which the model was made.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per domain that the model uses but does not import, at its first node."""
        outline = context.outline
        if outline.ir_version >= 3 and not outline.imported and not outline.graph.nodes:
            # The nodes, if there are any, show which domains are missing.
            yield self.found(
                at_graph(outline.graph),
                "the model imports no opset",
                expected="an opset_import of 'ai.onnx'",
                found="none",
                fix="import the opset for which the model was made",
            )
        for node in _first_nodes(context):
            texts = import_missing(node.type, node.domain)
            finding = self.found(at_node(node), **texts, found="none")
            is_known = implied_opset(node.domain) is not None
            yield replace(finding, severity=Severity.WARNING) if is_known else finding

    def repairs(self, context: OnnxContext) -> Iterator[Repair]:
        """Yield a repair for each domain that is used but not imported.

        If ONNX Runtime lets a model omit this import, the version is the one that ONNX Runtime then
        uses. Otherwise, the version of ai.onnx is the newest opset of the model's IR version that
        has all operations of the model, and other domains get version 1. If there is no such opset,
        nothing is yielded for ai.onnx.
        """
        own = {domain for domain, _ in context.outline.functions}
        for node in _first_nodes(context):
            version, effect = implied_opset(node.domain), ""
            if version is None and not node.domain:
                types = {
                    item.type
                    for graph in context.graphs
                    for item in graph.nodes
                    if not item.domain and ("", item.type) not in context.outline.functions
                }
                version = newest_opset(types, context.outline.ir_version)
                effect = "assumes the newest opset of the model's IR version"
            elif version is None:
                version = 1
                # Functions of the model have no versions.
                effect = "" if node.domain in own else "assumes version 1"
            if version is None:
                continue
            text = f"opset_import of {node.domain or 'ai.onnx'} {version}"
            edit = ImportOpset(node.domain, version)
            yield self.repair(at_node(node), text, edit, effect=effect)


def _first_nodes(context: OnnxContext) -> list[OutlineNode]:
    """The first node of each domain that is not imported."""
    outline = context.outline
    if outline.ir_version < 3:
        # Models of these versions have no imports.
        return []
    first: dict[str, OutlineNode] = {}
    for graph in context.graphs:
        for node in graph.nodes:
            if node.domain not in outline.imported:
                first.setdefault(node.domain, node)
    return list(first.values())
