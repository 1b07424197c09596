"""The words of verdicts, as a table."""

from __future__ import annotations

from docs.generate.markdown import table
from irloop.comparison.outcome import OUTCOMES

__all__ = ["words"]


def words() -> str:
    """The words, their values in JSON and tables, the exit status of a check, and the meaning."""
    rows = [
        (item.words, f"`{value}`", str(item.status), item.meaning)
        for value, item in OUTCOMES.items()
    ]
    return table(("words", "in JSON and tables", "status", "meaning"), rows)
