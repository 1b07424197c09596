"""Linear regression and the choice of a class by its scores (ai.onnx.ml)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop.kernels.precision import unwarned
from irloop.kernels.scores import transformed

__all__ = ["chosen", "classifier", "of_two", "regressor"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _scores(coefficients: Sequence[float], intercepts: Sequence[float], rows: int) -> Function:
    """x @ coefficients^T + intercepts for `rows` targets, as f32."""
    weights = np.array(coefficients, dtype=np.float32).reshape(rows, -1)
    offset = np.array(intercepts, dtype=np.float32)

    def apply(x: Array) -> Array:
        wide = (x.reshape(1, -1) if x.ndim == 1 else x).astype(np.float32)
        scores = np.matmul(wide, weights.T)
        return np.asarray(scores + offset if offset.size else scores)

    return apply


def regressor(
    coefficients: Sequence[float], intercepts: Sequence[float], targets: int, transform: str
) -> Function:
    """Scores [N, targets] of [N, F], transformed; coefficients of a target stand together."""
    score = _scores(coefficients, intercepts, targets)
    return unwarned(lambda x: transformed(score(x), transform))


def of_two(score: Array, *, share: bool) -> Array:
    """Scores of two classes from the one of the second: 1 - s for a share, else -s."""
    return np.concatenate(((1 - score if share else -score), score), axis=1)


def chosen(places: Array, labels: Array) -> Array:
    """The labels at these places."""
    return labels[places.astype(np.int64)]


def classifier(
    coefficients: Sequence[float],
    intercepts: Sequence[float],
    labels: Array,
    rows: int,
    transform: str,
) -> Function:
    """The label of the best score of [N, F], and the scores.

    One score alone is that of the second label, which is best above zero: the first one gets one
    minus it, and of the transforms only LOGISTIC and PROBIT change it, as in ONNX Runtime.
    """
    score = _scores(coefficients, intercepts, rows)

    @unwarned
    def apply(x: Array) -> tuple[Array, Array]:
        scores = score(x)
        if rows > 1:
            return chosen(scores.argmax(axis=1), labels), transformed(scores, transform)
        found = chosen(scores[:, 0] > 0, labels)
        if transform == "LOGISTIC":
            scores = transformed(scores, transform)
        both = of_two(scores, share=True)
        return found, transformed(both, transform) if transform == "PROBIT" else both

    return apply
