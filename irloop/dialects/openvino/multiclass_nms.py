"""Suppression over all classes in OpenVINO: MulticlassNms and MatrixNms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irloop import kernels
from irloop.dialects.openvino.base import INDICES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.multiclass_nms import Limits

__all__ = ["MatrixNms", "MulticlassNms", "MulticlassNms8"]


class _OfClasses(OpenVinoOp):
    """Base of MulticlassNms and MatrixNms, which select the best boxes of all classes.

    The inputs are boxes [B, N, 4] and scores [B, C, N]. The outputs are the selected boxes as rows
    (class, score, x1, y1, x2, y2), the index of each selected box, and the number of rows for each
    batch item. The total number of rows is only known at run time.
    """

    operands = (
        "boxes: T, scores: T -> detections: T, indices: i32 | i64, counts: i32 | i64 "
        "where T: f16 | bf16 | f32"
    )

    sort_result_type: str = "none"
    sort_result_across_batch: bool = False
    output_type: ElementType = attribute(default=ElementType.I64, words=INDICES)
    score_threshold: float = 0.0
    nms_top_k: int = attribute(default=-1, least=-1)
    keep_top_k: int = attribute(default=-1, least=-1)
    background_class: int = attribute(default=-1, least=-1)
    normalized: bool = True

    def _outputs(self, args: Arguments, items: Dim) -> list[ValueType]:
        return [
            TensorType(args.element(0), Shape.of(None, 6)),
            TensorType(self.output_type, Shape.of(None, 1)),
            TensorType(self.output_type, Shape((items,))),
        ]

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.sort_result_type.lower() not in ("score", "classid", "none"):
            expected = "score, classid or none"
            raise args.error(
                "sort_result_type is not known", expected, self.sort_result_type, kind="range"
            )
        for position, name in ((0, "boxes"), (1, "scores")):
            if args.rank(position) not in (None, 3):
                raise args.error(f"the {name} have a wrong rank", "3", str(args.shape(position)))
        dims = args.shape(0).dims
        return self._outputs(args, UNKNOWN_DIM if dims is None else dims[0])

    def limits(self) -> Limits:
        """The attributes in the form that the kernel takes."""
        return kernels.multiclass_nms.Limits(
            self.sort_result_type.lower(),
            self.sort_result_across_batch,
            self.score_threshold,
            self.nms_top_k,
            self.keep_top_k,
            self.background_class,
            self.normalized,
            self.output_type.numpy(),
        )


class _Multiclass(_OfClasses):
    iou_threshold: float = 0.0
    nms_eta: float = attribute(default=1.0, least=0, most=1)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.multiclass_nms.multiclass_nms
        return run(self.limits(), self.iou_threshold, self.nms_eta)


class MulticlassNms8(_Multiclass, type="MulticlassNms", since=8, inputs=2, outputs=3):
    """Selects boxes by non-maximum suppression within each class (MulticlassNms-8).

    A box is selected if it overlaps no selected box of a higher score in its class.
    """


class MulticlassNms(_Multiclass, type="MulticlassNms", since=9, inputs=(2, 3), outputs=3):
    """Selects boxes by non-maximum suppression within each class (MulticlassNms-9).

    A box is selected if it overlaps no selected box of a higher score in its class. If input 2
    gives the number of boxes of each batch item, each class has its own boxes: the boxes are
    [C, N, 4] and the scores [C, N].
    """

    operands = (
        "boxes: T, scores: T, boxes of each image?: i32 | i64 -> detections: T, "
        "indices: i32 | i64, counts: i32 | i64 where T: f16 | bf16 | f32"
    )

    def infer(self, args: Arguments) -> list[ValueType]:
        if not args.has(2):
            return super().infer(args)
        for position, rank in ((0, 3), (1, 2), (2, 1)):
            if args.rank(position) not in (None, rank):
                found = str(args.shape(position))
                raise args.error(f"input {position} has a wrong rank", str(rank), found)
        dims = args.shape(2).dims
        return self._outputs(args, UNKNOWN_DIM if dims is None else dims[0])


class MatrixNms(_OfClasses, type="MatrixNms", since=8, inputs=2, outputs=3):
    """Lowers the scores of boxes that overlap boxes of a higher score in their class (MatrixNms-8).

    `decay_function` is linear or gaussian.
    """

    decay_function: str = "linear"
    gaussian_sigma: float = 2.0
    post_threshold: float = 0.0

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.decay_function.lower() not in ("linear", "gaussian"):
            expected = "linear or gaussian"
            raise args.error(
                "decay_function is not known", expected, self.decay_function, kind="range"
            )
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.multiclass_nms.matrix_nms(
            self.limits(), self.decay_function.lower(), self.gaussian_sigma, self.post_threshold
        )
