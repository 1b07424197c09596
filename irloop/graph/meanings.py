"""The meanings of inputs, which operation classes declare so that valid inputs can be generated.

For example, an input may hold a trip count, a condition, indices or sizes. Random numbers would not
be valid there.
"""

from __future__ import annotations

from typing import ClassVar

from irloop.graph.record import Record

__all__ = [
    "Axes",
    "Condition",
    "Ends",
    "Indices",
    "Lengths",
    "Meaning",
    "NewShape",
    "Parts",
    "Portion",
    "Resized",
    "Rows",
    "Sizes",
    "Starts",
    "TripCount",
]


class Meaning(Record):
    """What the values of one input of an operation mean; `position` is the number of the input.

    `is_judged` is true if `Op.infer` refuses some values; false if every value is valid, or if only
    the kernel tells which are valid.
    """

    is_judged: ClassVar[bool] = True

    position: int


class TripCount(Meaning):
    """A trip count: the maximum number of iterations of a loop."""

    is_judged = False


class Condition(Meaning):
    """A condition, which decides whether a loop runs its first iteration, or which branch runs."""

    is_judged = False


class Indices(Meaning):
    """Indices into an axis of the input `data`.

    The attribute `axis` names the axis; an operation without it may index any axis.
    """

    is_judged = False

    data: int


class Rows(Indices):
    """Numbers of the rows of the input `data`, none of which is negative."""

    is_judged = True


class Lengths(Meaning):
    """Lengths of sequences, none of which exceeds the size of axis `axis` of input `data`."""

    data: int
    axis: int


class Sizes(Meaning):
    """Sizes, counts or paddings, for which small positive values are always valid."""


class Parts(Meaning):
    """Lengths that add up to the size of an axis of input 0."""


class Portion(Meaning):
    """A number from 0 to 1, such as the threshold of an overlap or of a score."""


class Axes(Meaning):
    """Axes of the input `data`, each at most once.

    If they are `single`, they are axes of size 1; if they are `new`, they are counted in the
    result, which has these axes as well.
    """

    data: int
    single: bool = False
    new: bool = False


class Starts(Meaning):
    """The first positions of slices of the input `data`."""

    is_judged = False

    data: int


class Ends(Meaning):
    """The ends of slices of the input `data`, which begin at positions drawn for `Starts`."""

    is_judged = False

    data: int


class Resized(Meaning):
    """New sizes of the last axes of an image in input `data`, or factors if they are floats."""

    data: int


class NewShape(Meaning):
    """A shape for the elements of another input, in which -1 stands for the remaining elements."""
