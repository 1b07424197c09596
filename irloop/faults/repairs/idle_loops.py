"""Removes Loops that never run, for example because their trip count is 0.

OpenVINO fails to compile some of them.
"""

from __future__ import annotations

from irloop.dialects.openvino import control_flow as ov
from irloop.faults.repair import Known, Repair
from irloop.graph.inference import Inference
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.passes.common.unroll import Unroll
from irloop.passes.trips import trip_count

__all__ = ["RemoveIdleLoops", "is_idle_by_constants"]


class RemoveIdleLoops(Repair, Unroll):
    """Removes Loops that never run, because OpenVINO fails to compile some of them.

    Given::

        Loop(3, Const false, a):  s: a, s' = s + s   -> last s

    Result::

        a
    """

    name = "remove_idle_loops"
    after = ("constant_branches",)
    leaves_dead_code = True

    def had(self, node: Node, known: Known) -> bool:
        return is_idle_by_constants(node, known.inference)

    def __init__(self) -> None:
        super().__init__(trips=0)


def is_idle_by_constants(node: Node, inference: Inference) -> bool:
    """Return whether a loop never runs, and OpenVINO sees this as soon as it reads the model.

    A Loop qualifies only if its trip count and its condition are Constants (or omitted). If one of
    them is computed from constants, OpenVINO runs the Loop, but may fail after a pass has folded
    the computation.
    """
    if trip_count(node, inference) != 0:
        return False
    if not isinstance(node.op, ov.Loop):
        return True
    given = [value for value in node.inputs[:2] if value is not None]
    return all(isinstance(value.producer.op, Constant) for value in given)
