"""Repeats the passes that make a model smaller until none of them changes anything."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.graph.model import Model
from irloop.passes.base import PassConfig
from irloop.passes.common.common_subexpressions import CommonSubexpressions
from irloop.passes.common.constant_folding import ConstantFolding
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.common.fold_trips import FoldTrips
from irloop.passes.common.hoist_invariants import HoistInvariants
from irloop.passes.common.identity_elimination import IdentityElimination
from irloop.passes.common.inline_constant_if import InlineConstantIf
from irloop.passes.manager import Manager
from irloop.passes.options import option

__all__ = ["Simplify"]


@dataclass(eq=False)
class Simplify(Manager):
    """Repeats the passes that make a model smaller until none of them changes anything.

    Given::

        If(Equal(2, 2), x):  then y = Identity(x) + (1 + 2)   else ...

    Result::

        y = x + 3

    The passes are constant_folding, inline_constant_if, fold_trips, identity_elimination,
    hoist_invariants, common_subexpressions and dead_code; each can be disabled by its name.
    """

    name = "simplify"
    rounds: int = option(10, "maximum number of rounds, each of which runs all passes")

    def __post_init__(self) -> None:
        super().__init__(
            [
                # Fold conditions and trip counts first, because the next two passes need constants.
                ConstantFolding(),
                InlineConstantIf(),
                FoldTrips(),
                # Operations that were moved out of bodies may be without effect now, or
                # loop-invariant.
                IdentityElimination(),
                HoistInvariants(),
                # Operations moved out of bodies may be duplicates now.
                CommonSubexpressions(),
                # Dead code is removed last, because all the other passes leave unread nodes.
                DeadCode(),
            ]
        )

    def _run_all(self, model: Model, config: PassConfig, outer: Manager, depth: int) -> bool:
        records, modified = [], False
        for _ in range(self.rounds):
            changed = super()._run_all(model, config, outer, depth)
            records += self.records
            modified |= changed
            if not changed:
                break
        self.records = records
        return modified
