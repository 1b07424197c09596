"""The page of the results of a sweep: tables in the design of other reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irloop.pages.page import page

__all__ = ["Table", "table_page"]

#: The title of a table, the names of its columns, and its rows. A cell is a text, a number, or a
#: text with an address: ``{"text": ..., "href": ...}``.
Table = tuple[str, Sequence[str], Sequence[Sequence[Any]]]


def table_page(
    title: str, verdict: tuple[str, str], notes: Sequence[str], tables: Sequence[Table]
) -> str:
    """The text of a page of tables, which can be sorted and filtered.

    `verdict` is a level (good, bad, unsure) and its words; `notes` come before the tables.
    """
    sections: list[dict[str, Any]] = [{"title": "Sweep", "lines": list(notes)}] if notes else []
    for name, heads, rows in tables:
        columns = [
            {"name": head, "kind": "number" if _are_numbers(rows, at) else "text"}
            for at, head in enumerate(heads)
        ]
        sections.append(
            {"title": name, "table": {"columns": columns, "rows": [[*row] for row in rows]}}
        )
    level, words = verdict
    report = {"verdict": {"level": level, "text": words}, "before": sections, "after": []}
    return page({"title": title, "models": [], "report": report})


def _are_numbers(rows: Sequence[Sequence[Any]], at: int) -> bool:
    return all(isinstance(row[at], int | float) for row in rows)
