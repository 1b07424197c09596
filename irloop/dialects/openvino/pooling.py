"""Pooling in OpenVINO: data [N, C, spatial...]."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import windows
from irloop.dialects.openvino.base import INDICES, PADDINGS, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, ElementType, Shape, TensorType, ValueType
from irloop.kernels.geometry import Window

__all__ = [
    "AdaptiveAvgPool",
    "AdaptiveMaxPool",
    "AvgPool",
    "AvgPool14",
    "AvgPool16",
    "MaxPool",
    "MaxPool1",
    "MaxPool14",
]


class _Pool(OpenVinoOp):
    """Base of all pooling operations, with the attributes that they share.

    The pads are used only if `auto_pad` is explicit.
    """

    operands = "data: number | boolean -> number | boolean"

    kernel_size: tuple[int, ...] = attribute(name="kernel")
    strides: tuple[int, ...] = attribute(default=(), entries=(1, None), needed=True)
    pads_begin: tuple[int, ...] = ()
    pads_end: tuple[int, ...] = ()
    rounding_type: str = attribute(default="floor", words=("floor", "ceil", "ceil_torch"))
    auto_pad: str = attribute(default="explicit", words=PADDINGS)

    def _dilations(self) -> tuple[int, ...]:
        return ()

    def window(self) -> Window:
        """The positions of the windows.

        Raises:
            ValueError: when the attributes contradict each other.
        """
        return Window.of(
            self.kernel_size,
            self.strides,
            self._dilations(),
            self.pads_begin,
            self.pads_end,
            self.auto_pad,
            self.rounding_type,
        )

    def pooled(self, args: Arguments) -> Shape:
        """The shape of the result.

        Raises:
            InferenceError: when the window does not fit, or the batch or the channels are empty.
        """
        self.check_pads(args, "pads_begin", "pads_end")
        shape = windows.pooled(args, self.window)
        window = self.window()
        for axis, size in enumerate((args.shape(0).dims or ())[2:]):
            # With rounding up, a window may start although none fits.
            if isinstance(size, int) and size + sum(window.pads(axis, size)) < window.extent(axis):
                message = f"the window is larger than spatial axis {axis}"
                raise args.error(message, f"{window.extent(axis)} elements", str(size))
        if 0 in (shape.dims or ())[:2]:
            raise args.error("the batch or the channels are empty", "1 or more", str(args.shape(0)))
        return shape


class _Average(_Pool):
    exclude_pad: bool = attribute(default=False, name="exclude-pad")

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = self.pooled(args)
        if self.exclude_pad and self.auto_pad.lower() == "explicit":
            self._reaches_data(args)
        return [TensorType(args.element(0), shape)]

    def _reaches_data(self, args: Arguments) -> None:
        window = self.window()
        for axis, pads in enumerate(zip(window.pads_begin, window.pads_end, strict=True)):
            if max(pads) >= window.extent(axis):
                raise args.error(
                    f"a window is entirely in the padding of spatial axis {axis}",
                    f"less than {window.extent(axis)}, as exclude-pad is set",
                    str(max(pads)),
                )

    def counts_padding(self) -> bool:
        """Return whether the divisor is the size of the window, whatever part of it is padding.

        Without any padding, OpenVINO treats `exclude_pad` as true: if the last window does not fit
        on an axis, it divides by the number of elements in the window (measured with 2026.4).

        Raises:
            ValueError: when the attributes contradict each other.
        """
        window = self.window()
        is_padded = window.auto_pad != "valid" and any((*window.pads_begin, *window.pads_end))
        return not self.exclude_pad and (is_padded or window.auto_pad.startswith("same"))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.average(
            self.window(),
            include_pad=self.counts_padding(),
            clip_end=self.rounding_type.lower() == "ceil_torch",
        )


class AvgPool(_Average, type="AvgPool", since=1, inputs=1):
    """Mean of each window (AvgPool-1); the rounding type is floor or ceil."""


class AvgPool14(_Average, type="AvgPool", since=14, inputs=1):
    """Mean of each window (AvgPool-14); the rounding type may also be ceil_torch."""


class AvgPool16(_Average, type="AvgPool", since=16, inputs=1):
    """Mean of each window (AvgPool-16), with dilations."""

    dilations: tuple[int, ...] = attribute(default=(), entries=(1, None), needed=True)

    def _dilations(self) -> tuple[int, ...]:
        return self.dilations


class MaxPool1(_Pool, type="MaxPool", since=1, inputs=1):
    """Maximum of each window (MaxPool-1)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), self.pooled(args))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.max_values(self.window())


class _IndexedMax(_Pool):
    """Base of the MaxPool versions whose second output holds the index of each maximum.

    The index is flat over the dimensions of the data from `axis` on. For data [N, C, H, W] and axis
    2, for example, it is h * W + w.
    """

    operands = "data: number | boolean -> maxima: number | boolean, indices: i32 | i64"

    dilations: tuple[int, ...] = attribute(default=(), entries=(1, None), needed=True, absent="")
    index_element_type: ElementType = attribute(default=ElementType.I64, words=INDICES)
    axis: int = 0

    def _dilations(self) -> tuple[int, ...]:
        return self.dilations

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = self.pooled(args)
        rank = shape.rank or 0
        if not -rank <= self.axis < rank:
            raise args.error(
                "axis is outside of the data", f"-{rank}..{rank - 1}", str(self.axis), kind="range"
            )
        return [TensorType(args.element(0), shape), TensorType(self.index_element_type, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        window = self.window()
        axis = self.axis + (2 + len(window.kernel)) * (self.axis < 0)
        return kernels.pooling.max_indices(window, axis=axis, dtype=self.index_element_type.numpy())


class MaxPool(_IndexedMax, type="MaxPool", since=8, inputs=1, outputs=2):
    """Maximum of each window and its index (MaxPool-8)."""


class MaxPool14(_IndexedMax, type="MaxPool", since=14, inputs=1, outputs=2):
    """Maximum of each window and its index (MaxPool-14); rounding may also be ceil_torch."""


def _adaptive_shape(args: Arguments) -> Shape:
    shape, wanted = args.shape(0), args.dims(1)
    if shape.dims is None:
        return UNKNOWN_SHAPE
    if wanted is None:
        return Shape((*shape.dims[:2], *(UNKNOWN_DIM,) * (len(shape.dims) - 2)))
    if len(wanted) != len(shape.dims) - 2:
        raise args.error(
            "the output shape has a different length than the data has spatial axes",
            str(len(shape.dims) - 2),
            str(len(wanted)),
        )
    return Shape((*shape.dims[:2], *wanted))


class AdaptiveAvgPool(OpenVinoOp, type="AdaptiveAvgPool", since=8, inputs=2):
    """Mean of each bin; input 1 gives the number of bins per axis (AdaptiveAvgPool-8)."""

    operands = (
        "data: number | small | boolean, output size: float | integer -> number | small | boolean"
    )

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), _adaptive_shape(args))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.adaptive_average


class AdaptiveMaxPool(OpenVinoOp, type="AdaptiveMaxPool", since=8, inputs=2, outputs=2):
    """Maximum of each bin and its flat index in the spatial dimensions (AdaptiveMaxPool-8)."""

    operands = (
        "data: number | small | boolean, output size: float | integer"
        " -> maxima: number | small | boolean, indices: i32 | i64"
    )

    index_element_type: ElementType = attribute(default=ElementType.I64, words=INDICES)

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = _adaptive_shape(args)
        return [TensorType(args.element(0), shape), TensorType(self.index_element_type, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.pooling.adaptive_max(self.index_element_type.numpy())
