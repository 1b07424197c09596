"""The base of the passes that keep an engine from faults of whole loops or models."""

from __future__ import annotations

from typing import ClassVar

from irloop.graph.inference import Inference
from irloop.graph.model import Node
from irloop.graph.record import Record
from irloop.passes.base import Pass

__all__ = ["Known", "Repair"]


class Known(Record):
    """Facts about a model that `Repair.had` needs; they are computed once."""

    inference: Inference
    #: The names of loops that depend on constants only, and of Ifs whose condition does so.
    constant: frozenset[str]


class Repair(Pass):
    """A pass that rewrites what an engine would refuse or compute wrongly.

    The modules of `irloop.faults.repairs` hold one each. A fault names its module in `avoided_by`,
    and a pass that no fault of an engine names does not run for this engine.
    """

    #: The modules whose passes must run before this one, or "operation_forms" for the repairs of
    #: single nodes.
    after: ClassVar[tuple[str, ...]] = ()
    #: Whether the pass leaves values that nothing reads, which a conversion then removes.
    leaves_dead_code: ClassVar[bool] = False

    def on_source(self) -> list[Pass]:
        """Return passes that a conversion also runs first, on its source model; by default none."""
        return []

    def had(self, node: Node, known: Known) -> bool:
        """Return whether `node` has what this pass rewrites before `transform` runs passes.

        If so, `transform` leaves it as it is. By default, the pass may rewrite every node.
        """
        return False
