"""What inputs mean: operation classes declare it, so that valid inputs can be generated."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Condition", "Indices", "Lengths", "Meaning", "Parts", "Sizes", "TripCount"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of the input at a position."""

    position: int


@dataclass(frozen=True, slots=True)
class TripCount(Meaning):
    """The most iterations of a loop."""


@dataclass(frozen=True, slots=True)
class Condition(Meaning):
    """Whether a loop runs its first iteration, or which branch runs."""


@dataclass(frozen=True, slots=True)
class Indices(Meaning):
    """Indices into an axis of the input `data`: the attribute `axis` or, without one, any axis."""

    data: int


@dataclass(frozen=True, slots=True)
class Lengths(Meaning):
    """Lengths of sequences along an axis of the input `data`, which bounds them."""

    data: int
    axis: int


@dataclass(frozen=True, slots=True)
class Sizes(Meaning):
    """Sizes, counts or paddings, for which small positive numbers are always valid."""


@dataclass(frozen=True, slots=True)
class Parts(Meaning):
    """Lengths that add up to the size of an axis of input 0."""
