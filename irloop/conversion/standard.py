"""Replaces ONNX Runtime's own operations by those of the standard, and the other way round."""

from __future__ import annotations

from irloop.conversion.neural.fused_attention import FuseAttention
from irloop.conversion.tensors.blocked_products import BlockedProducts
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.contrib.base import DOMAIN, ContribOp
from irloop.dialects.contrib.refused import reason_of
from irloop.errors import UnsupportedError
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Node
from irloop.graph.op import UnknownOp
from irloop.graph.walk import all_nodes, kinds_of, node_path
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.common.standardize import Standardize, why_not
from irloop.passes.manager import Manager

__all__ = ["to_contrib", "to_standard"]


def to_standard(model: Model) -> None:
    """Replace each of ONNX Runtime's own operations in `model` by standard operations.

    Raises:
        UnsupportedError: naming every operation that standard operations cannot compute, with the
            reason.
    """
    Manager([Standardize(), DeadCode()], name="standard").run_passes(model)
    left = [node for node in all_nodes(model.graph) if _is_of_runtime(node)]
    if not left:
        return
    inference = Inference(tolerant=True)
    inference.run(model.graph)
    opset = model.opsets.get("", 0)
    findings = [_refusal(node, inference, opset) for node in left]
    message = f"operations that standard operations cannot express: {len(left)}"
    raise UnsupportedError(message, diagnostics=findings)


def _is_of_runtime(node: Node) -> bool:
    op = node.op
    return isinstance(op, ContribOp) or (isinstance(op, UnknownOp) and op.op_domain == DOMAIN)


def _refusal(node: Node, inference: Inference, opset: int) -> Diagnostic:
    path = node_path(node)
    if isinstance(node.op, ContribOp):
        reason = why_not(node, inference, opset)
    else:
        reason = reason_of(node.op) or "irloop does not know this operation"
    return Diagnostic(
        "CNV001",
        Severity.ERROR,
        f"{node.op.label} {path!r} cannot be expressed by standard operations: {reason}",
        location=Location(line=node.location.line, path=path),
    )


def to_contrib(model: Model) -> None:
    """Replace products with 4-bit weights, and attention, by operations of com.microsoft."""
    passes = [BlockedProducts(), FuseAttention(), DeadCode()]
    Manager(passes, name="contrib").run_passes(model)
    if any(kind.domain == DOMAIN for kind in kinds_of(model.graph)):
        model.opsets.setdefault(DOMAIN, 1)
