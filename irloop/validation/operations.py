"""What the attributes in `data` may be, by operation; filled by the operation classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irloop.diagnostics import Location

if TYPE_CHECKING:
    from irloop.validation.context import Context

__all__ = ["AttributeProblem", "attribute_problems"]


@dataclass(frozen=True)
class AttributeProblem:
    """One thing wrong with an attribute; `code` is the rule that reports it."""

    code: str
    place: Location
    message: str
    expected: str = ""
    found: str = ""
    cause: str = ""
    fix: str = ""


def attribute_problems(context: Context) -> Iterator[AttributeProblem]:
    """Everything wrong with the attributes in `data` of all layers."""
    return iter(())
