"""Represents sequences and optionals during conversion, because IR has tensors only.

A sequence of known length is a list of tensors; a sequence that a loop appends to becomes a tensor
whose first axis counts the items; an optional is represented by its item, or by nothing if it is
empty. None of these are written to the file: the operations that read them become operations on
tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from irloop.graph.model import Value
from irloop.graph.record import Record

__all__ = ["Growing", "Items", "Joined", "Maybe", "Ragged", "Stacked", "Virtual", "mapped"]


class Virtual(Record):
    """A value of the source for which the target has no type."""


class Items(Virtual):
    """A sequence of known length."""

    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"a sequence of {len(self.values)} tensors"


class Stacked(Virtual):
    """A sequence of tensors of one shape, stacked along a new first axis."""

    tensor: Value

    def __str__(self) -> str:
        return "a sequence of tensors of one shape"


class Ragged(Virtual):
    """A sequence of tensors of one rank, whose sizes may differ: all their elements as one list.

    `sizes` has a row for each item: its shape.
    """

    elements: Value
    sizes: Value

    def __str__(self) -> str:
        return "a sequence of tensors of several sizes"


class Joined(Virtual):
    """A sequence whose items are already concatenated along `axis`.

    The items may differ in the size of this axis. The only operations that read such a sequence are
    those that append an item to it, and a ConcatFromSequence along the axis.
    """

    tensor: Value
    axis: int

    def __str__(self) -> str:
        return f"a sequence of tensors that are concatenated along axis {self.axis}"


class Growing(Virtual):
    """A sequence in a loop body that appends items to it and does nothing else with it.

    `appended` is the item that the body has appended; None if it has not appended one.
    """

    appended: Value | None = None

    def __str__(self) -> str:
        return "a sequence that the loop appends to"


class Maybe(Virtual):
    """An optional that is known to hold a value, or known to be empty.

    If that is known only at run time, `filled` is a boolean that tells whether `item` counts.
    """

    item: Value | Items | Ragged | Stacked | None
    filled: Value | None = None

    def __str__(self) -> str:
        if self.filled is not None:
            return "an optional that may be empty"
        return "an empty optional" if self.item is None else "an optional"


def mapped(value: Value | Virtual, change: Callable[[Value], Value]) -> Value | Virtual:
    """Apply `change` to every tensor of which a value consists.

    Returns a value of the same kind, with the changed tensors.
    """
    if isinstance(value, Value):
        return change(value)
    if isinstance(value, Items):
        return Items(tuple(change(tensor) for tensor in value.values))
    if isinstance(value, Stacked | Joined):
        return replace(value, tensor=change(value.tensor))
    if isinstance(value, Ragged):
        return Ragged(change(value.elements), change(value.sizes))
    if isinstance(value, Maybe) and value.item is not None:
        inner = mapped(value.item, change)
        assert isinstance(inner, Value | Items | Ragged | Stacked)
        return Maybe(inner, None if value.filled is None else change(value.filled))
    return value
