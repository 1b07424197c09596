"""The pass library: one file a pass, what it is given and what results drawn in it."""

from __future__ import annotations

from irloop.passes.base import Pass, by_name
from irloop.passes.common.common_subexpressions import CommonSubexpressions
from irloop.passes.common.constant_folding import ConstantFolding
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.common.hoist_invariants import HoistInvariants
from irloop.passes.common.inline_constant_if import InlineConstantIf
from irloop.passes.common.unroll import FoldTrips, Unroll

__all__ = [
    "LIBRARY",
    "CommonSubexpressions",
    "ConstantFolding",
    "DeadCode",
    "FoldTrips",
    "HoistInvariants",
    "InlineConstantIf",
    "Unroll",
]

#: Every pass by the name that the command line knows it by.
LIBRARY: dict[str, type[Pass]] = by_name(
    [
        CommonSubexpressions,
        ConstantFolding,
        DeadCode,
        FoldTrips,
        HoistInvariants,
        InlineConstantIf,
        Unroll,
    ]
)
