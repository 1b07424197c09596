"""Linear regression and linear classification (ai.onnx.ml)."""

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
    """Make a kernel that computes `x @ coefficients.T + intercepts` in f32.

    `coefficients` lists the elements of a matrix row by row. It has `rows` rows, one for each
    score.
    """
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
    """Return a function that computes transformed scores [N, targets] from rows [N, F].

    `coefficients` holds all coefficients of the first target, then those of the second, and so on.
    """
    score = _scores(coefficients, intercepts, targets)
    return unwarned(lambda x: transformed(score(x), transform))


def of_two(score: Array, *, share: bool) -> Array:
    """Return the scores of two classes, given the score s of the second class.

    The scores are (1 - s, s) if `share` is true, else (-s, s).
    """
    return np.concatenate(((1 - score if share else -score), score), axis=1)


def chosen(places: Array, labels: Array) -> Array:
    """The labels at the indices `places`."""
    return labels[places.astype(np.int64)]


def classifier(
    coefficients: Sequence[float],
    intercepts: Sequence[float],
    labels: Array,
    rows: int,
    transform: str,
) -> Function:
    """Return a function that maps rows [N, F] to their best labels and to their scores.

    `rows` is the number of scores per row. A single score belongs to the second label, which wins
    if the score is above zero; the first label gets 1 - score. As in ONNX Runtime, only the
    transforms LOGISTIC and PROBIT change a single score.
    """
    score = _scores(coefficients, intercepts, rows)

    @unwarned
    def apply(x: Array) -> tuple[Array, Array]:
        scores = score(x)
        if rows > 1:
            return chosen(scores.argmax(axis=1), labels), transformed(scores, transform)
        predicted = chosen(scores[:, 0] > 0, labels)
        if transform == "LOGISTIC":
            scores = transformed(scores, transform)
        both = of_two(scores, share=True)
        return predicted, transformed(both, transform) if transform == "PROBIT" else both

    return apply
