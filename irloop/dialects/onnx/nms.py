"""Non-maximum suppression in ONNX."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Portion, Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["NonMaxSuppression"]


class NonMaxSuppression(OnnxOp, type="NonMaxSuppression", since=10, inputs=(2, 5)):
    """Selects boxes, best first, that overlap little with each other (NonMaxSuppression-10, 11).

    For each item and class, boxes are visited from the highest score to the lowest. A box is
    selected if its overlap with every box selected before is at most the overlap threshold. Inputs:
    boxes [B,N,4], scores [B,C,N], maximum number of boxes per class, overlap threshold, score
    threshold. The output [selected,3] lists (item, class, box), sorted by item, class and score.
    With `center_point_box` a box is (x, y, w, h).
    """

    meanings = (
        Sizes(2),
        Portion(3),
        Portion(4),
    )

    shapes = "B N 4, B ? N"

    center_point_box: int = attribute(default=0, least=0, most=1)

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.require_within(args, 3, 0, 1, "the overlap threshold")
        return [TensorType(ElementType.I64, Shape.of(None, 3))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.nms.onnx_function(centred=self.center_point_box != 0)
