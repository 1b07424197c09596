"""Support vector machines for regression (ai.onnx.ml)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop.kernels.precision import unwarned
from irloop.kernels.scores import transformed

__all__ = ["regressor", "similarity"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def similarity(kind: str, parameters: Sequence[float]) -> Function:
    """How alike rows [N, F] and vectors [S, F] are: [N, S].

    `kind` is LINEAR, POLY, RBF or SIGMOID; the parameters are gamma, coef0 and degree.
    """
    gamma, shift, degree = (np.float32(x) for x in (*parameters, 0.0, 0.0, 0.0)[:3])

    def apply(x: Array, vectors: Array) -> Any:
        if kind == "RBF":
            distance = np.square(x[:, None, :] - vectors).sum(axis=-1)
            return np.exp(-gamma * distance)
        products = np.matmul(x, vectors.T)
        if kind == "LINEAR":
            return products
        bent = gamma * products + shift
        return np.tanh(bent) if kind == "SIGMOID" else bent**degree

    return apply


def regressor(
    similar: Function,
    vectors: Sequence[float],
    coefficients: Sequence[float],
    rho: Sequence[float],
    *,
    count: int,
    one_class: bool,
    transform: str,
) -> Function:
    """Scores [N, 1] of [N, F] as f32; of one class 1 for what belongs to it and -1 else.

    Without support vectors (`count` 0) the coefficients are those of a linear model.
    """
    weights = np.array(coefficients, dtype=np.float32)
    offset = np.float32(rho[0] if rho else 0.0)
    table = np.array(vectors, dtype=np.float32).reshape(count or 1, -1)

    @unwarned
    def apply(x: Array) -> Array:
        rows = (x.reshape(1, -1) if x.ndim == 1 else x).astype(np.float32)
        alike = similar(rows, table) if count else rows
        scores = np.matmul(alike, weights[:, None]) + offset
        if one_class:
            scores = np.where(scores > 0, np.float32(1), np.float32(-1))
        result: Array = transformed(np.asarray(scores, dtype=np.float32), transform)
        return result

    return apply
