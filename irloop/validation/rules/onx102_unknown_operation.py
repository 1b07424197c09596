"""ONX102: operation that the standard does not have."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.onnx import ONNX
from irloop.formats.onnx.opset_imports import ImportOpset, smallest_opset
from irloop.formats.onnx.signature import signature_of
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import OnnxRule

#: Deprecated operations that ONNX Runtime and OpenVINO run in every opset that has them.
RUN_ANYWAY = frozenset({"GroupNormalization"})


class UnknownOperation(
    OnnxRule,
    code="ONX102",
    severity=Severity.ERROR,
    title="operation that the standard does not have",
):
    """A node in a standard domain names an operation that its opset does not have.

    What it does:
        Looks up each node of ai.onnx and ai.onnx.ml that the model does not define as a function,
        in the opset that the model imports; operations that the opset removed count as unknown.
        GroupNormalization of opsets 18 to 20 is deprecated, but the engines run it.
        SimplifiedLayerNormalization, LayerNormalization before opset 17, and some operations up to
        opset 9 (Crop, for example) are left to ONX103, because ONNX Runtime has them in ai.onnx.
    Why is this bad:
        onnx.checker and ONNX Runtime refuse the model ("No Op registered for"), OpenVINO cannot
        convert it.
    Bad example:
        a node of type MatMulX; Gelu with opset 17 (it was introduced in opset 20)
    Good example:
        a node of type MatMul
    Fix:
        Correct the type, or convert the model to an opset that has the operation.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per node of a standard domain whose operation the opset does not have.

        The opset is the one that the model imports.
        """
        for node, signature in context.standard_nodes:
            if signature is not None and (not signature.deprecated or node.type in RUN_ANYWAY):
                continue
            version = context.opset(node) or 0
            known = ONNX.find(node.type, version, node.domain)
            if known is not None and issubclass(known, ContribOp):
                continue
            opset = f"opset {version} of {node.domain or 'ai.onnx'}"
            gone = signature is not None
            yield self.found(
                at_node(node),
                f"{opset} has {'removed' if gone else 'no operation'} {node.type!r}",
                expected=f"an operation of {opset}",
                found=repr(node.type),
                cause="the node belongs to an older opset than the model imports"
                if gone
                else "a misspelling, an operation of another opset, or a missing domain",
                fix="convert the model to an opset that has it, or correct the type or domain",
            )

    def repairs(self, context: OnnxContext) -> Iterator[Repair]:
        """Import the lowest newer opset that has all operations of the model."""
        opset = context.outline.opsets.get("")
        nodes = [
            (node, found)
            for node, found in context.standard_nodes
            if not node.domain and node.graph.outermost is context.outline.graph
        ]
        unknown = [node for node, found in nodes if found is None]
        if opset is None or not unknown:
            return
        version = smallest_opset({node.type for node, _ in nodes}, opset)
        if version is None:
            return
        changed = {
            f"{found.label} becomes {new.label}"
            for node, found in nodes
            if found is not None
            and (new := signature_of(node.type, version, "")) is not None
            and new.label != found.label
        }
        text = f"opset_import of ai.onnx {version}"
        yield self.repair(
            at_node(unknown[0]),
            text,
            ImportOpset("", version),
            effect=", ".join(sorted(changed)),
        )
