"""Lets elementwise steps write their result over an operand that nothing reads afterwards.

This is faster because new memory is rarely in the cache, whereas the operand was computed just
before. An operand may be overwritten under two conditions. No later step reads it, and it has no
views: the kernel that computed it returns new memory, and so do all steps that read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.execution.program import Step
from irloop.graph.op import Kernel
from irloop.kernels.blocks import over_step, overwrite
from irloop.kernels.elementwise import divide
from irloop.kernels.writers import WIDE, makes_new

__all__ = ["in_place"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Functions of two operands, each with the NumPy function that can write the result into one of the
#: operands.
_OF_TWO: dict[Kernel, np.ufunc] = {
    np.add: np.add,
    np.subtract: np.subtract,
    np.multiply: np.multiply,
    divide: np.divide,
}

#: Computing over an operand gains nothing for smaller arrays, because they are in the cache in any
#: case.
_LEAST = 1 << 12


def in_place(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Let some steps write their result over an operand; return all steps.

    The function of such a step is replaced. The new function has the attribute `keeping`, which is
    the original function: it leaves the operands unchanged.
    """
    own = {step.outs[0] for step in steps if len(step.outs) == 1 and makes_new(step.fn)}
    for step in steps:
        if not makes_new(step.fn):
            own.difference_update(step.ins)
    return tuple(_over_operand(step, own) for step in steps)


def _over_operand(step: Step, own: set[int]) -> Step:
    free = [at for at, slot in enumerate(step.ins) if slot in own and slot in step.frees]
    if not free or len(set(step.ins)) < len(step.ins):
        return step
    if len(step.ins) == 1 and over_step(step.fn) is not None:
        return step._replace(fn=_OneOperand(step.fn))
    if len(step.ins) == 2 and step.fn in _OF_TWO:
        return step._replace(fn=_TwoOperands(step.fn, tuple(free)))
    return step


class _OneOperand:
    """A kernel with one operand, which writes its result into the memory of the operand.

    If that memory cannot be overwritten, `keeping` computes the result in new memory.
    """

    def __init__(self, keeping: Kernel) -> None:
        self.keeping = keeping
        self._step = over_step(keeping)

    def __call__(self, x: Any) -> Any:
        assert self._step is not None
        if not _is_target(x) or not x.flags.c_contiguous:
            return self.keeping(x)
        overwrite(self._step, x)
        return x


class _TwoOperands:
    """Computes a function of two operands, in the memory of one of them if possible.

    This is possible if the result has the shape and element type of that operand. `free` holds the
    positions of the operands that may be overwritten. `keeping` computes the same function in new
    memory.
    """

    def __init__(self, keeping: Kernel, free: tuple[int, ...]) -> None:
        self.keeping = keeping
        self._free = free
        self._function = _OF_TWO[keeping]

    def __call__(self, left: Any, right: Any) -> Any:
        for at in self._free:
            target, other = (left, right) if at == 0 else (right, left)
            if _is_target(target) and other.dtype == target.dtype and _fits(other, target):
                return self._function(left, right, out=target)
        return self.keeping(left, right)


def _is_target(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.size >= _LEAST and x.dtype in WIDE


def _fits(other: Any, target: Array) -> bool:
    """Return whether `other` can be broadcast to the shape of `target`."""
    if other.ndim > target.ndim:
        return False
    pairs = zip(reversed(other.shape), reversed(target.shape), strict=False)
    return all(size in (1, wanted) for size, wanted in pairs)
