"""Finds integers that a run computes and that do not fit into 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop.errors import IrloopError
from irloop.execution.limits import Limits
from irloop.execution.session import Session
from irloop.execution.trace import TraceEvent
from irloop.graph.model import Model

__all__ = ["first_long_integer"]

_BOUND = 2**31


class _Search:
    """A tracer that keeps the first operation with a result beyond 32 bits, and this number."""

    def __init__(self) -> None:
        self.path = ""
        self.number = 0

    def __call__(self, event: TraceEvent) -> None:
        if self.path or not event.node.op.elementwise:
            return
        for value in event.outputs:
            number = _longest(value)
            if not -_BOUND <= number < _BOUND:
                self.path, self.number = event.path, number


def _longest(value: Any) -> int:
    """Return the integer of the largest magnitude in an array of 64-bit integers, else 0."""
    if getattr(value, "dtype", None) not in (np.int64, np.uint64):
        # A sequence, an omitted output, or another type.
        return 0
    return max(int(value.max()), int(value.min()), key=abs) if value.size else 0


def first_long_integer(model: Model, arrays: tuple[Any, ...], limits: Limits) -> tuple[str, int]:
    """Return the path of the first elementwise operation whose i64 or u64 result needs more bits
    than 32, and the number; an empty path if there is none, or if the run fails.
    """
    search = _Search()
    try:
        Session(model, hoist=False).run(arrays, limits=limits, trace=search)
    except IrloopError:
        return "", 0
    return search.path, search.number
