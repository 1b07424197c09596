"""Operations of ONNX Runtime that irloop reads and writes, but neither runs nor converts."""

from __future__ import annotations

from irloop.dialects.contrib.base import DOMAIN
from irloop.graph.op import Op, UnknownOp

__all__ = ["REASONS", "reason_of"]

_SEARCH = (
    "it runs a search over a decoder graph with generation rules of ONNX Runtime that no "
    "standard operation has; convert only the decoder, and search outside the model"
)
_RANDOM = "it draws random numbers by ONNX Runtime's own generator"
_EXPERTS = "it routes each row to experts by their scores, which irloop does not decompose"
_PAGES = "it keeps its cache in pages whose layout only ONNX Runtime's CUDA provider knows"
_LONGFORMER = (
    "its definition does not say by which scales its biases are divided, nor how its window, its "
    "global tokens and its mask combine; only the CUDA kernels of ONNX Runtime decide this"
)
_BINARY = "it holds a model compiled for one device"

#: For each type, the reason why it is refused; types that are not listed are unknown.
REASONS: dict[str, str] = {
    "BeamSearch": _SEARCH,
    "BitmaskBiasDropout": _RANDOM,
    "BitmaskDropout": _RANDOM,
    "EPContext": _BINARY,
    "GreedySearch": _SEARCH,
    "MoE": _EXPERTS,
    "PagedAttention": _PAGES,
    "QMoE": _EXPERTS,
    "QOrderedLongformerAttention": _LONGFORMER,
    "Sampling": f"{_RANDOM}; {_SEARCH}",
    "Snpe": _BINARY,
    "SparsePagedAttention": _PAGES,
    "WhisperBeamSearch": _SEARCH,
}


def reason_of(op: Op) -> str:
    """The reason why irloop refuses an operation that has no class; empty if no reason is known."""
    if not isinstance(op, UnknownOp) or op.op_domain != DOMAIN:
        return ""
    return REASONS.get(op.name, "")
