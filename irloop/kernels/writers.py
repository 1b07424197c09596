"""Kernels that can write their result into an array that exists already.

Loops use them to reuse the memory of the previous iteration, instead of allocating new arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

__all__ = [
    "WIDE",
    "Choose",
    "Writer",
    "activated",
    "makes_new",
    "new_result",
    "with_activations",
    "writer_of",
    "writes",
]

#: Takes the operands and, as the last argument, the array for the result, which shares no memory
#: with them.
Writer = Callable[..., Any]

#: Takes operands; returns a writer for operands of these shapes and element types, or None.
Choose = Callable[..., Writer | None]

#: The element types that kernels compute in without converting.
WIDE = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


def writes(choose: Choose) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for kernels that can write their result into an existing array.

    `choose` takes the operands. It returns the function that writes the result for them, or None if
    the operands are not supported.
    """

    def mark(kernel: Callable[..., Any]) -> Callable[..., Any]:
        kernel.__dict__["writer"] = choose
        return kernel

    return mark


def writer_of(kernel: Callable[..., Any]) -> Choose | None:
    """Return the function that selects a writer for `kernel`; None if the kernel has no writers.

    A writer computes the same function as the kernel, but stores the result in an existing array.
    """
    if isinstance(kernel, np.ufunc):
        return partial(_itself, kernel) if kernel.nout == 1 else None
    choose: Choose | None = getattr(kernel, "writer", None)
    return choose


def new_result(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a kernel whose result never shares memory with an operand or another result."""
    kernel.__dict__["makes_new"] = True
    return kernel


def makes_new(kernel: Callable[..., Any]) -> bool:
    """Return whether a kernel always returns a new array.

    This is so for ufuncs of NumPy and for kernels with the attribute `makes_new`.
    """
    return isinstance(kernel, np.ufunc) or getattr(kernel, "makes_new", False) is True


def with_activations(
    kernel: Callable[..., Any], make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    """Mark a kernel as one that can also compute an activation of its result.

    `make(activation)` returns a kernel that computes the result and applies the activation to it,
    block by block where that is faster.
    """
    for marked in (kernel, *map(kernel.__dict__.get, ("in_runs", "of_floats"))):
        if marked is not None:
            marked.__dict__["activated"] = make
    return kernel


def activated(
    kernel: Callable[..., Any], activation: Callable[..., Any]
) -> Callable[..., Any] | None:
    """Return a kernel that runs `kernel` and applies `activation` to its result.

    The result is None if `kernel` was not marked by `with_activations`.
    """
    make = getattr(kernel, "activated", None)
    return make and make(activation)


def _itself(kernel: np.ufunc, *_: Any) -> Writer:
    return kernel
