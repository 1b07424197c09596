"""The keys of JSON reports, from their published schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from docs.generate.markdown import table

__all__ = ["finding", "report"]


def report() -> str:
    """The keys of a report."""
    return _keys(_schema())


def finding() -> str:
    """The keys of a finding."""
    return _keys(_schema()["$defs"]["finding"])


def _schema() -> dict[str, Any]:
    text = files("irloop.schemas").joinpath("report-1.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _keys(part: Mapping[str, Any]) -> str:
    rows = [
        (f"`{key}`", _values(value), value["description"])
        for key, value in part["properties"].items()
    ]
    return table(("key", "value", "meaning"), rows)


def _values(part: Mapping[str, Any]) -> str:
    """A description of the allowed values."""
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "enum" in part:
        return ", ".join(f"`{json.dumps(item)}`" for item in part["enum"])
    kinds = [part["type"]] if isinstance(part["type"], str) else part["type"]
    return " or ".join(kinds)
