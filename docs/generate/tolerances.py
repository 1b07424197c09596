"""The tolerances of comparisons, as a table."""

from __future__ import annotations

from docs.generate.markdown import table, ticked
from irloop.comparison.measure import ALLOWANCES

__all__ = ["allowances"]


def allowances() -> str:
    """One row for each group of element types."""
    rows = [
        (", ".join(item.types), _number(item.relative), _number(item.absolute), ticked(item.reason))
        for item in ALLOWANCES
    ]
    return table(("element types", "relative", "absolute", "why"), rows)


def _number(value: float) -> str:
    return f"{value:.2g}" if value else "0"
