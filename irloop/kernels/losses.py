"""Classification losses: scores [N, C, d1, ...] and classes [N, d1, ...]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.kernels.matmul import widened

__all__ = ["Array", "Function", "cross_entropy", "negative_log_likelihood"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _loss(
    x: Array, target: Array, weight: Array | None, reduction: str, ignore: int | None
) -> Array:
    kept = None if ignore is None else target != ignore
    chosen = target if kept is None else np.where(kept, target, 0)
    loss = -np.take_along_axis(x, chosen[:, None], axis=1)[:, 0]
    share: Any = None if weight is None else widened(weight)[chosen]
    if kept is not None:
        share = np.where(kept, 1 if share is None else share, 0).astype(x.dtype)
        # Ignored elements may be infinite, so they are replaced instead of multiplied by zero.
        loss = np.where(kept, loss, 0)
    if share is not None:
        loss = loss * share
    if reduction == "none":
        return loss
    total = loss.sum()
    if reduction == "sum":
        return np.asarray(total)
    return np.asarray(total / (target.size if share is None else share.sum()))


def negative_log_likelihood(reduction: str, ignore: int | None) -> Function:
    """Make a kernel that computes the negative log-likelihood, weighted by class.

    `reduction` is none, sum or mean. Elements whose class is `ignore` do not count.
    """

    def apply(x: Array, target: Array, weight: Array | None = None) -> Any:
        with np.errstate(all="ignore"):
            loss = _loss(widened(x), target, weight, reduction, ignore)
        return loss.astype(x.dtype, copy=False)

    return apply


def cross_entropy(reduction: str, ignore: int | None, *, both: bool) -> Function:
    """Make a kernel for the negative log-likelihood of the log softmax over axis 1.

    The kernel returns the loss; with `both`, the loss and the log softmax. `reduction` and `ignore`
    are those of `negative_log_likelihood`.
    """

    def apply(x: Array, target: Array, weight: Array | None = None) -> Any:
        wide = widened(x)
        with np.errstate(all="ignore"):
            shifted = wide - wide.max(axis=1, keepdims=True)
            scores = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
            loss = _loss(scores, target, weight, reduction, ignore).astype(x.dtype, copy=False)
        return (loss, scores.astype(x.dtype, copy=False)) if both else loss

    return apply
