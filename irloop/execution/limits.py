"""Limits of a run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; None lifts a bound. Reaching one raises `LimitError`.

    `max_iterations` counts for each execution of each loop by itself. `max_memory`, in bytes,
    bounds what the run allocates, constants and inputs not counted. `max_seconds` is looked at
    between operations:
    a single operation is not interrupted.
    """

    max_iterations: int | None = 10_000_000
    max_memory: int | None = 8 * 2**30
    max_seconds: float | None = 3600.0
