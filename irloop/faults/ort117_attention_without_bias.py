"""ORT117: com.microsoft.Attention without a bias."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Node

__all__ = ["AttentionWithoutBias"]


class AttentionWithoutBias(
    Fault,
    code="ORT117",
    engine="onnxruntime",
    title="com.microsoft.Attention without a bias",
    effect=Effect.CRASH,
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


@AttentionWithoutBias.case(
    "contrib_attention_without_bias",
    "ONNX: empty tensors, omitted inputs",
    "ONNX Runtime's schema of com.microsoft.Attention",
    "bias (optional): bias tensor for the input projection.",
    # With only one position, attention returns its value, 2 * 5.
    run([[[[2]]], [[3, 4, 5]]], [[[[10]]]]),
)
def smallest() -> str:
    return """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
g (float[1, 1, 1] x, float[1, 3] w) => (float[1, 1, 1] y) {
  y = com.microsoft.Attention <num_heads = 1> (x, w)
}"""
