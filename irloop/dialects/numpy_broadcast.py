"""Finds out whether an operation aligns its operands at the last dimension, as NumPy does."""

from __future__ import annotations

from irloop.graph.model import Node

__all__ = ["broadcasts_as_numpy"]


def broadcasts_as_numpy(node: Node) -> bool:
    """Return whether `node` aligns its operands at the last dimension, or requires equal shapes."""
    mode = str(getattr(node.op, "auto_broadcast", "numpy")).lower()
    # ONNX before opset 7 has the attributes `broadcast` and `axis`.
    return mode in ("numpy", "none") and getattr(node.op, "broadcast", False) is not True
