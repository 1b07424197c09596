"""ORT117: com.microsoft.Attention without a bias."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["AttentionWithoutBias"]


class AttentionWithoutBias(
    Hazard,
    code="ORT117",
    engine="onnxruntime",
    versions=("1.31.1",),
    title="com.microsoft.Attention without a bias",
    effect=Effect.CRASH,
    case="contrib_attention_without_bias",
    fix="Connect a bias of zeros.",
):
    """com.microsoft.Attention without a bias.

    What happens:
        The CPU provider reads the bias, and the process dies (SIGSEGV). The bias is optional in the
        schema of the operation.
    Where:
        Input 2 of Attention (domain com.microsoft) is omitted.
    What irloop does:
        `convert --standard` and conversion to IR express the operation by other operations.
    """

    def find(self, node: Node) -> Iterator[str]:
        is_attention = (node.op.domain, node.op.type) == ("com.microsoft", "Attention")
        if is_attention and (len(node.inputs) < 3 or node.inputs[2] is None):
            yield f"Attention {node.name!r} has no bias"
