"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["cell", "fenced", "table", "ticked"]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def cell(text: str) -> str:
    """Markdown that is safe in a table cell; vertical bars in code are escaped."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def fenced(text: str, language: str = "text") -> str:
    """A block of code."""
    fence = "````" if "```" in text else "```"
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"


def ticked(text: str) -> str:
    """Text with its XML elements as code, unless they are marked as code already."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"<[^>]+>", lambda tag: f"`{tag.group()}`", part)
        for part in parts
    )
