"""Texts of the project that are pages of the site, too: changelog and contribution guide."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["pages"]

ROOT = Path(__file__).resolve().parents[2]

#: Targets of links on the site; other files of the project are only named.
_PLACES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def pages() -> dict[str, str]:
    """The texts, keyed by path, with links for the site."""
    return {place: _text(ROOT / name) for name, place in _PLACES.items()}


def _text(path: Path) -> str:
    return re.sub(r"\[([^]]+)\]\(([^)#:]+)\)", _link, path.read_text(encoding="utf-8"))


def _link(match: re.Match[str]) -> str:
    label, target = match.groups()
    if target == "README.md":
        return f"[{label}](index.md)"
    return f"[{label}]({_PLACES[target]})" if target in _PLACES else f"`{label}`"
