"""Removes loops whose number of iterations is 0 or 1."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.passes.common.unroll import Unroll

__all__ = ["FoldTrips"]


@dataclass(eq=False)
class FoldTrips(Unroll):
    """Removes loops that never run, and replaces a loop that runs once by its body.

    Given::

        Loop(1, true, a):  a' = a + i     -> last a, stacked a'

    Result::

        a' = a + 0    stacked = Unsqueeze(a')
    """

    name = "fold_trips"
    trips: int = 1
