"""Linear models in OpenVINO: MatMul, Add and what becomes of the scores."""

from __future__ import annotations

import numpy as np

from irloop.conversion import openvino_forms as forms
from irloop.conversion.framework import Conversion, imports
from irloop.conversion.inputs import needed_rank
from irloop.dialects.onnx import linear_models as onnx
from irloop.dialects.openvino import activation, comparison, matmul
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32 = ElementType.F32


def _scores(c: Conversion, op: onnx.LinearRegressor | onnx.LinearClassifier, x: Value) -> Value:
    """One column for each row of coefficients."""
    rows = op.targets if isinstance(op, onnx.LinearRegressor) else op.rows
    if needed_rank(c, x) == 1:
        x = forms.unsqueeze(c, x, [0])
    weights = c.constant(np.array(op.coefficients, np.float32).reshape(rows, -1), F32)
    scores = c(matmul.MatMul(transpose_b=True), forms.converted(c, x, F32), weights)
    if not op.intercepts:
        return scores
    return forms.add(c, scores, c.constant(list(op.intercepts), F32))


def _transformed(c: Conversion, scores: Value, how: str) -> Value:
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return c(activation.Sigmoid(), scores)
    if how == "SOFTMAX":
        return forms.softmax(c, scores, 1)
    raise c.refuse(f"OpenVINO has nothing for post_transform {how}", "transform outside of it")


@imports(onnx.LinearRegressor)
def import_regressor(c: Conversion, op: onnx.LinearRegressor, x: Value) -> Value:
    """LinearRegressor -> MatMul, Add and the transform."""
    return _transformed(c, _scores(c, op, x), op.post_transform)


@imports(onnx.LinearClassifier)
def import_classifier(c: Conversion, op: onnx.LinearClassifier, x: Value) -> list[Value]:
    """LinearClassifier of integers -> scores, TopK, Gather; of one row a comparison."""
    if op.classlabels_strings:
        raise c.refuse("its labels are strings", "give it integers and look the names up outside")
    scores, labels = _scores(c, op, x), c.i64(list(op.classlabels_ints))
    if op.rows > 1:
        _, best = forms.topk(c, scores, c.i64(1), 1)
        found = forms.gather(c, labels, forms.squeeze(c, best, [1]), 0)
        return [found, _transformed(c, scores, op.post_transform)][: len(c.node.outputs)]
    if op.post_transform == "PROBIT":
        raise c.refuse("OpenVINO has nothing for post_transform PROBIT", "transform outside of it")
    above = c(comparison.Greater(), scores, forms.scalar(c, 0.0, scores))
    place = forms.squeeze(c, forms.convert(c, above, ElementType.I64), [1])
    share = c(activation.Sigmoid(), scores) if op.post_transform == "LOGISTIC" else scores
    other = forms.subtract(c, forms.scalar(c, 1.0, share), share)
    both = forms.concat(c, [other, share], 1)
    return [forms.gather(c, labels, place, 0), both][: len(c.node.outputs)]
