"""Estimates how wide a string is when it is drawn."""

from __future__ import annotations

__all__ = ["clipped", "width"]

#: Widths of the printable ASCII characters in Helvetica and similar fonts, in thousandths of the
#: size.
_WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip

#: The width of bold letters relative to normal ones.
_BOLD = 1.07


def width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of `text` in the units of `size`; characters other than ASCII count as wide."""
    total = sum(_WIDTHS[ord(c) - 32] if " " <= c <= "~" else 1000 for c in text)
    return total * size / 1000 * (_BOLD if bold else 1)


def clipped(text: str, limit: int) -> str:
    """Shorten `text` in the middle if it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    keep = limit - 1
    return f"{text[: keep - keep // 2]}…{text[len(text) - keep // 2 :]}"
