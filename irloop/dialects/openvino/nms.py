"""Non-maximum suppression in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.openvino.base import INDICES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Portion, Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = [
    "NMSRotated",
    "NonMaxSuppression1",
    "NonMaxSuppression3",
    "NonMaxSuppression4",
    "NonMaxSuppression5",
    "NonMaxSuppression9",
    "Scored",
    "Suppressing",
]


class Suppressing(OpenVinoOp):
    """Base of NonMaxSuppression: returns one row for each box that it keeps.

    It takes boxes [B,N,4], scores [B,C,N], a limit, an overlap threshold and a score threshold. A
    row is (item, class, box); the number of rows is only known at run time. With `box_encoding`
    center a box is (x, y, width, height), with corner two opposite corners.
    """

    meanings = (
        Sizes(2),
        Portion(3),
        Portion(4),
    )

    operands = (
        "boxes: float, scores: float, max output boxes per class?: float | integer, "
        "IoU threshold?: float, score threshold?: float -> i32 | i64"
    )
    shapes = "N B 4, N ? B, (), (), ()"

    box_encoding: str = attribute(default="corner", words=("corner", "center"))
    sort_result_descending: bool = True

    def index_type(self) -> ElementType:
        """The element type of the indices."""
        return ElementType.I64

    def centred(self) -> bool:
        """Return whether boxes are given by their centre."""
        return self.box_encoding.lower() == "center"

    def _indices(self, args: Arguments) -> TensorType:
        return TensorType(self.index_type(), Shape.of(None, 3))

    def infer(self, args: Arguments) -> list[ValueType]:
        return [self._indices(args)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.nms.openvino_function(
            self.index_type().numpy(),
            centred=self.centred(),
            descending=self.sort_result_descending,
            n_outputs=n_outputs,
        )


class NonMaxSuppression1(Suppressing, type="NonMaxSuppression", since=1, inputs=(2, 5)):
    """Selects boxes that overlap no selected box of a higher score (NonMaxSuppression-1)."""


class _Typed(Suppressing):
    output_type: ElementType = attribute(default=ElementType.I64, words=INDICES)

    def index_type(self) -> ElementType:
        return self.output_type


class NonMaxSuppression3(_Typed, type="NonMaxSuppression", since=3, inputs=(2, 5)):
    """Selects boxes that overlap no selected box of a higher score (NonMaxSuppression-3).

    `output_type` is the type of the indices, i32 or i64.
    """


class NonMaxSuppression4(_Typed, type="NonMaxSuppression", since=4, inputs=(2, 5)):
    """Selects boxes that overlap no selected box of a higher score (NonMaxSuppression-4).

    It computes the same as NonMaxSuppression-3.
    """


class Scored(_Typed):
    """Base of the NonMaxSuppression versions with soft suppression, whose sigma is input 5.

    They also output the scores and the number of selected boxes.
    """

    operands = (
        "boxes: f16 | bf16 | f32, scores: f16 | bf16 | f32, "
        "max output boxes per class?: float | integer, IoU threshold?: f16 | bf16 | f32, "
        "score threshold?: f16 | bf16 | f32, soft NMS sigma?: f16 | bf16 | f32 "
        "-> indices: i32 | i64, scores: f16 | bf16 | f32, count: i32 | i64"
    )
    shapes = "N B 4, N ? B, (1), (1), (1), (1)"

    def infer(self, args: Arguments) -> list[ValueType]:
        indices = self._indices(args)
        scores = TensorType(args.element(1), indices.shape)
        return [indices, scores, TensorType(self.index_type(), Shape.of(1))]


class NonMaxSuppression5(Scored, type="NonMaxSuppression", since=5, inputs=(2, 6), outputs=3):
    """Selects boxes that overlap no selected box of a higher score (NonMaxSuppression-5).

    The outputs are the selected boxes, their scores, and the number of selected boxes.
    """


class NonMaxSuppression9(Scored, type="NonMaxSuppression", since=9, inputs=(2, 6), outputs=3):
    """Selects boxes that overlap no selected box of a higher score (NonMaxSuppression-9).

    It is the same operation as NonMaxSuppression-5, in opset9 and newer. The outputs are the
    selected boxes, their scores, and the number of selected boxes.
    """


class NMSRotated(OpenVinoOp, type="NMSRotated", since=13, inputs=5, outputs=3):
    """Selects rotated boxes that overlap no selected box of a higher score (NMSRotated-13).

    A box is (centre x, centre y, width, height, angle in radians). The outputs are those of
    NonMaxSuppression-9: the selected boxes, their scores, and the number of selected boxes.
    """

    meanings = (
        Sizes(2),
        Portion(3),
        Portion(4),
    )

    operands = (
        "boxes: float, scores: float, max output boxes per class: integer, "
        "IoU threshold: float, score threshold: float -> indices: i32 | i64, scores: float, "
        "count: i32 | i64"
    )
    shapes = "N B 5, N ? B, (1), (1), (1)"

    sort_result_descending: bool = True
    output_type: ElementType = attribute(default=ElementType.I64, words=INDICES)
    clockwise: bool = True

    def infer(self, args: Arguments) -> list[ValueType]:
        dims = args.shape(0).dims
        if dims is not None and isinstance(dims[2], int) and dims[2] != 5:
            raise args.error("the boxes have no angle", "[B, N, 5]", str(args.shape(0)))
        rows = Shape.of(None, 3)
        return [
            TensorType(self.output_type, rows),
            TensorType(args.element(1), rows),
            TensorType(self.output_type, Shape.of(1)),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.nms.rotated_function(
            self.output_type.numpy(),
            clockwise=self.clockwise,
            descending=self.sort_result_descending,
            n_outputs=n_outputs,
        )
