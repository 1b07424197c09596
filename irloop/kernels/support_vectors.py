"""Support vector machines (ai.onnx.ml)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.precision import unwarned
from irloop.kernels.scores import transformed
from irloop.kernels.work import spend_each

__all__ = [
    "MOST_ROUNDS",
    "TOLERANCE",
    "Duels",
    "classifier",
    "duel_weights",
    "linear_classifier",
    "regressor",
    "similarity",
]

#: The iteration that couples probabilities ends after so many rounds, or when its error is below
#: the tolerance, divided by the number of classes.
MOST_ROUNDS, TOLERANCE = 100, 0.005

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def similarity(kind: str, parameters: Sequence[float]) -> Function:
    """Make a kernel that returns the similarity of each row to each vector, as [N, S].

    The kernel takes rows [N, F] and vectors [S, F].

    `kind` is LINEAR, POLY, RBF or SIGMOID; the parameters are gamma, coef0 and degree.
    """
    gamma, shift, degree = (np.float32(x) for x in (*parameters, 0.0, 0.0, 0.0)[:3])

    def apply(x: Array, vectors: Array) -> Any:
        spend_each(x.size * len(vectors), 5, "comparing with support vectors")
        if kind == "RBF":
            budget.reserve(3 * 4 * x.size * len(vectors), "comparing with support vectors")
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
    """Return a function that computes scores [N, 1] in f32 from rows [N, F].

    With `one_class` a score is 1 for rows that belong to the class, and -1 for others. Without
    support vectors (`count` 0) the coefficients are those of a linear model.
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


def duel_weights(coefficients: Sequence[float], per_class: Sequence[int]) -> Array:
    """Return the weight of each support vector for each pair of classes, as [pairs, S].

    S is the number of support vectors. They are ordered by class; `per_class` holds their number in
    each class. A support vector has the weight 0 in pairs without its class.

    `coefficients` is the table [classes - 1, S], as a flat list. For a vector of class i, the
    weight in the pair with class j is in row j - 1 if j > i, and in row j if j < i.
    """
    ends = np.cumsum(per_class)
    starts = ends - per_class
    table = np.array(coefficients, np.float32).reshape(-1, int(ends[-1]))
    number = len(per_class) * (len(per_class) - 1) // 2
    budget.reserve(8 * number * max(table.shape[1], 40), "the weights of support vectors")
    budget.spend(number, "the weights of support vectors")
    pairs = list(combinations(range(len(per_class)), 2))
    weights = np.zeros((len(pairs), table.shape[1]), np.float32)
    for row, (one, other) in enumerate(pairs):
        first, second = (slice(starts[item], ends[item]) for item in (one, other))
        weights[row, first] = table[other - 1, first]
        weights[row, second] = table[one, second]
    return weights


@dataclass(frozen=True, slots=True)
class Duels:
    """The pairwise comparisons of `count` classes, in the order (0, 1), (0, 2), ...

    `shares` is None if no probabilities are wanted. Otherwise it is a pair of lists (a, b) with one
    number for each comparison: a score s becomes the probability 1 / (1 + exp(a * s + b)).
    """

    count: int
    weights: Array
    rho: Sequence[float]
    shares: tuple[Sequence[float], Sequence[float]] | None

    def votes(self, scores: Array) -> Array:
        """Count the comparisons that each class wins.

        The scores are [N, pairs], and the counts are [N, classes].
        """
        spend_each(scores.shape[1], 10_000 + 10 * len(scores), "comparing classes")
        result = np.zeros((len(scores), self.count), np.int64)
        for column, (one, other) in enumerate(combinations(range(self.count), 2)):
            won = scores[:, column] > 0
            result[:, one] += won
            result[:, other] += ~won
        return result


def classifier(
    similar: Function, vectors: Array, duels: Duels, labels: Array, transform: str
) -> Function:
    """Return a function that maps rows [N, F] to their labels, and to scores or probabilities.

    `similar` computes the similarity of the rows to the support `vectors`. `duels` turns it into a
    score for each pair of classes; the label is the class that wins most pairs. For two classes
    without probabilities, each row has one score s. It becomes (-s, s) if `transform` is NONE or
    LOGISTIC, and (1 - s, s) otherwise, as in ONNX Runtime.
    """
    offsets = np.array(duels.rho, np.float32)

    @unwarned
    def apply(x: Array) -> tuple[Array, Array]:
        rows = (x.reshape(1, -1) if x.ndim == 1 else x).astype(np.float32)
        scores = np.matmul(similar(rows, vectors), duels.weights.T) + offsets
        winners = labels[duels.votes(scores).argmax(axis=1)]
        if duels.shares is not None:
            slopes, shifts = (np.array(item, np.float32) for item in duels.shares)
            won = 1 / (1 + np.exp(scores * slopes + shifts))
            values = _probabilities(np.clip(won, 1e-7, 1 - 1e-7), duels.count)
            return winners, transformed(values, transform)
        if duels.count > 2:
            return winners, transformed(scores, transform)
        if transform in ("NONE", "LOGISTIC"):
            return winners, transformed(np.concatenate((-scores, scores), axis=1), transform)
        return winners, np.concatenate((1 - scores, scores), axis=1)

    return apply


def _probabilities(won: Array, count: int) -> Array:
    """Compute the probabilities [N, classes] of classes by libsvm's iteration.

    `won` [N, pairs] holds, for each pair of classes, the probability that the first class of the
    pair is right.
    """
    budget.reserve(12 * len(won) * count * count, "comparing classes")
    share = np.zeros((len(won), count, count), np.float32)
    for column, (one, other) in enumerate(combinations(range(count), 2)):
        share[:, one, other], share[:, other, one] = won[:, column], 1 - won[:, column]
    result = np.empty((len(won), count), np.float32)
    for row, table in enumerate(share):
        result[row] = _coupled(table)
    return result


def _coupled(share: Array) -> Array:
    count = len(share)
    form = -share.T * share
    np.fill_diagonal(form, np.square(share).sum(axis=0))
    shares = np.full(count, 1 / count, np.float32)
    for _ in range(max(MOST_ROUNDS, count)):
        slope = form @ shares
        value = shares @ slope
        if np.abs(slope - value).max() < TOLERANCE / count:
            break
        spend_each(count, 20_000 + 10 * count, "coupling probabilities")
        for k in range(count):
            step = (value - slope[k]) / form[k, k]
            shares[k] += step
            value = (value + step * (step * form[k, k] + 2 * slope[k])) / (1 + step) ** 2
            slope = (slope + step * form[k]) / (1 + step)
            shares /= 1 + step
    return shares


def linear_classifier(
    coefficients: Sequence[float], rho: float, labels: Array, transform: str
) -> Function:
    """Return a linear classifier, which maps rows [N, F] to labels and scores [N, classes].

    `coefficients` are one row [F] per class, `rho` is added to all scores, and `transform` is
    applied to them last. The label is that of the best score. With two labels, the second
    one also wins if the best score is above 0 (or at least 0.5, if no coefficient is negative), as
    in ONNX Runtime.
    """
    weights = np.array(coefficients, np.float32).reshape(len(labels), -1)
    positive = bool((weights >= 0).all())

    @unwarned
    def apply(x: Array) -> tuple[Array, Array]:
        rows = (x.reshape(1, -1) if x.ndim == 1 else x).astype(np.float32)
        scores = np.matmul(rows, weights.T) + np.float32(rho)
        places = scores.argmax(axis=1)
        if len(labels) == 2:
            best = scores.max(axis=1)
            places = np.where(best >= 0.5 if positive else best > 0, 1, places)
        return labels[places], transformed(scores, transform)

    return apply
