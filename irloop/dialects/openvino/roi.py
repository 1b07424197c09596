"""Regions of interest in OpenVINO: data [N, C, H, W], regions [R, 5] or [R, 4]."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, Shape, TensorType, ValueType

__all__ = [
    "DeformablePSROIPooling",
    "PSROIPooling",
    "ROIAlign",
    "ROIAlign9",
    "ROIAlignRotated",
    "ROIPooling",
]


def _regions(args: Arguments, width: int) -> Dim:
    """Return the number of regions in input 1, which must be [R, `width`].

    Raises:
        InferenceError: when it has another shape.
    """
    dims = args.shape(1).dims
    if dims is None:
        return UNKNOWN_DIM
    if len(dims) != 2 or (isinstance(dims[1], int) and dims[1] != width):
        raise args.error("the regions have a wrong shape", f"[R, {width}]", str(args.shape(1)))
    return dims[0]


def _channels(args: Arguments) -> Dim:
    dims = args.shape(0).dims
    if dims is None:
        return UNKNOWN_DIM
    if len(dims) != 4:
        raise args.error("its data is not a feature map", "[N, C, H, W]", str(args.shape(0)))
    return dims[1]


def _check_scale(args: Arguments, scale: float) -> None:
    if scale <= 0:
        raise args.error("spatial_scale is out of range", "more than 0", str(scale), kind="range")


class ROIPooling(OpenVinoOp, type="ROIPooling", since=1, inputs=2):
    """Pools each region (batch item, x1, y1, x2, y2) to the same size (ROIPooling-2).

    If `method` is max, the result is the maximum of each bin. If it is bilinear, the coordinates of
    a region are in 0..1, and the data is sampled at a grid of positions in the region.
    """

    operands = "data: T, regions: T -> T where T: float"

    pooled_h: int = attribute(default=0, least=1)
    pooled_w: int = attribute(default=0, least=1)
    output_size: tuple[int, ...] = ()
    output_roi: tuple[int, ...] = attribute(default=(), entries=(2, 2))
    spatial_scale: float = attribute(default=1.0, needed=True)
    method: str = attribute(default="max", words=("max", "bilinear"))

    def size(self) -> tuple[int, int]:
        """The height and width to which regions are pooled."""
        listed = self.output_roi or self.output_size
        return (self.pooled_h, self.pooled_w) if self.pooled_h else (listed[0], listed[1])

    def infer(self, args: Arguments) -> list[ValueType]:
        if not self.pooled_h and len(self.output_roi or self.output_size) != 2:
            raise args.error("the pooled size is missing", "pooled_h and pooled_w")
        _check_scale(args, self.spatial_scale)
        shape = (_regions(args, 5), _channels(args), *self.size())
        return [TensorType(args.element(0), Shape(shape))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.method.lower() == "bilinear":
            return kernels.roi.roi_pool_bilinear(*self.size())
        return kernels.roi.roi_pool_max(*self.size(), self.spatial_scale)


class _Align(OpenVinoOp):
    operands = "data: T, regions: T, batch indices: integer -> T where T: float | f4e2m1"
    shapes = "? ? ? ?, R 4, R"

    pooled_h: int = attribute(least=1)
    pooled_w: int = attribute(least=1)
    sampling_ratio: int = attribute(absent="0")
    spatial_scale: float
    mode: str = attribute(words=("avg", "max"), absent="avg")

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = (_regions(args, 4), _channels(args), self.pooled_h, self.pooled_w)
        return [TensorType(args.element(0), Shape(shape))]

    def alignment(self) -> str:
        """Return how ROIAlign shifts coordinates: asymmetric, half_pixel_for_nn or half_pixel.

        A coordinate x becomes x * scale, x * scale - 0.5 or (x + 0.5) * scale - 0.5, respectively.
        ROIAlign-9 has the attribute `aligned_mode` for this; ROIAlign-3 is always asymmetric.
        """
        return "asymmetric"

    def kernel(self, n_outputs: int = 1) -> Kernel:
        aligned = self.alignment()
        return kernels.roi.roi_align(
            self.pooled_h,
            self.pooled_w,
            self.sampling_ratio,
            self.spatial_scale,
            "avg" if self.mode.lower() == "avg" else "max_sample",
            before=0.5 if aligned == "half_pixel" else 0.0,
            after=0.0 if aligned == "asymmetric" else -0.5,
            at_least_one=aligned == "asymmetric",
        )


class ROIAlign(_Align, type="ROIAlign", since=3, inputs=3):
    """Samples regions (x1, y1, x2, y2) bilinearly, and pools the samples (ROIAlign-3).

    Input 1 holds the regions, and input 2 the index of the batch item for each region.
    """


class ROIAlign9(_Align, type="ROIAlign", since=9, inputs=3):
    """Samples regions (x1, y1, x2, y2) bilinearly, and pools the samples (ROIAlign-9).

    Input 1 holds the regions, and input 2 the index of the batch item for each region.
    `aligned_mode` selects the position of an element's centre.
    """

    aligned_mode: str = attribute(
        default="asymmetric", words=("asymmetric", "half_pixel_for_nn", "half_pixel")
    )

    def alignment(self) -> str:
        return self.aligned_mode.lower()


class PSROIPooling(OpenVinoOp, type="PSROIPooling", since=1, inputs=2):
    """Position-sensitive pooling: each bin reads its own channels (PSROIPooling-1)."""

    operands = "data: float | f4e2m1, regions: float | f4e2m1 -> float | f4e2m1"

    output_dim: int
    spatial_scale: float
    group_size: int = attribute(default=1, least=1, needed=True)
    mode: str = attribute(default="average", words=("average", "bilinear"), needed=True)
    spatial_bins_x: int = 1
    spatial_bins_y: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        channels, wanted = _channels(args), self.output_dim
        _check_scale(args, self.spatial_scale)
        if self.mode.lower() == "average":
            wanted *= self.group_size**2
        else:
            wanted *= self.spatial_bins_x * self.spatial_bins_y
        if isinstance(channels, int) and channels != wanted:
            raise args.error("its data has a wrong channel count", str(wanted), str(channels))
        shape = (_regions(args, 5), self.output_dim, self.group_size, self.group_size)
        return [TensorType(args.element(0), Shape(shape))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.mode.lower() == "average":
            return kernels.roi.psroi_average(self.output_dim, self.group_size, self.spatial_scale)
        return kernels.roi.psroi_bilinear(
            self.output_dim,
            self.group_size,
            self.spatial_bins_x,
            self.spatial_bins_y,
            self.spatial_scale,
        )


class ROIAlignRotated(OpenVinoOp, type="ROIAlignRotated", since=15, inputs=3):
    """ROIAlign for rotated regions (ROIAlignRotated-15).

    A region is given by five numbers: centre x, centre y, width, height and the angle in radians.
    Input 2 holds the batch item of each region. Each bin is the mean of its bilinear samples.
    """

    operands = "data: T, regions: T, batch indices: integer -> T where T: float | f4e2m1"
    shapes = "? ? ? ?, R 5, R"

    pooled_h: int = attribute(least=1)
    pooled_w: int = attribute(least=1)
    sampling_ratio: int = attribute(least=0, absent="0")
    spatial_scale: float
    clockwise_mode: bool = attribute(absent="false")

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = (_regions(args, 5), _channels(args), self.pooled_h, self.pooled_w)
        return [TensorType(args.element(0), Shape(shape))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.roi_turned.roi_align_rotated(
            self.pooled_h,
            self.pooled_w,
            self.sampling_ratio,
            self.spatial_scale,
            clockwise=self.clockwise_mode,
        )


class DeformablePSROIPooling(OpenVinoOp, type="DeformablePSROIPooling", since=1, inputs=(2, 3)):
    """Position-sensitive pooling with bins shifted by input 2, [R, 2 * K, part, part].

    A shift, multiplied by `trans_std`, is a fraction of the region's size
    (DeformablePSROIPooling-1).
    """

    operands = "data: any, regions: any, offsets?: any -> any"

    output_dim: int
    spatial_scale: float
    group_size: int = 1
    mode: str = attribute(default="bilinear_deformable", words=("bilinear_deformable",))
    spatial_bins_x: int = attribute(default=1, least=1)
    spatial_bins_y: int = attribute(default=1, least=1)
    trans_std: float = 1.0
    part_size: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        channels, wanted = _channels(args), self.output_dim * self.group_size**2
        if isinstance(channels, int) and channels != wanted:
            expected = f"{wanted} (output_dim * group_size * group_size)"
            raise args.error("its data has a wrong channel count", expected, str(channels))
        if args.rank(2) not in (None, 4):
            raise args.error("the offsets have a wrong rank", "4", str(args.shape(2)))
        shape = (_regions(args, 5), self.output_dim, self.group_size, self.group_size)
        return [TensorType(args.element(0), Shape(shape))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.roi_turned.deformable_psroi(
            self.output_dim,
            self.group_size,
            (self.spatial_bins_y, self.spatial_bins_x),
            self.spatial_scale,
            self.part_size,
            self.trans_std,
        )
