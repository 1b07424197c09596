"""One step of an optimiser: values, their gradients and what it remembers of earlier ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.kernels.precision import unwarned

__all__ = ["adagrad", "adam", "momentum"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _each(parts: int, update: Function) -> Function:
    """`update` of each tensor: inputs rate, count, all values, all gradients, all states.

    `parts` is how many inputs belong to one tensor. Gives all new values, then all new states.
    """

    @unwarned
    def apply(rate: Array, count: Array, *tensors: Array) -> tuple[Array, ...]:
        size = len(tensors) // parts
        lists = [tensors[part * size : (part + 1) * size] for part in range(parts)]
        results = [update(rate, int(count.item()), *items) for items in zip(*lists, strict=True)]
        return tuple(np.asarray(item) for states in zip(*results, strict=True) for item in states)

    return apply


def adagrad(*, decay: float, epsilon: float, norm: float) -> Function:
    """Steps divided by the root of the sum of all squared gradients."""

    def update(rate: Array, count: int, x: Array, gradient: Array, squares: Array) -> Any:
        step = rate.astype(x.dtype).reshape(()) / (1 + count * decay)
        regular = norm * x + gradient
        total = squares + regular * regular
        return x - step * regular / (np.sqrt(total) + epsilon), total

    return _each(3, update)


def momentum(*, alpha: float, beta: float, norm: float, nesterov: bool) -> Function:
    """Steps along a sum of gradients that fades by `alpha`; `nesterov` looks one step ahead."""

    def update(rate: Array, count: int, x: Array, gradient: Array, moving: Array) -> Any:
        step = rate.astype(x.dtype).reshape(())
        regular = norm * x + gradient
        # The first gradient counts whole.
        moved = alpha * moving + (beta if count > 0 else 1) * regular
        return x - step * (regular + alpha * moved if nesterov else moved), moved

    return _each(3, update)


def adam(*, alpha: float, beta: float, epsilon: float, norm: float, shrink: float) -> Function:
    """Steps along a fading mean of gradients, divided by the root of one of their squares."""

    def update(
        rate: Array, count: int, x: Array, gradient: Array, mean: Array, squares: Array
    ) -> Any:
        regular = norm * x + gradient
        mean = alpha * mean + (1 - alpha) * regular
        squares = beta * squares + (1 - beta) * regular * regular
        # Both means start at zero, which makes the first ones too small.
        factor = math.sqrt(1 - beta**count) / (1 - alpha**count) if count > 0 else 1.0
        step = rate.astype(x.dtype).reshape(()) * factor
        moved = x - step * mean / (np.sqrt(squares) + epsilon)
        return (1 - shrink) * moved, mean, squares

    return _each(4, update)
