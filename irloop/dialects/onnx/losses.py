"""Losses in ONNX, computed from scores [N, C, d1, ...] and classes [N, d1, ...]."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import Shape, TensorType, ValueType

__all__ = ["Loss", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"]


class Loss(OnnxOp):
    """Base of losses: one loss per element of the target, or the sum or weighted mean of these.

    The target holds class indices. Elements whose class is `ignore_index` do not count.
    """

    ignore_index: int | None = None
    reduction: str = "mean"

    def _types(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0)
        inference.require_rank(args, 2, 1)
        if self.reduction not in ("none", "sum", "mean"):
            raise args.error(
                "reduction is not known", "none, sum or mean", self.reduction, kind="range"
            )
        element, scores, target = args.element(0), args.shape(0), args.shape(1)
        shape = target
        if scores.dims is not None:
            if len(scores.dims) < 2:
                raise args.error("scores have no classes", "[N, C, ...]", str(scores))
            expected = Shape((scores.dims[0], *scores.dims[2:]))
            refined = expected.refine(target)
            if refined is None:
                raise args.error("the classes have the wrong shape", str(expected), str(target))
            shape = refined
            if args.has(2):
                inference.require_shape(args, 2, scores.dims[1:2])
        if self.reduction != "none":
            shape = Shape(())
        return [TensorType(element, shape), TensorType(element, scores)]


class NegativeLogLikelihoodLoss(
    Loss, type="NegativeLogLikelihoodLoss", since=12, inputs=(2, 3), outputs=1
):
    """The negative log-likelihood of the target classes (NegativeLogLikelihoodLoss-12, 13, 22)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._types(args)[:1]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.losses.negative_log_likelihood(self.reduction, self.ignore_index)


class SoftmaxCrossEntropyLoss(
    Loss, type="SoftmaxCrossEntropyLoss", since=12, inputs=(2, 3), outputs=None
):
    """Negative log-likelihood of the log softmax (SoftmaxCrossEntropyLoss-12, 13).

    Output 1 is the log softmax.
    """

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._types(args)[: args.n_outputs]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.losses.cross_entropy(self.reduction, self.ignore_index, both=n_outputs > 1)
