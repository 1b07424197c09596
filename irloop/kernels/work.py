"""Charges the budget for work that NumPy does in one call, which cannot be interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop import budget

__all__ = ["spend_each", "spend_overlaps", "spend_products", "spend_windows"]

#: Sums of products with fewer multiplications than this are not charged.
FEW = 1 << 18

#: Multiplications per step of the budget: floats use all processors, integers one.
OF_FLOATS, OF_INTEGERS = 100_000, 5_000

#: Nanoseconds in a step of the budget.
A_STEP = 5_000

#: Elements of windows per step of the budget.
OF_WINDOWS = 50_000


def spend_each(count: int, nanoseconds: int, what: str) -> None:
    """Spend the steps for `count` pieces of work that take `nanoseconds` each.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    budget.spend(count * nanoseconds // A_STEP, what)


def spend_products(count: int, dtype: np.dtype[Any], what: str) -> None:
    """Spend the steps for `count` multiplications in sums of products.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    if count > FEW:
        budget.spend(count // (OF_FLOATS if dtype.kind == "f" else OF_INTEGERS), what)


def spend_overlaps(count: int) -> None:
    """Spend the steps for the overlaps of one kept box with `count` others.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    budget.spend(5 + count // 200, "suppressing boxes")


def spend_windows(count: int) -> None:
    """Spend the steps for windows of `count` elements in total.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    if count > FEW:
        budget.spend(count // OF_WINDOWS, "pooling")
