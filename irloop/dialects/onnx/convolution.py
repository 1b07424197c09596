"""Convolutions in ONNX: data [N, C, spatial...]."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference, windows
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType
from irloop.kernels.geometry import Window, onnx_placement

__all__ = [
    "CausalConvWithState",
    "Conv",
    "ConvTranspose",
    "DeformConv",
    "Windowed",
    "halves",
]


def halves(pads: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split ONNX pads, which list all begins, then all ends."""
    middle = len(pads) // 2
    return pads[:middle], pads[middle:]


def kernel_dims(
    args: Arguments, kernel_shape: tuple[int, ...], filters: tuple[Dim, ...]
) -> tuple[Dim, ...]:
    """The spatial sizes of the filter, which must equal `kernel_shape`, if that is given.

    Raises:
        InferenceError: when they differ.
    """
    dims = filters[2:]
    if not kernel_shape:
        return dims
    if len(dims) != len(kernel_shape):
        raise args.error(
            "kernel_shape has a different length than the filter has spatial axes",
            str(len(dims)),
            str(list(kernel_shape)),
        )
    return tuple(
        windows.same_dim(args, "kernel_shape differs from the filter", size, dim)
        for size, dim in zip(kernel_shape, dims, strict=True)
    )


class Windowed(OnnxOp):
    """Base of all convolutions, with the attributes that they share.

    If `kernel_shape` is present, it must equal the spatial sizes of the filter.
    """

    auto_pad: str = "NOTSET"
    dilations: tuple[int, ...] = ()
    group: int = attribute(default=1, least=1)
    kernel_shape: tuple[int, ...] = ()
    pads: tuple[int, ...] = attribute(default=(), least=0)
    strides: tuple[int, ...] = ()

    def _window(self, args: Arguments, kernel: tuple[Dim, ...]) -> Window | None:
        begin, end = halves(self.pads)
        return windows.filter_window(
            args, kernel, self.strides, self.dilations, begin, end, self.auto_pad
        )

    def _options(self) -> kernels.convolution.WindowOptions:
        begin, end = halves(self.pads)
        return kernels.convolution.WindowOptions(
            self.strides, self.dilations, begin, end, self.auto_pad
        )

    def _convolved(self, args: Arguments, data_at: int = 0, filter_at: int = 1) -> Shape:
        """Infer the shape of the convolution of one input with filters in another.

        `data_at` and `filter_at` are the positions of these two inputs. If either shape is unknown,
        at most the rank of the result is known.
        """
        data, filters = args.shape(data_at), args.shape(filter_at)
        windows.ranks_agree(args, data, filters)
        if data.dims is None or filters.dims is None:
            rank = data.rank if data.rank is not None else filters.rank
            return UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank)
        channels, outputs = filters.dims[1], filters.dims[0]
        if isinstance(channels, int):
            channels *= self.group
        windows.same_dim(args, "the filter has a wrong channel count", data.dims[1], channels)
        if isinstance(outputs, int) and outputs % self.group:
            raise args.error(
                "the filters cannot be divided into groups",
                f"a multiple of {self.group}",
                str(outputs),
            )
        window = self._window(args, kernel_dims(args, self.kernel_shape, filters.dims))
        spatial = windows.spatial_dims(args, window, data.dims[2:])
        return Shape((data.dims[0], outputs, *spatial))


class Conv(Windowed, type="Conv", since=1, inputs=(2, 3)):
    """Convolution of [N, C, ...] with [O, C/group, ...] plus a bias [O] (Conv-1, 11, 22)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = self._convolved(args)
        if args.has(2):
            outputs = UNKNOWN_DIM if shape.dims is None else shape.dim(1)
            inference.require_shape(args, 2, (outputs,))
        return [TensorType(inference.same_element(args), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convolution.convolution(self._options(), self.group)


class ConvTranspose(Windowed, type="ConvTranspose", since=1, inputs=(2, 3)):
    """Transposed convolution with filters [C, O/group, ...] (ConvTranspose-1, 11, 22)."""

    output_padding: tuple[int, ...] = ()
    output_shape: tuple[int, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args)
        data, filters = args.shape(0), args.shape(1)
        windows.ranks_agree(args, data, filters)
        if min(self.output_shape, default=0) < 0:
            found = str(list(self.output_shape))
            raise args.error("output_shape is negative", "0 or more", found, kind="range")
        known = data.rank or filters.rank
        for name in ("output_shape", "output_padding"):
            length = len(getattr(self, name))
            if length and known is not None and length != known - 2:
                message = f"{name} has the wrong length"
                raise args.error(message, f"{known - 2} numbers", str(length), kind="range")
        if data.dims is None or filters.dims is None:
            rank = data.rank if data.rank is not None else filters.rank
            shape = UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank)
            return [TensorType(element, shape)]
        channels = windows.same_dim(
            args, "the filter has a wrong channel count", data.dims[1], filters.dims[0]
        )
        if isinstance(channels, int) and channels % self.group:
            expected = f"a multiple of {self.group}"
            raise args.error("the channels cannot be divided into groups", expected, str(channels))
        outputs = filters.dims[1]
        total: Dim = outputs * self.group if isinstance(outputs, int) else UNKNOWN_DIM
        if args.has(2):
            inference.require_shape(args, 2, (total,))
        rank = len(data.dims) - 2
        spatial: list[Dim] = list(self.output_shape[-rank:]) if rank else []
        if not self.output_shape:
            window = self._window(args, kernel_dims(args, self.kernel_shape, filters.dims))
            spatial = windows.transposed_dims(
                args, window, data.dims[2:], self.output_padding, onnx_placement
            )
        return [TensorType(element, Shape((data.dims[0], total, *spatial)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convolution.transposed(
            self._options(),
            self.group,
            output_padding=self.output_padding,
            output_shape=self.output_shape,
            placement=onnx_placement,
        )


class DeformConv(OnnxOp, type="DeformConv", since=19, inputs=(3, 5)):
    """Convolution whose window elements are moved by offsets (DeformConv-19, 22).

    Inputs: data [N,C,...], filters [O,C/group,...], offsets [N,offset_group*K*r,...], and
    optionally a bias [O] and a mask [N,offset_group*K,...] that scales each element. There are r
    spatial dimensions, and a window has K elements.
    """

    shapes = "N ? ..., O ? ..., N ? ..., O, N ? ..."

    dilations: tuple[int, ...] = ()
    group: int = attribute(default=1, least=1)
    kernel_shape: tuple[int, ...] = ()
    offset_group: int = attribute(default=1, least=1)
    pads: tuple[int, ...] = attribute(default=(), least=0)
    strides: tuple[int, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args)
        data, filters = args.shape(0), args.shape(1)
        windows.ranks_agree(args, data, filters)
        if data.dims is None or filters.dims is None:
            rank = data.rank if data.rank is not None else filters.rank
            return [TensorType(element, UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank))]
        begin, end = halves(self.pads)
        window = windows.filter_window(
            args,
            kernel_dims(args, self.kernel_shape, filters.dims),
            self.strides,
            self.dilations,
            begin,
            end,
            "NOTSET",
        )
        spatial = windows.spatial_dims(args, window, data.dims[2:])
        return [TensorType(element, Shape((data.dims[0], filters.dims[0], *spatial)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        begin, end = halves(self.pads)
        options = kernels.convolution.WindowOptions(self.strides, self.dilations, begin, end)
        run = kernels.deformable.deformable(options, self.group, self.offset_group, blend=True)
        return lambda data, filters, offset, bias=None, mask=None: run(
            data, filters, offset, mask, bias
        )


class CausalConvWithState(OnnxOp, type="CausalConvWithState", since=27, inputs=(2, 4), outputs=2):
    """Depthwise convolution of [N,C,L] that starts from a saved state (CausalConvWithState-27).

    Inputs: data, filters [C,1,K], optional bias [C] and past state [N,C,K-1]. Outputs: the result
    and the last K-1 elements. `activation` is none, silu or swish.
    """

    shapes = "N C ?, C 1 ?, C, N C ?"

    activation: str = attribute(default="none", words=("none", "silu", "swish"))

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args)
        data, filters = args.shape(0), args.shape(1)
        if data.dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)] * 2
        width = filters.dims[-1] if filters.dims else UNKNOWN_DIM
        kept: Dim = width - 1 if isinstance(width, int) else UNKNOWN_DIM
        if args.has(3):
            inference.require_shape(args, 3, (*data.dims[:-1], kept))
        return [TensorType(element, data), TensorType(element, data.with_dim(-1, kept))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convolution.causal_with_state(self.activation)
