"""Requirements of conversion rules on the inputs of a node: constant values, a known rank."""

from __future__ import annotations

from irloop.dialects.writing.writer import Writer
from irloop.graph.builder import integers_of, shape_of
from irloop.graph.model import Value

__all__ = ["ints", "length", "needed_axis", "needed_ints", "needed_rank"]


def ints(c: Writer, value: Value | None) -> list[int] | None:
    """The elements of a constant integer input; None if it is omitted or not constant."""
    return integers_of(value, c.constant_of)


def needed_ints(c: Writer, value: Value | None, what: str) -> list[int]:
    """Return the elements of an input that must be a constant in the other format.

    `what` names the input in the error message, "axis" for example.

    Raises:
        RefusedError: when the elements are known only when the model runs.
    """
    numbers = ints(c, value)
    if numbers is None:
        raise c.refuse(
            f"its {what} is computed while the model runs",
            f"make the {what} a constant (or give the inputs that it depends on static shapes)",
        )
    return numbers


def needed_axis(c: Writer, value: Value) -> int:
    """The single element of an axis input, which must be constant.

    Raises:
        RefusedError: when the input is computed while the model runs.
    """
    return needed_ints(c, value, "axis")[0]


def needed_rank(c: Writer, value: Value, what: str = "input") -> int:
    """The rank of a value that the conversion needs.

    Raises:
        RefusedError: when it is not known.
    """
    rank = shape_of(value).rank
    if rank is None:
        raise c.refuse(f"the rank of its {what} is not known", "declare the shapes of the inputs")
    return rank


def length(value: Value) -> int | None:
    """The number of elements of a list or scalar, or None when it is not known."""
    return shape_of(value).count()
