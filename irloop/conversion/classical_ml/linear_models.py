"""Converts linear models and support vectors to OpenVINO: MatMul, Add and a post-transform."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from irloop.conversion.classical_ml.coupling import probabilities
from irloop.conversion.classical_ml.lookup import Labels, looked_up
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.dialects.onnx import linear_models as onnx
from irloop.dialects.openvino import activation, elementwise, matmul
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["label_of_two", "labelled", "transformed"]

F32 = ElementType.F32


def _scores(c: Import, op: onnx.LinearRegressor | onnx.LinearClassifier, x: Value) -> Value:
    """Emit the scores of a linear model: x @ coefficients^T + intercepts, in f32.

    There is one column of scores for each row of coefficients. A vector `x` is treated as one row.
    """
    rows = op.targets if isinstance(op, onnx.LinearRegressor) else op.rows
    if needed_rank(c, x) == 1:
        x = c.unsqueeze(x, [0])
    weights = c.constant(np.array(op.coefficients, np.float32).reshape(rows, -1), F32)
    scores = c(matmul.MatMul(transpose_b=True), c.convert(x, F32), weights)
    if not op.intercepts:
        return scores
    return c.add(scores, c.constant(list(op.intercepts), F32))


def transformed(c: Import, scores: Value, how: str) -> Value:
    """Apply the post_transform `how` to rows of scores.

    Raises:
        RefusedError: for SOFTMAX_ZERO and PROBIT.
    """
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return c(activation.Sigmoid(), scores)
    if how == "SOFTMAX":
        return c.softmax(scores, 1)
    raise c.refuse(
        f"OpenVINO has no counterpart of post_transform {how}", "apply it outside of the model"
    )


def labelled(c: Import, scores: Value, labels: Labels) -> Value:
    """For each row of `scores`, emit the label that has the highest score.

    `scores` are [N, classes], and `labels` holds the label of each class.
    """
    _, best = c.topk(scores, c.i64(1), 1)
    return looked_up(c, labels, c.squeeze(best, [1]))


def label_of_two(c: Import, score: Value, labels: Labels, threshold: float) -> Value:
    """Choose one of two labels per row by the score [N, 1] of the second label."""
    above = c.greater(score, c.scalar(threshold, score))
    return looked_up(c, labels, c.squeeze(c.convert_always(above, ElementType.I64), [1]))


@imports(onnx.LinearRegressor)
def import_regressor(c: Import, op: onnx.LinearRegressor, x: Value) -> Value:
    """Write LinearRegressor as MatMul, Add and the operations of its `post_transform`."""
    return transformed(c, _scores(c, op, x), op.post_transform)


@imports(onnx.LinearClassifier)
def import_classifier(c: Import, op: onnx.LinearClassifier, x: Value) -> list[Value]:
    """Write LinearClassifier: compute scores, and choose the label.

    MatMul and Add compute the scores. TopK finds the class with the highest score, and Gather its
    label. If there is only one score, for the second of two classes, Greater compares it with 0
    instead.
    """
    scores = _scores(c, op, x)
    if op.rows > 1:
        found = labelled(c, scores, op.labels)
        return [found, transformed(c, scores, op.post_transform)][: len(c.node.outputs)]
    if op.post_transform == "PROBIT":
        raise c.refuse(
            "OpenVINO has no counterpart of post_transform PROBIT", "apply it outside of the model"
        )
    share = c(activation.Sigmoid(), scores) if op.post_transform == "LOGISTIC" else scores
    other = c.subtract(c.scalar(1.0, share), share)
    both = c.concat([other, share], 1)
    return [label_of_two(c, scores, op.labels, 0.0), both][: len(c.node.outputs)]


@imports(onnx.SVMRegressor)
def import_support_vectors(c: Import, op: onnx.SVMRegressor, x: Value) -> Value:
    """Write SVMRegressor as a MatMul of the kernel values with the coefficients, and an Add.

    The kernel function compares the data with every support vector; without support vectors, the
    data take the place of the kernel values. With `one_class`, the result is 1 where the sum is
    positive, else -1.
    """
    if needed_rank(c, x) == 1:
        x = c.unsqueeze(x, [0])
    rows = c.convert(x, F32)
    alike = _kernel_values(c, op, rows, op.n_supports) if op.n_supports else rows
    weights = c.constant(np.array(op.coefficients, np.float32).reshape(-1, 1), F32)
    scores = c(matmul.MatMul(), alike, weights)
    scores = c.add(scores, c.scalar(op.rho[0] if op.rho else 0.0, scores))
    if op.one_class:
        above = c.greater(scores, c.scalar(0.0, scores))
        scores = c.select(above, *(c.scalar(x, scores) for x in (1.0, -1.0)))
    return transformed(c, scores, op.post_transform)


@imports(onnx.SVMClassifier)
def import_vector_classifier(c: Import, op: onnx.SVMClassifier, x: Value) -> list[Value]:
    """Write SVMClassifier as a MatMul that scores pairs of classes, and votes.

    The kernel function first compares the data with every support vector. A MatMul of these kernel
    values computes one score for each pair of classes, whose sign gives a vote to one class of the
    pair. TopK then finds the class with the most votes, and Gather its label. If probabilities are
    wanted, a Loop computes them from those of the pairs.
    """
    if not op.vectors_per_class:
        raise c.refuse("it has no support vectors", "use a LinearClassifier")
    if needed_rank(c, x) == 1:
        x = c.unsqueeze(x, [0])
    duels = op.duels()
    alike = _kernel_values(c, op, c.convert(x, F32), sum(op.vectors_per_class))
    scores = c(matmul.MatMul(transpose_b=True), alike, c.constant(duels.weights, F32))
    scores = c.add(scores, c.constant(list(op.rho), F32))
    label = labelled(c, _votes(c, scores, duels.count), op.labels)
    if duels.shares is not None:
        values = transformed(c, probabilities(c, scores, duels), op.post_transform)
    elif duels.count > 2:
        values = transformed(c, scores, op.post_transform)
    elif op.post_transform in ("NONE", "LOGISTIC"):
        both = c.concat([c(elementwise.Negative(), scores), scores], 1)
        values = transformed(c, both, op.post_transform)
    else:
        one = c.scalar(1.0, scores)
        values = c.concat([c.subtract(one, scores), scores], 1)
    return [label, values][: len(c.node.outputs)]


def _votes(c: Import, scores: Value, count: int) -> Value:
    """The number of comparisons that each class wins, [N, classes]; `scores` are [N, pairs]."""
    pairs = list(combinations(range(count), 2))
    first, second = (np.eye(count)[[pair[at] for pair in pairs]] for at in range(2))
    zero, one = c.scalar(0.0, scores), c.scalar(1.0, scores)
    won = c.select(c.greater(scores, zero), one, zero)
    # A comparison that the first class wins moves its vote from the second class to the first.
    moved = c(matmul.MatMul(), won, c.constant(first - second, F32))
    return c.add(moved, c.constant(second.sum(axis=0), F32))


def _kernel_values(
    c: Import, op: onnx.SVMRegressor | onnx.SVMClassifier, rows: Value, count: int
) -> Value:
    """The kernel values [N, S] of rows [N, F] and `count` support vectors [S, F]."""
    vectors = c.constant(np.array(op.support_vectors, np.float32).reshape(count, -1), F32)
    gamma, shift, degree = (c.scalar(item, rows) for item in (*op.kernel_params, 0.0, 0.0, 0.0)[:3])
    if op.kernel_type == "RBF":
        apart = c(elementwise.SquaredDifference(), c.unsqueeze(rows, [1]), vectors)
        distance = c.reduce("Sum", apart, [2], keep=False)
        return c(elementwise.Exp(), c(elementwise.Negative(), c.multiply(gamma, distance)))
    products = c(matmul.MatMul(transpose_b=True), rows, vectors)
    if op.kernel_type == "LINEAR":
        return products
    bent = c.add(c.multiply(gamma, products), shift)
    if op.kernel_type == "SIGMOID":
        return c(elementwise.Tanh(), bent)
    return c(elementwise.Power(), bent, degree)
