"""Transforms of the scores of classical models (`post_transform` in ai.onnx.ml)."""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop.kernels.activation import softmax
from irloop.kernels.precision import unwarned
from irloop.kernels.special import erf_inverse

__all__ = ["transformed"]

Array = np.ndarray[Any, np.dtype[Any]]

#: SOFTMAX_ZERO treats scores nearer to zero than this as zeros, as in ONNX Runtime.
_NOTHING = 1e-7


def _softmax_zero(x: Array) -> Any:
    """Softmax of the nonzero scores; zeros stay zero."""
    top = x.max(axis=-1, keepdims=True, initial=-np.inf)
    zero = np.abs(x) <= _NOTHING
    powers = np.where(zero, x * np.exp(-top), np.exp(x - top))
    return powers / powers.sum(axis=-1, keepdims=True)


@unwarned
def transformed(x: Array, how: str) -> Array:
    """Apply NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT to rows of scores.

    The result has the element type of the scores.
    """
    if how == "SOFTMAX":
        result = softmax(-1)(x)
    elif how == "SOFTMAX_ZERO":
        result = _softmax_zero(x)
    elif how == "LOGISTIC":
        result = 1 / (1 + np.exp(-x))
    elif how == "PROBIT":
        result = np.sqrt(2) * erf_inverse(2 * x.astype(np.float64) - 1)
    else:
        result = x
    return np.asarray(result, dtype=x.dtype)
