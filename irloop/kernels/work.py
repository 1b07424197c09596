"""Charges the budget for work that NumPy does in one call, which cannot be interrupted.

The budget limits the work on a model. The time of a call is estimated from the sizes of its
operands, and charged before the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop import budget

__all__ = [
    "MADE",
    "OBJECTS",
    "READ",
    "bytes_of",
    "factor_of",
    "spend_each",
    "spend_overlaps",
    "spend_products",
    "spend_windows",
    "steps_of_values",
]

#: Sums of products with at most this many multiplications are not charged.
FEW = 1 << 18

#: Multiplications of floats per step of the budget; they use all processors.
OF_FLOATS = 100_000

#: Multiplications of integers per step of the budget; they use one processor.
OF_INTEGERS = 5_000

#: Elements of large matrices that a product reads, per step of the budget: a product with few rows
#: waits for the memory. With one row, it reads a matrix where it lies (OF_READ_ONCE); with more, it
#: also packs it (OF_PACKED).
OF_READ_ONCE, OF_PACKED = 15_000, 6_000

#: Nanoseconds in a step of the budget.
A_STEP = 5_000

#: Steps of the budget for the roughly fifty calls of NumPy that compute the overlaps of one box
#: with others, however few the others are.
OVERLAPS = 10

#: Bytes of results per step of the budget.
MADE = 4_000

#: Bytes of operands per step of the budget.
READ = 16_000

#: NumPy is slow for floats of one or two bytes: each byte of them takes as long as this many bytes
#: of other types.
NARROW = 5

#: NumPy takes as long for Python objects (strings, items of sequences) as for other values this
#: many times as large.
OBJECTS = 20

#: Elements of windows per step of the budget.
OF_WINDOWS = 50_000


def spend_each(count: int, nanoseconds: int, what: str) -> None:
    """Charge the budget for `count` pieces of work that take `nanoseconds` each.

    `what` names the work in the error message.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    budget.spend(count * nanoseconds // A_STEP, what)


def spend_products(
    count: int, dtype: np.dtype[Any], what: str, *, read: int = 0, is_vector: bool = False
) -> None:
    """Charge the budget for matrix products or other sums of products.

    `count` is the number of multiplications, and `read` the number of matrix elements that have to
    be read. Set `is_vector` if the matrices are multiplied by a vector: reading them then costs
    fewer steps. `what` names the work in the error message.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    steps = 0
    if count > FEW:
        steps += count // (OF_FLOATS if dtype.kind == "f" else OF_INTEGERS)
    if read > FEW:
        steps += read // (OF_READ_ONCE if is_vector else OF_PACKED)
    if steps:
        budget.spend(steps, what)


def spend_overlaps(count: int, nanoseconds: int) -> None:
    """Charge the budget for the overlaps of one kept box with `count` other boxes.

    Computing one overlap takes `nanoseconds`.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    budget.spend(OVERLAPS + count * nanoseconds // A_STEP, "suppressing boxes")


def spend_windows(count: int) -> None:
    """Charge the budget for pooling windows that have `count` elements in total.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    if count > FEW:
        budget.spend(count // OF_WINDOWS, "pooling")


def steps_of_values(
    operands: Sequence[Any], results: Sequence[Any], *, parts: bool = False
) -> float:
    """Return the budget steps for reading `operands` and writing `results` once each.

    Results that are views of operands cost nothing to write; views of other arrays are charged in
    full. If all results are views of operands, the kernel costs 0 steps.

    Set `parts` for a kernel that reads only parts of its operands: then reading costs nothing.
    """
    owners: set[int] | None = None
    made = 0.0
    for array in results:
        if isinstance(array, np.ndarray) and array.base is not None:
            owners = owners or {id(_owner(value)) for value in operands}
            if id(_owner(array)) in owners:
                continue
        made += bytes_of(array)
    if not made and all(getattr(item, "base", None) is not None for item in results):
        return 0.0
    read = 0.0
    if not parts:
        for array in operands:
            read += bytes_of(array)
    return made / MADE + read / READ


def _owner(value: Any) -> Any:
    """Return the object that owns the memory of an array.

    For an array that is not a view, and for any other value, this is the value itself.
    """
    while isinstance(value, np.ndarray) and value.base is not None:
        value = value.base
    return value


def bytes_of(value: Any) -> float:
    """The number of bytes of an array, multiplied by `factor_of` its element type.

    A list counts as an array of Python objects; any other value counts as 0.
    """
    if isinstance(value, np.ndarray):
        dtype = value.dtype
        if dtype.itemsize > 2 and dtype.kind != "O":
            return float(value.nbytes)
        return float(value.nbytes * factor_of(dtype))
    return 8.0 * OBJECTS * len(value) if isinstance(value, list) else 0.0


def factor_of(dtype: np.dtype[Any]) -> int:
    """How many times longer NumPy takes for a byte of this type than for a byte of f32.

    The factor is above 1 for Python objects and for floats of one or two bytes. NumPy gives these
    floats the kind V, except f16.
    """
    if dtype.kind == "O":
        return OBJECTS
    return NARROW if dtype.itemsize <= 2 and dtype.kind in "fV" else 1
