"""Inlines Ifs with a constant condition, because OpenVINO may refuse the names of their outputs."""

from __future__ import annotations

from irloop.faults.repair import Known, Repair
from irloop.graph.model import Node
from irloop.passes.common.inline_constant_if import InlineConstantIf

__all__ = ["InlineConstantBranches"]


class InlineConstantBranches(Repair, InlineConstantIf):
    """Replaces an If whose condition is constant by the branch that it takes.

    Given::

        y = If(true, x):  then -x   else x

    Result::

        y = -x

    Folded loops make conditions constant. OpenVINO itself inlines such an If, and then may refuse
    the output names.
    """

    after = ("constant_loops",)

    def had(self, node: Node, known: Known) -> bool:
        return node.name in known.constant
