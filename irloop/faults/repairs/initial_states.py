"""Selects the initial states of Loops that may run zero iterations, for releases that lose them."""

from __future__ import annotations

from irloop.faults.repair import Repair
from irloop.passes.common.choose_initial_states import ChooseInitialStates

__all__ = ["SelectInitialStates"]


class SelectInitialStates(Repair, ChooseInitialStates):
    """Selects the initial value of a state, not the last one, if a Loop runs no iteration.

    Given::

        Loop(n, c, x):  state a: x, a' = a + 1   -> last a

    Result::

        a = Select(n != 0 and c, last a, x)
    """
