"""Pooling in ONNX: data [N, C, spatial...]."""

from __future__ import annotations

from collections.abc import Sequence

from irloop import kernels
from irloop.dialects import inference, windows
from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.onnx.convolution import halves
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, ElementType, Shape, TensorType, ValueType
from irloop.kernels.geometry import Window

__all__ = [
    "AveragePool",
    "AveragePool1",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalLpPool1",
    "GlobalMaxPool",
    "LpPool",
    "LpPool1",
    "LpPool2",
    "MaxPool",
    "MaxPool1",
    "MaxUnpool",
]


class _Pool(OnnxOp):
    """Base of all pooling operations, with the attributes that they share."""

    kernel_shape: tuple[int, ...]
    auto_pad: str = "NOTSET"
    pads: tuple[int, ...] = attribute(default=(), least=0)
    strides: tuple[int, ...] = ()

    def _dilations(self) -> tuple[int, ...]:
        return ()

    def _rounding(self) -> str:
        return "floor"

    def window(self) -> Window:
        """The positions of the windows.

        Raises:
            ValueError: when the attributes contradict each other.
        """
        begin, end = halves(self.pads)
        return Window.of(
            self.kernel_shape,
            self.strides,
            self._dilations(),
            begin,
            end,
            self.auto_pad,
            self._rounding(),
        )

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), windows.pooled(args, self.window, least=0))]


class AveragePool1(_Pool, type="AveragePool", since=1, inputs=1):
    """Mean of each window without padding (AveragePool-1)."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.average(self.window(), include_pad=False, clip_end=True)


class AveragePool(_Pool, type="AveragePool", since=7, inputs=1):
    """Mean of each window (AveragePool-7, 10, 11, 19, 22).

    Windows that start in the padding at the end of an axis are dropped. With `count_include_pad`,
    a mean counts the padding, but no positions beyond it.
    """

    ceil_mode: int = 0
    count_include_pad: int = 0
    dilations: tuple[int, ...] = ()

    def _dilations(self) -> tuple[int, ...]:
        return self.dilations

    def _rounding(self) -> str:
        return "ceil_torch" if self.ceil_mode else "floor"

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.average(
            self.window(), include_pad=bool(self.count_include_pad), clip_end=True
        )


class MaxPool1(_Pool, type="MaxPool", since=1, inputs=1):
    """Maximum of each window (MaxPool-1)."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.max_values(self.window())


class MaxPool(_Pool, type="MaxPool", since=8, inputs=1, outputs=None):
    """Maximum of each window and its flat index in the data (MaxPool-8, 10, 11, 12, 22).

    With `storage_order` 1 the first spatial axis varies fastest in the index.
    """

    ceil_mode: int = 0
    dilations: tuple[int, ...] = ()
    storage_order: int = attribute(default=0, least=0, most=1)

    def _dilations(self) -> tuple[int, ...]:
        return self.dilations

    def _rounding(self) -> str:
        return "ceil_torch" if self.ceil_mode else "floor"

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = windows.pooled(args, self.window, least=0)
        types = [TensorType(args.element(0), shape), TensorType(ElementType.I64, shape)]
        return [*types[: args.n_outputs]]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if n_outputs == 1:
            return kernels.pooling.max_values(self.window())
        return kernels.pooling.max_indices(self.window(), column_major=self.storage_order == 1)


class _Norm(_Pool):
    def _order(self) -> float:
        return 2.0

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.lp(self.window(), self._order())


class LpPool1(_Norm, type="LpPool", since=1, inputs=1):
    """p-norm of each window (LpPool-1)."""

    p: float = 2.0

    def _order(self) -> float:
        return self.p


class LpPool2(_Norm, type="LpPool", since=2, inputs=1):
    """p-norm of each window (LpPool-2, 11)."""

    p: int = 2

    def _order(self) -> float:
        return float(self.p)


class LpPool(LpPool2, type="LpPool", since=18, inputs=1):
    """p-norm of each window (LpPool-18, 22), with dilations and rounding."""

    ceil_mode: int = 0
    dilations: tuple[int, ...] = ()

    def _dilations(self) -> tuple[int, ...]:
        return self.dilations

    def _rounding(self) -> str:
        return "ceil_torch" if self.ceil_mode else "floor"


class _Global(OnnxOp):
    """Base of poolings with one window that covers all spatial axes."""

    shapes = "N C ? ..."

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = args.shape(0)
        if shape.dims is None:
            return [TensorType(args.element(0), UNKNOWN_SHAPE)]
        ones = (1,) * max(len(shape.dims) - 2, 0)
        return [TensorType(args.element(0), Shape((*shape.dims[:2], *ones)))]


class GlobalAveragePool(_Global, type="GlobalAveragePool", since=1, inputs=1):
    """Mean over the spatial axes (GlobalAveragePool-1, 22)."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.global_mean


class GlobalMaxPool(_Global, type="GlobalMaxPool", since=1, inputs=1):
    """Maximum over the spatial axes (GlobalMaxPool-1, 22)."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.global_max


class GlobalLpPool1(_Global, type="GlobalLpPool", since=1, inputs=1):
    """p-norm over the spatial axes (GlobalLpPool-1)."""

    p: float = 2.0

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.global_lp(self.p)


class GlobalLpPool(_Global, type="GlobalLpPool", since=2, inputs=1):
    """p-norm over the spatial axes (GlobalLpPool-2, 22)."""

    p: int = 2

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.global_lp(float(self.p))


class MaxUnpool(OnnxOp, type="MaxUnpool", since=9, inputs=(2, 3)):
    """Writes elements back to where MaxPool found them, zeros elsewhere (MaxUnpool-9, 11, 22).

    The indices refer to the shape that the attributes imply. Input 2, if present, is the shape of
    the result; the data is padded with zeros or cropped at the ends of the axes to fit.
    """

    shapes = "*, *, ?"

    kernel_shape: tuple[int, ...] = attribute(least=1)
    pads: tuple[int, ...] = ()
    strides: tuple[int, ...] = attribute(default=(), least=1)

    def inner_shape(self, shape: Sequence[int]) -> list[int]:
        """Return the output shape that follows from the attributes and the input shape `shape`.

        The indices in input 1 count the elements of a tensor of this shape, even if input 2 asks
        for a larger output.
        """
        rank = len(self.kernel_shape)
        strides = self.strides or (1,) * rank
        begin, end = halves(self.pads or (0,) * (2 * rank))
        return [
            *shape[:2],
            *(
                (size - 1) * stride + kernel - low - high
                for size, stride, kernel, low, high in zip(
                    shape[2:], strides, self.kernel_shape, begin, end, strict=True
                )
            ),
        ]

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = args.shape(0)
        if shape.rank is not None and shape.rank != len(self.kernel_shape) + 2:
            expected = f"rank {len(self.kernel_shape) + 2}"
            raise args.error(
                "the rank of the data does not match kernel_shape", expected, f"rank {shape.rank}"
            )
        inference.require_rank(args, 1, len(self.kernel_shape) + 2)
        if shape.dims is not None:
            inference.require_shape(args, 1, shape.dims)
        if args.has(2):
            inference.require_shape(args, 2, (len(self.kernel_shape) + 2,))
            wanted = args.dims(2)
            rank = shape.rank
            if wanted is not None:
                return [TensorType(args.element(0), Shape(wanted))]
            found = UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank)
            return [TensorType(args.element(0), found)]
        if shape.dims is None:
            return [TensorType(args.element(0), UNKNOWN_SHAPE)]
        sizes = shape.static()
        if sizes is None:
            known = Shape((*shape.dims[:2], *(UNKNOWN_DIM,) * (len(shape.dims) - 2)))
            return [TensorType(args.element(0), known)]
        return [TensorType(args.element(0), Shape(tuple(self.inner_shape(sizes))))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.max_unpool(self.inner_shape)
