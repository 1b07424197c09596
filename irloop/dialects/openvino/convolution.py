"""Convolutions in OpenVINO: data [N, C, spatial...]."""

from __future__ import annotations

import math

from irloop import kernels
from irloop.dialects import inference, windows
from irloop.dialects.openvino.base import PADDINGS, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    Dim,
    ElementType,
    Shape,
    TensorType,
    ValueType,
)
from irloop.kernels.geometry import Window, openvino_placement

__all__ = [
    "BinaryConvolution",
    "Convolution",
    "ConvolutionBackpropData",
    "DeformableConvolution",
    "DeformableConvolution1",
    "GroupConvolution",
    "GroupConvolutionBackpropData",
    "Windowed",
]


class Windowed(OpenVinoOp):
    """Base of all convolutions, with the attributes that they share.

    The pads are used only if `auto_pad` is explicit.
    """

    operands = "data: T, filters: T -> T where T: number | nf4 | f4e2m1"

    strides: tuple[int, ...] = ()
    pads_begin: tuple[int, ...] = ()
    pads_end: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    auto_pad: str = attribute(default="explicit", words=PADDINGS)

    def _window(self, args: Arguments, kernel: tuple[Dim, ...]) -> Window | None:
        return windows.filter_window(
            args,
            kernel,
            self.strides,
            self.dilations,
            self.pads_begin,
            self.pads_end,
            self.auto_pad,
        )

    def _options(self) -> kernels.convolution.WindowOptions:
        return kernels.convolution.WindowOptions(
            self.strides, self.dilations, self.pads_begin, self.pads_end, self.auto_pad
        )

    def _convolved(self, args: Arguments, *, grouped: bool) -> Shape:
        data, filters = args.shape(0), args.shape(1)
        windows.ranks_agree(args, data, filters, extra=int(grouped))
        if data.dims is None and filters.dims is None:
            return UNKNOWN_SHAPE
        if filters.dims is None or data.dims is None:
            rank = data.rank if data.rank is not None else (filters.rank or 0) - grouped
            return Shape.of_rank(rank)
        kernel = filters.dims[2 + grouped :]
        channels = filters.dims[1 + grouped]
        outputs = filters.dims[0]
        if grouped:
            channels = _times(filters.dims[0], channels)
            outputs = _times(filters.dims[0], filters.dims[1])
        windows.same_dim(args, "the filter has a wrong channel count", data.dims[1], channels)
        spatial = windows.spatial_dims(args, self._window(args, kernel), data.dims[2:])
        return Shape((data.dims[0], outputs, *spatial))


def _times(left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return UNKNOWN_DIM


class Convolution(Windowed, type="Convolution", since=1, inputs=2):
    """Convolution of [N, I, ...] with filters [O, I, ...] (Convolution-1)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_pads(args, "pads_begin")
        return [TensorType(inference.same_element(args), self._convolved(args, grouped=False))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convolution.convolution(self._options())


class GroupConvolution(Windowed, type="GroupConvolution", since=1, inputs=2):
    """Convolution of [N, G*I, ...] with filters [G, O, I, ...] (GroupConvolution-1)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_pads(args, "pads_begin")
        return [TensorType(inference.same_element(args), self._convolved(args, grouped=True))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convolution.convolution(self._options(), grouped_filter=True)


class BinaryConvolution(Windowed, type="BinaryConvolution", since=1, inputs=2):
    """Convolution of {0, 1} data with u1 filters, where 0 counts as -1 (BinaryConvolution-1).

    Padded elements are not mapped to -1 or 1: they have the value `pad_value`, so that 0 adds
    nothing to a sum.
    """

    operands = "data: number, filters: u1 -> number"

    mode: str = attribute(default="xnor-popcount", words=("xnor-popcount",))
    pad_value: float = 0.0

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), self._convolved(args, grouped=False))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convolution.binary(self._options(), self.pad_value)


class _Backprop(Windowed):
    """Base of transposed convolutions.

    Input 2, if it is given, is the size of the output. With `auto_pad` same_upper or same_lower,
    the result is cropped to this size.
    """

    operands = "data: T, filters: T, output shape?: integer -> T where T: number"

    output_padding: tuple[int, ...] = ()

    def _infer(self, args: Arguments, *, grouped: bool) -> list[ValueType]:
        self.check_pads(args, "pads_begin")
        data, filters = args.shape(0), args.shape(1)
        windows.ranks_agree(args, data, filters, extra=int(grouped))
        element = inference.same_element(args, 0, 1)
        rank = data.rank if data.rank is not None else filters.rank
        if rank is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        if data.dims is None or filters.dims is None:
            return [TensorType(element, Shape.of_rank(rank - (grouped and data.rank is None)))]
        outputs, channels = filters.dims[1 + grouped], filters.dims[grouped]
        if grouped:
            channels = _times(filters.dims[0], channels)
            outputs = _times(filters.dims[0], outputs)
        windows.same_dim(args, "the filter has a wrong channel count", data.dims[1], channels)
        spatial = self._spatial(args, filters.dims[2 + grouped :], data.dims[2:])
        return [TensorType(element, Shape((data.dims[0], outputs, *spatial)))]

    def _spatial(
        self, args: Arguments, kernel: tuple[Dim, ...], sizes: tuple[Dim, ...]
    ) -> list[Dim]:
        if args.has(2):
            if not (args.element(2).is_integer or args.element(2) is ElementType.DYNAMIC):
                raise args.error("the output shape is not integer", "i32 or i64", "another type")
            wanted = args.dims(2)
            if wanted is None:
                return [UNKNOWN_DIM] * len(sizes)
            if len(wanted) != len(sizes):
                raise args.error(
                    "the output shape has a different length than the data has spatial axes",
                    str(len(sizes)),
                    str(len(wanted)),
                )
            return list(wanted)
        window = self._window(args, kernel)
        return windows.transposed_dims(args, window, sizes, self.output_padding, openvino_placement)

    def _kernel(self, *, grouped: bool) -> Kernel:
        run = kernels.convolution.transposed(
            self._options(),
            grouped_filter=grouped,
            output_padding=self.output_padding,
            placement=openvino_placement,
        )
        return lambda data, filters, shape=None: run(data, filters, None, shape)


class ConvolutionBackpropData(_Backprop, type="ConvolutionBackpropData", since=1, inputs=(2, 3)):
    """Transposed convolution of [N, I, ...] with [I, O, ...] (ConvolutionBackpropData-1)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._infer(args, grouped=False)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return self._kernel(grouped=False)


class GroupConvolutionBackpropData(
    _Backprop, type="GroupConvolutionBackpropData", since=1, inputs=(2, 3)
):
    """Transposed convolution with filters [G, I, O, ...] (GroupConvolutionBackpropData-1)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._infer(args, grouped=True)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return self._kernel(grouped=True)


class _Deformable(Windowed):
    """Base of deformable convolutions.

    Inputs:

    - data [N, C, H, W]
    - offsets [N, deformable_group*2*h*w, out_h, out_w], two for each element of the filter
    - filters [O, C/group, h, w]

    The output is [N, O, out_h, out_w].
    """

    group: int = attribute(default=1, least=1, needed=True)
    deformable_group: int = attribute(default=1, least=1, needed=True)

    def infer(self, args: Arguments) -> list[ValueType]:
        data, filters = args.shape(0), args.shape(2)
        windows.ranks_agree(args, data, filters)
        element = inference.same_element(args)
        if data.dims is None or filters.dims is None:
            rank = data.rank if data.rank is not None else filters.rank
            return [TensorType(element, UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank))]
        channels = _times(filters.dims[1], self.group)
        windows.same_dim(args, "the filter has a wrong channel count", data.dims[1], channels)
        window = self._window(args, filters.dims[2:])
        spatial = windows.spatial_dims(args, window, data.dims[2:])
        places = math.prod(window.kernel) * self.deformable_group if window else None
        self._check_moves(args, 1, "offsets", None if places is None else 2 * places, spatial)
        if args.has(3):
            self._check_moves(args, 3, "mask", places, spatial)
        return [TensorType(element, Shape((data.dims[0], filters.dims[0], *spatial)))]

    def _check_moves(
        self, args: Arguments, position: int, what: str, channels: int | None, spatial: list[Dim]
    ) -> None:
        wanted = Shape(
            (args.shape(0).dim(0), UNKNOWN_DIM if channels is None else channels, *spatial)
        )
        if wanted.refine(args.shape(position)) is None:
            raise args.error(
                f"input {position} ({what}) has a wrong shape",
                str(wanted),
                str(args.shape(position)),
            )

    def blends(self) -> bool:
        """Return whether positions near the border are interpolated with zeros outside the data."""
        return False

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.deformable.deformable(
            self._options(), self.group, self.deformable_group, blend=self.blends()
        )
        return lambda data, offset, filters, mask=None: run(data, filters, offset, mask)


class DeformableConvolution1(_Deformable, type="DeformableConvolution", since=1, inputs=3):
    """Convolution whose window elements are moved by offsets (DeformableConvolution-1)."""

    operands = "data: T, offsets: T, filters: T -> T where T: number | small"


class DeformableConvolution(_Deformable, type="DeformableConvolution", since=8, inputs=(3, 4)):
    """Convolution whose window elements are moved by offsets (DeformableConvolution-8).

    The optional input 3 is a mask, which has a factor for each sampled element of the data.
    """

    operands = "data: T, offsets: T, filters: T, mask?: T -> T where T: number | small"

    bilinear_interpolation_pad: bool = False

    def blends(self) -> bool:
        return self.bilinear_interpolation_pad
