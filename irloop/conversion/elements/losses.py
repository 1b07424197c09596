"""Converts ONNX's losses to GatherElements, a product with the weights, and reductions.

GatherElements exists since opset6.
"""

from __future__ import annotations

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.dialects.onnx import losses as onnx
from irloop.dialects.openvino import activation, elementwise, gather
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

NARROW = (ElementType.F16, ElementType.BF16)


@imports(onnx.NegativeLogLikelihoodLoss)
def import_negative_log_likelihood(
    c: Import,
    op: onnx.NegativeLogLikelihoodLoss,
    scores: Value,
    target: Value,
    weight: Value | None = None,
) -> Value:
    """Write NegativeLogLikelihoodLoss: pick the score of each target class, and reduce the losses.

    GatherElements picks the scores. Their negatives are multiplied by the weights of the classes,
    if there are weights, and a Reduce* computes the sum or mean.
    """
    element = element_of(scores)
    return c.convert(_loss(c, op, _in_f32(c, scores), target, weight), element)


@imports(onnx.SoftmaxCrossEntropyLoss)
def import_cross_entropy(
    c: Import,
    op: onnx.SoftmaxCrossEntropyLoss,
    scores: Value,
    target: Value,
    weight: Value | None = None,
) -> list[Value]:
    """Write SoftmaxCrossEntropyLoss: compute the log-probabilities, and the loss from them.

    The loss is computed from the log-probabilities as NegativeLogLikelihoodLoss computes it from
    its scores. The result is a list of the loss and the log-probabilities.
    """
    element = element_of(scores)
    logs = c(activation.LogSoftmax(axis=1), _in_f32(c, scores))
    loss = _loss(c, op, logs, target, weight)
    return [c.convert(value, element) for value in (loss, logs)]


def _in_f32(c: Import, value: Value) -> Value:
    """Convert an f16 or bf16 value to f32; a value of any other type stays as it is.

    The result is used for the sums of a loss, which runtimes compute in at least f32.
    """
    element = element_of(value)
    return c.convert(value, ElementType.F32 if element in NARROW else element)


def _loss(c: Import, op: onnx.Loss, x: Value, target: Value, weight: Value | None) -> Value:
    if c.opset < 6:
        raise c.refuse("OpenVINO has GatherElements since opset6", "write opset6 or newer")
    ignored = None
    if op.ignore_index is not None:
        ignored = c.equal(target, c.scalar(op.ignore_index, target))
        target = c.select(ignored, c.scalar(0, target), target)
    picked = c(gather.GatherElements(axis=1), x, c.unsqueeze(target, [1]))
    loss = c(elementwise.Negative(), c.squeeze(picked, [1]))
    share = None if weight is None else c.gather(_in_f32(c, weight), target, 0)
    if ignored is not None:
        zero, one = c.scalar(0.0, x), c.scalar(1.0, x)
        loss = c.select(ignored, zero, loss)
        share = c.select(ignored, zero, one if share is None else share)
    if share is not None:
        loss = c.multiply(loss, share)
    return _reduced(c, op.reduction, loss, share, needed_rank(c, x) - 1)


def _reduced(c: Import, how: str, loss: Value, share: Value | None, rank: int) -> Value:
    axes = list(range(rank))
    if how == "none":
        return loss
    if how == "sum":
        return c.reduce("Sum", loss, axes, keep=False)
    if share is None:
        return c.reduce("Mean", loss, axes, keep=False)
    total, shares = (c.reduce("Sum", item, axes, keep=False) for item in (loss, share))
    return c.divide(total, shares)
