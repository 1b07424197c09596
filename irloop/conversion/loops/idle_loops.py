"""Removes Loops that never run."""

from __future__ import annotations

from irloop.passes.common.unroll import Unroll

__all__ = ["RemoveIdleLoops"]


class RemoveIdleLoops(Unroll):
    """Removes Loops that never run, because OpenVINO fails to compile some of them.

    Given::

        Loop(3, Const false, a):  s: a, s' = s + s   -> last s

    Result::

        a
    """

    name = "remove_idle_loops"

    def __init__(self) -> None:
        super().__init__(trips=0)
