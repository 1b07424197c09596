"""ONNX operations that pool regions of interest from feature maps [N, C, H, W]."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Rows
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_DIM, Dim, Shape, TensorType, ValueType

__all__ = ["MaxRoiPool", "RoiAlign", "RoiAlign10"]


def _shape(args: Arguments, height: int, width: int, row: int) -> Shape:
    data, rois = args.shape(0).dims, args.shape(1).dims
    if data is not None and len(data) != 4:
        raise args.error("its data is not a feature map", "[N, C, H, W]", str(args.shape(0)))
    if rois is not None and (len(rois) != 2 or (isinstance(rois[1], int) and rois[1] != row)):
        raise args.error("the regions have a wrong shape", f"[R, {row}]", str(args.shape(1)))
    channels: Dim = UNKNOWN_DIM if data is None else data[1]
    count: Dim = UNKNOWN_DIM if rois is None else rois[0]
    return Shape((count, channels, height, width))


class MaxRoiPool(OnnxOp, type="MaxRoiPool", since=1, inputs=2):
    """The maximum of each bin of regions [R, 5] (item, x1, y1, x2, y2) (MaxRoiPool-1, 22)."""

    pooled_shape: tuple[int, ...]
    spatial_scale: float = 1.0

    def infer(self, args: Arguments) -> list[ValueType]:
        if len(self.pooled_shape) != 2:
            raise args.error("pooled_shape is not a height and width", "2", str(self.pooled_shape))
        height, width = self.pooled_shape
        return [TensorType(args.element(0), _shape(args, height, width, 5))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        height, width = self.pooled_shape
        return kernels.roi.roi_pool_max(height, width, self.spatial_scale)


class RoiAlign10(OnnxOp, type="RoiAlign", since=10, inputs=3):
    """Averages or maxima of bilinear samples in regions of feature maps (RoiAlign-10).

    Input 1 has the regions [R, 4] (x1, y1, x2, y2). Input 2 [R] has the batch index of each region.
    """

    shapes = "? ? ? ?, R ?, R"
    meanings = (Rows(2, data=0),)

    mode: str = "avg"
    output_height: int = 1
    output_width: int = 1
    sampling_ratio: int = 0
    spatial_scale: float = 1.0

    def moves_half(self) -> bool:
        """Return whether scaled coordinates are shifted by half an element."""
        return False

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.mode not in ("avg", "max"):
            raise args.error("mode is unknown", "avg or max", self.mode, kind="range")
        shape = _shape(args, self.output_height, self.output_width, 4)
        items = args.shape(0).dim(0)
        last = items - 1 if isinstance(items, int) else UNKNOWN_DIM
        inference.require_within(args, 2, 0, last, "a row")
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        half = self.moves_half()
        return kernels.roi.roi_align(
            self.output_height,
            self.output_width,
            self.sampling_ratio,
            self.spatial_scale,
            self.mode,
            after=-0.5 if half else 0.0,
            at_least_one=not half,
        )


class RoiAlign(RoiAlign10, type="RoiAlign", since=16, inputs=3):
    """Averages or maxima of bilinear samples in regions of feature maps (RoiAlign-16, 22).

    The inputs are those of RoiAlign-10. By default coordinates are shifted by half an element.
    """

    coordinate_transformation_mode: str = "half_pixel"

    def moves_half(self) -> bool:
        return self.coordinate_transformation_mode == "half_pixel"
