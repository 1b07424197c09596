"""Asks the budget for work that NumPy does in one call, which nothing interrupts."""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop import budget

__all__ = ["spend_products"]

#: Products that fewer than this many multiplications make are not counted.
FEW = 1 << 24

#: Multiplications of a step of the budget: floats with all processors, integers with one.
OF_FLOATS, OF_INTEGERS = 200_000, 5_000


def spend_products(count: int, dtype: np.dtype[Any], what: str) -> None:
    """Spend the steps for `count` multiplications in sums of products.

    Raises:
        LimitError: when the budget has fewer.
    """
    if count > FEW:
        budget.spend(count // (OF_FLOATS if dtype.kind == "f" else OF_INTEGERS), what)
