"""Converts ONNX operations as they were defined before opset 7."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from irloop.conversion.elements.activation import import_selu
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.conversion.neural.normalization_import import import_batch_norm7, mask_of_ones
from irloop.dialects.onnx import activation as onnx_activation
from irloop.dialects.onnx import legacy as onnx
from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import comparison as ov_comparison
from irloop.dialects.openvino import elementwise as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value


def _aligned(target: Callable[[], ov.Binary]) -> Callable[..., Value]:
    """Return a rule that converts a binary operation of an opset before 7 to `target`.

    Such an operation may align its second operand with an inner axis of the first. Then the rule
    appends axes of size 1 to the second operand. For example, a shape [3], aligned with axis 1 of
    [2, 3, 4], becomes [3, 1].

    If a rank is unknown, the rule sets OpenVINO's auto_broadcast mode pdpd instead, which expresses
    the same alignment. It does so only then, because OpenVINO loses the mode when it decomposes
    Subtract and Divide, and its comparisons and logical operations fail with it.
    """

    def rule(c: Import, op: onnx.Broadcasting, left: Value, right: Value) -> Value:
        made = target()
        if not op.broadcast or op.position == -1:
            return c(made, left, right)
        rank, part = shape_of(left).rank, shape_of(right).rank
        if rank is None or part is None:
            known = replace(made, auto_broadcast="pdpd", auto_broadcast_axis=op.position)
            return c(known, left, right)
        behind = max(0, rank - op.position - part)
        if behind:
            right = c.unsqueeze(right, list(range(part, part + behind)))
        return c(made, left, right)

    return rule


imports(onnx.Add1)(_aligned(ov.Add))
imports(onnx.Sub1)(_aligned(ov.Subtract))
imports(onnx.Mul1)(_aligned(ov.Multiply))
imports(onnx.Pow1)(_aligned(ov.Power))
imports(onnx.And1)(_aligned(ov_comparison.LogicalAnd))
imports(onnx.Or1)(_aligned(ov_comparison.LogicalOr))
imports(onnx.Xor1)(_aligned(ov_comparison.LogicalXor))
imports(onnx.Equal1)(_aligned(ov_comparison.Equal))
imports(onnx.Greater1)(_aligned(ov_comparison.Greater))
imports(onnx.Less1)(_aligned(ov_comparison.Less))


@imports(onnx.Div1)
def import_div(c: Import, op: onnx.Div1, left: Value, right: Value) -> Value:
    python = not element_of(left).is_integer
    return _aligned(partial(ov.Divide, m_pythondiv=python))(c, op, left, right)


@imports(onnx.Clip1)
def import_clip(c: Import, op: onnx.Clip1, x: Value) -> Value:
    low, high = op.bounds
    if low == -math.inf and high == math.inf:
        return x
    if low <= high:
        return c(ov_activation.Clamp(low, high), x)
    raised = c.maximum(x, c.scalar(low, x))
    return c.minimum(raised, c.scalar(high, x))


@imports(onnx.Selu1)
def import_selu1(c: Import, op: onnx.Selu1, x: Value) -> Value:
    return import_selu(c, onnx_activation.Selu(op.alpha, op.gamma), x)


@imports(onnx.PRelu1)
def import_prelu(c: Import, op: onnx.PRelu1, x: Value, slope: Value) -> Value:
    """Write PRelu-1 as PReLU; in both formats a slope of one dimension belongs to axis 1."""
    return c(ov_activation.PReLU(), x, slope)


@imports(onnx.BatchNormalization1)
def import_batch_norm(
    c: Import, op: onnx.BatchNormalization1, *operands: Value
) -> Value | Sequence[Value | None]:
    return import_batch_norm7(c, op, *operands)


@imports(onnx.Dropout1)
def import_dropout(c: Import, op: onnx.Dropout1, x: Value) -> Sequence[Value | None]:
    return [x, mask_of_ones(c, x, element_of(x))][: len(c.node.outputs)]
