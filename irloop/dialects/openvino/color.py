"""Colour conversion in OpenVINO: YUV 4:2:0 images to RGB or BGR images [N, H, W, C]."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_DIM, Dim, Shape, TensorType, ValueType

__all__ = ["FromI420", "FromNV12", "FromYuv", "I420toBGR", "I420toRGB", "NV12toBGR", "NV12toRGB"]


class FromYuv(OpenVinoOp):
    """Base of the conversions from NV12 and I420 to RGB or BGR.

    The planes of the image are stacked in one input, or each is an input of its own.
    """

    def reverse(self) -> bool:
        """Return whether the result is BGR."""
        return self.type.endswith("BGR")

    def infer(self, args: Arguments) -> list[ValueType]:
        element = args.element(0)
        dims = args.shape(0).dims
        if dims is None:
            return [TensorType(element, Shape.of(None, None, None, 3))]
        if len(dims) != 4 or (isinstance(dims[3], int) and dims[3] != 1):
            raise args.error("Y is not an image of one channel", "[N, H, W, 1]", str(args.shape(0)))
        height = self._height(args, dims[1]) if len(args) == 1 else dims[1]
        self._even(args, "width", dims[2])
        self._even(args, "height", height)
        return [TensorType(element, Shape((dims[0], height, dims[2], 3)))]

    def _height(self, args: Arguments, rows: Dim) -> Dim:
        if not isinstance(rows, int):
            return UNKNOWN_DIM
        if rows % 3:
            raise args.error(
                "the height of the stacked planes is not a multiple of 3",
                "3/2 of the height",
                str(rows),
            )
        return rows * 2 // 3

    def _even(self, args: Arguments, name: str, dim: Dim) -> None:
        if isinstance(dim, int) and dim % 2:
            raise args.error(f"the {name} is odd", "an even number", str(dim))


class FromNV12(FromYuv):
    """Base of conversions from NV12, where U and V are interleaved."""

    operands = "Y or all planes: T, UV?: T -> T where T: u8 | float"

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.color.nv12(reverse=self.reverse())


class NV12toRGB(FromNV12, type="NV12toRGB", since=8, inputs=(1, 2)):
    """NV12 to RGB (NV12toRGB-8)."""


class NV12toBGR(FromNV12, type="NV12toBGR", since=8, inputs=(1, 2)):
    """NV12 to BGR (NV12toBGR-8)."""


class FromI420(FromYuv):
    """Base of conversions from I420, where U and V are separate planes."""

    operands = "Y or all planes: T, U?: T, V?: T -> T where T: u8 | float"

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.color.i420(reverse=self.reverse())


class I420toRGB(FromI420, type="I420toRGB", since=8, inputs=(1, 3)):
    """I420 to RGB (I420toRGB-8)."""


class I420toBGR(FromI420, type="I420toBGR", since=8, inputs=(1, 3)):
    """I420 to BGR (I420toBGR-8)."""
