"""Rounds the zero points of FakeQuantize before a conversion, and tells by how much."""

from __future__ import annotations

from irloop.diagnostics import Diagnostic, Severity
from irloop.graph.model import Model
from irloop.passes.common.round_zero_points import RoundZeroPoints
from irloop.passes.manager import Manager

__all__ = ["round_zero_points"]


def round_zero_points(model: Model, levels: int) -> list[Diagnostic]:
    """Round the zero points of FakeQuantize with up to `levels` levels; return a note for each."""
    rounds = RoundZeroPoints(levels)
    Manager([rounds], name="quantization").run_passes(model)
    return [
        Diagnostic(
            "CNV115",
            Severity.INFO,
            f"FakeQuantize {place.path!r}: its zero point is rounded, which moves its numbers by "
            f"up to {rounding.shift:.3g}, {rounding.steps:.3g} of a step",
            location=place,
        )
        for place, rounding in rounds.changed
    ]
