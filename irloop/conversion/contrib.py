"""Replaces parts of ONNX models by faster operations of ONNX Runtime's own domain."""

from __future__ import annotations

from irloop.conversion.neural.fused_attention import FuseAttention
from irloop.conversion.tensors.blocked_products import BlockedProducts
from irloop.dialects.contrib.base import DOMAIN
from irloop.graph.model import Model
from irloop.graph.walk import kinds_of
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.manager import Manager

__all__ = ["to_contrib"]


def to_contrib(model: Model) -> None:
    """Replace products with 4-bit weights, and attention, by operations of com.microsoft."""
    passes = [BlockedProducts(), FuseAttention(), DeadCode()]
    Manager(passes, name="contrib").run_passes(model)
    if any(kind.domain == DOMAIN for kind in kinds_of(model.graph)):
        model.opsets.setdefault(DOMAIN, 1)
