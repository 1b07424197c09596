"""Limits of a run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; None lifts a bound. Reaching one raises `LimitError`.

    `iterations` counts for each execution of each loop by itself. `memory_bytes` bounds what the
    run allocates, constants and inputs not counted. `seconds` is looked at between operations:
    a single operation is not interrupted.
    """

    iterations: int | None = 10_000_000
    memory_bytes: int | None = 8 * 2**30
    seconds: float | None = 3600.0
