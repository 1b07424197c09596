"""Computes elementwise functions of several steps in blocks that fit in the cache of a core."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = [
    "BLOCK",
    "BlockStep",
    "OverStep",
    "block_step",
    "constant",
    "in_blocks",
    "of_blocks",
    "on_itself",
    "over_step",
    "overwrite",
]

Array = np.ndarray[Any, np.dtype[Any]]

#: Takes a block of the operand, and the array for its result, which shares no memory with it.
BlockStep = Callable[[Array, Array], Any]

#: Takes a block, which it replaces by the result, and an array like it for intermediate results.
OverStep = Callable[[Array, Array], Any]

#: Number of elements of a block.
BLOCK = 1 << 14

#: For arrays with fewer elements, a second operand of the same length is not faster than a scalar.
_SMALL = 1 << 8


def in_blocks(step: BlockStep, x: Array) -> Any:
    """Return a new array of the type of `x`, filled by `step(source, target)` block by block."""
    if x.ndim == 0:
        # Operations on an array without dimensions return scalars, which cannot be written into.
        return in_blocks(step, x.reshape(1)).reshape(())
    made = np.empty_like(x)
    if x.size <= BLOCK or not x.flags.c_contiguous:
        step(x, made)
        return made
    source, target = x.reshape(-1), made.reshape(-1)
    for first in range(0, source.size, BLOCK):
        step(source[first : first + BLOCK], target[first : first + BLOCK])
    return made


def of_blocks(
    step: BlockStep, over: OverStep | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for elementwise kernels that can compute their result block by block.

    `step` computes one block of the result into another array, so that calling the kernel with an
    f32 or f64 operand x must be the same as `in_blocks(step, x)`. `over` replaces a block of the
    operand by its result; if it is None, a slower function that copies the block and calls `step`
    is used instead. The decorator stores both functions in the kernel, where `block_step` and
    `over_step` find them.
    """

    def on_copy(x: Array, room: Array) -> None:
        np.copyto(room, x)
        step(room, x)

    def mark(kernel: Callable[..., Any]) -> Callable[..., Any]:
        kernel.__dict__.update(block_step=step, over_step=over or on_copy, makes_new=True)
        return kernel

    return mark


def block_step(kernel: Callable[..., Any]) -> BlockStep | None:
    """Return the function that computes one block of a kernel's result, or None.

    Only kernels that are marked with `of_blocks` have such a function.
    """
    found: BlockStep | None = getattr(kernel, "block_step", None)
    return found


def on_itself(step: BlockStep) -> OverStep:
    """Return a function that replaces a block x by its result, by calling `step(x, x)`.

    Use it only for a `step` that may write its result into the array that it reads.
    """
    return lambda x, _: step(x, x)


def over_step(kernel: Callable[..., Any]) -> OverStep | None:
    """Return the function that computes `kernel` in place on one block of its operand.

    Kernels that were decorated with `of_blocks` have such a function. The result is None for
    others.
    """
    found: OverStep | None = getattr(kernel, "over_step", None)
    return found


def overwrite(step: OverStep, x: Array) -> None:
    """Overwrite `x` block by block with the results of `step`.

    `x` must have at least one dimension.
    """
    if x.flags.c_contiguous:
        x = x.reshape(-1)
    inner = math.prod(x.shape[1:])
    if inner > BLOCK:
        for part in x:
            overwrite(step, part)
        return
    each = max(1, BLOCK // max(inner, 1))
    room = np.empty(min(each, len(x)) * inner, x.dtype)
    for first in range(0, len(x), each):
        part = x[first : first + each]
        step(part, room[: part.size].reshape(part.shape))


def constant(value: float, like: Array) -> Array:
    """Return an operand with which NumPy computes the minimum or maximum of `like` and `value`.

    It is read-only and meant for `np.minimum(like, operand)` or `np.maximum(like, operand)`.
    `like` has at most `BLOCK` elements. If it is 1-D and not small, the operand is an array of the
    same length, because NumPy is then several times as fast as with a scalar. Otherwise it has no
    dimensions.
    """
    if like.ndim != 1 or like.size < _SMALL:
        return _filled(value, like.dtype, 1)[0, ...]
    return _filled(value, like.dtype, BLOCK)[: like.size]


@lru_cache(maxsize=64)
def _filled(value: float, dtype: np.dtype[Any], size: int) -> Array:
    made = np.full(size, value, dtype)
    made.flags.writeable = False
    return made
