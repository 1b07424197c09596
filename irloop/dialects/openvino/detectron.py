"""The ExperimentalDetectron operations of OpenVINO, except the generation of proposals."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

__all__ = [
    "ExperimentalDetectronDetectionOutput",
    "ExperimentalDetectronPriorGridGenerator",
    "ExperimentalDetectronROIFeatureExtractor",
    "ExperimentalDetectronTopKROIs",
]


def _boxes(args: Arguments) -> Dim:
    """The number of boxes in input 0 [R, 4]."""
    count, width = inference.dims_of_rank(args, 0, 2)
    if isinstance(width, int) and width != 4:
        raise args.error("input 0 is not a list of boxes", "[R, 4]", str(args.shape(0)))
    return count


class ExperimentalDetectronDetectionOutput(
    OpenVinoOp, type="ExperimentalDetectronDetectionOutput", since=6, inputs=4, outputs=3
):
    """Final detections from regions [R, 4], offsets [R, 4 C], scores [R, C] and the image.

    Outputs max_detections_per_image boxes, classes and scores, padded with zeros. Class 0 is the
    background (ExperimentalDetectronDetectionOutput-6). Offsets are per class even if
    class_agnostic_box_regression is set.
    """

    operands = (
        "regions: T, deltas: T, scores: T, image size: T -> boxes: T, classes: i32, scores: T "
        "where T: float"
    )

    once_experimental: ClassVar[bool] = True
    score_threshold: float = attribute(absent="0")
    nms_threshold: float = attribute(absent="0")
    max_delta_log_wh: float
    num_classes: int
    post_nms_count: int = attribute(least=0)
    max_detections_per_image: int = attribute(least=0)
    deltas_weights: tuple[float, ...]
    class_agnostic_box_regression: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        _boxes(args)
        for position in (1, 2, 3):
            inference.dims_of_rank(args, position, 2)
        if len(self.deltas_weights) != 4:
            found = str(len(self.deltas_weights))
            raise args.error("deltas_weights must have four values", "4", found)
        for position, wanted in ((1, 4 * self.num_classes), (2, self.num_classes)):
            width = args.shape(position).dim(1)
            if isinstance(width, int) and width != wanted:
                what = f"the width of input {position} does not match num_classes"
                raise args.error(what, f"{wanted} columns", str(width))
        count, element = self.max_detections_per_image, args.element(0)
        return [
            TensorType(element, Shape.of(count, 4)),
            TensorType(ElementType.I32, Shape.of(count)),
            TensorType(element, Shape.of(count)),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.detectron.detections(
            kernels.detectron.Final(
                self.score_threshold,
                self.nms_threshold,
                self.max_delta_log_wh,
                self.num_classes,
                self.post_nms_count,
                self.max_detections_per_image,
                self.deltas_weights,
            )
        )


class ExperimentalDetectronPriorGridGenerator(
    OpenVinoOp, type="ExperimentalDetectronPriorGridGenerator", since=6, inputs=3
):
    """Prior boxes [P, 4] around every cell of a feature map [1, C, H, W].

    The last input is the image [1, C, h, w]. The result is [H * W * P, 4], or [H, W, P, 4] without
    `flatten` (ExperimentalDetectronPriorGridGenerator-6).
    """

    operands = "priors: T, feature map: T, image: T -> T where T: float"
    shapes = "A 4, N ? ? ?, N ? ? ?"

    once_experimental: ClassVar[bool] = True
    flatten: bool = True
    h: int = attribute(default=0, least=0)
    w: int = attribute(default=0, least=0)
    stride_x: float = 0.0
    stride_y: float = 0.0

    def infer(self, args: Arguments) -> list[ValueType]:
        priors, (_, _, height, width) = _boxes(args), inference.dims_of_rank(args, 1, 4)
        inference.dims_of_rank(args, 2, 4)
        shape = Shape((height, width, priors, 4))
        if self.flatten:
            known = [dim for dim in (height, width, priors) if isinstance(dim, int)]
            rows = known[0] * known[1] * known[2] if len(known) == 3 else UNKNOWN_DIM
            shape = Shape((rows, 4))
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.detectron.prior_grid(
            (self.h, self.w), (self.stride_y, self.stride_x), flatten=self.flatten
        )


class ExperimentalDetectronROIFeatureExtractor(
    OpenVinoOp,
    type="ExperimentalDetectronROIFeatureExtractor",
    since=6,
    inputs=(2, None),
    outputs=2,
):
    """Features of regions [R, 4], each read from the pyramid map [1, C, H, W] that fits its size.

    Outputs the features [R, C, size, size] and the regions
    (ExperimentalDetectronROIFeatureExtractor-6). As in OpenVINO, there may be more scales than
    maps; the extra ones are ignored.
    """

    operands = "regions: T, pyramid maps...: T -> features: T, regions: T where T: float"

    once_experimental: ClassVar[bool] = True
    output_size: int = attribute(least=0)
    sampling_ratio: int = attribute(absent="0")
    pyramid_scales: tuple[int, ...]
    aligned: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        regions = _boxes(args)
        if len(self.pyramid_scales) < len(args) - 1:
            found = str(len(self.pyramid_scales))
            expected = f"{len(args) - 1} or more"
            raise args.error("there must be one pyramid scale per map", expected, found)
        channels = [
            inference.dims_of_rank(args, position, 4)[1] for position in range(1, len(args))
        ]
        size, element = self.output_size, args.element(0)
        shape = Shape((regions, channels[0], size, size))
        return [TensorType(element, shape), TensorType(element, Shape((regions, 4)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.detectron.pyramid(
            self.output_size, self.sampling_ratio, self.pyramid_scales, aligned=self.aligned
        )


class ExperimentalDetectronTopKROIs(
    OpenVinoOp, type="ExperimentalDetectronTopKROIs", since=6, inputs=2
):
    """The max_rois best regions of [R, 4] by scores [R] (ExperimentalDetectronTopKROIs-6)."""

    operands = "regions: T, scores: T -> T where T: float"
    shapes = "R 4, R"

    once_experimental: ClassVar[bool] = True
    max_rois: int = attribute(least=0)

    def infer(self, args: Arguments) -> list[ValueType]:
        _boxes(args)
        inference.dims_of_rank(args, 1, 1)
        return [TensorType(args.element(0), Shape.of(self.max_rois, 4))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.detectron.best_rois(self.max_rois)
