"""Copies the values in bodies that OpenVINO's CPU plugin would overwrite."""

from __future__ import annotations

from irloop.faults.repair import Repair
from irloop.passes.common.body_barriers import BodyBarriers

__all__ = ["CopyInBodies"]


class CopyInBodies(Repair, BodyBarriers):
    """Copies body values that share memory with a value that the plugin overwrites.

    Given::

        Loop(3, true, a, b):  s: a, s' = t   t: b, t' = s            -> last s, last t

    Result::

        Loop(3, true, a, b):  s: a, s' = Maximum(t, t)   t: b, t' = Maximum(s, s)  -> last s, last t
    """

    # It comes last, because it needs the final bodies.
    after = ("loop_outputs",)
