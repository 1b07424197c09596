"""Passes that run first when an ONNX model is converted; they replace Scan-8 and contrib ops."""

from __future__ import annotations

from collections.abc import Set

from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.onnx.control_flow import Scan8
from irloop.graph.clone import clone_model
from irloop.graph.model import Model
from irloop.graph.op import Op
from irloop.passes.base import ModelPass, PassConfig
from irloop.passes.common.scan8_to_scan9 import expand_batches
from irloop.passes.common.standardize import Standardize

__all__ = ["ExpandScan8", "StandardizeFirst"]


class ExpandScan8(ModelPass):
    """Replaces each Scan-8 by a Scan over the batch whose body scans one item.

    It is the same rewrite as `Scan8ToScan9`.

    Given::

        Scan-8(lengths, h [B,2], x [B,T,2])

    Result::

        Scan(lengths, h, x), length n, item h1, item x1:  Scan(h1, x1)

    Copies the graph if it holds a Scan-8, so that the source model stays unchanged.
    """

    name = "expand_scan8"

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        return Scan8 in kinds

    def run_on_model(self, model: Model) -> bool:
        work = clone_model(model)
        expand_batches(work)
        model.graph, model.opsets = work.graph, work.opsets
        return True


class StandardizeFirst(Standardize):
    """Replaces operations of ONNX Runtime by standard ones, as the pass `Standardize` does.

    Given::

        y = com.microsoft.BiasGelu(x, b)

    Result::

        y = Gelu(x + b)

    Copies the graph if it holds such operations, so that the source model stays unchanged.
    """

    name = "standardize_first"

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        return any(issubclass(kind, ContribOp) for kind in kinds)

    def run(self, model: Model, config: PassConfig) -> bool:
        work = clone_model(model)
        modified = super().run(work, config)
        model.graph = work.graph
        return modified
