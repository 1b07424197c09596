"""Reads single lines of a model's XML file."""

from __future__ import annotations

import io
from collections.abc import Set

from irloop.opening import open_regular

__all__ = ["source_lines"]

#: Maximum number of bytes that are read of the file, shown of one line, and shown of all lines.
MOST_READ, MOST_LINE, MOST_SHOWN = 256 << 20, 400, 8 << 20


def source_lines(path: str, wanted: Set[int]) -> dict[int, str]:
    """The texts of lines by number, from 1; lines that cannot be read are left out."""
    texts: dict[int, str] = {}
    shown, last = 0, max(wanted, default=0)
    try:
        with io.BufferedReader(open_regular(path)) as raw:
            line, read = 1, 0
            while line <= last and read < MOST_READ and shown < MOST_SHOWN:
                text = raw.readline(MOST_READ - read)
                if not text:
                    break
                if line in wanted:
                    texts[line] = _line_text(text)
                    shown += len(texts[line])
                read += len(text)
                line += 1
    except OSError:
        # If the file no longer exists, the page shows only the line number.
        return texts
    return texts


def _line_text(text: bytes) -> str:
    decoded = text[: 4 * MOST_LINE].decode("utf-8", "replace").strip()
    return decoded if len(decoded) <= MOST_LINE else f"{decoded[:MOST_LINE]}…"
