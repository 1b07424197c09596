"""Linear quantisation in ONNX: per tensor, per axis or in blocks."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.onnx.convolution import Windowed
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, Shape, TensorType, ValueType, broadcast_shapes

__all__ = [
    "ConvInteger",
    "DequantizeLinear10",
    "DequantizeLinear13",
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "QLinearConv",
    "QLinearMatMul",
    "QuantizeLinear10",
    "QuantizeLinear13",
]


def _check_parameters(args: Arguments, axis: int, block: int) -> None:
    """Check that the scale and the zero point (inputs 1 and 2) fit the data.

    A vector of scales must be as long as `axis` of the data. With `block`, the scales must have the
    rank of the data.

    Raises:
        InferenceError: when they do not fit.
    """
    if args.has(2) and args.shape(2).refine(args.shape(1)) is None:
        expected, actual = str(args.shape(1)), str(args.shape(2))
        if {args.shape(1).count(), args.shape(2).count()} - {1, None}:
            raise args.error("zero point and scale differ in shape", expected, actual)
    data, scale = args.shape(0), args.shape(1)
    if data.dims is None or scale.dims is None or scale.count() == 1 or not scale.dims:
        return
    position = inference.axis_in(args, axis, len(data.dims)) or 0
    if block:
        if len(scale.dims) != len(data.dims):
            actual = f"rank {len(scale.dims)}"
            raise args.error(
                "scales of blocks must have the rank of the data", f"{len(data.dims)}", actual
            )
        return
    vector = Shape.of(data.dims[position])
    if scale.refine(vector) is None:
        raise args.error(f"the scale must have the length of axis {axis}", str(vector), str(scale))


class QuantizeLinear10(OnnxOp, type="QuantizeLinear", since=10, inputs=(2, 3)):
    """round(x / scale) + zero point, with one scale (QuantizeLinear-10).

    The result has the type of the zero point, or u8 if there is no zero point.
    """

    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        element = args.element(2) if args.has(2) else ElementType.U8
        return [TensorType(element, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.quantize.quantize(None)


class QuantizeLinear13(OnnxOp, type="QuantizeLinear", since=13, inputs=(2, 3)):
    """round(x / scale) + zero point, saturated (QuantizeLinear-13, 19, 21, 23, 24, 25, 28).

    A vector of scales runs along `axis`; with `block_size` (since opset 21) each scale applies to
    that many elements. The result has the type of the zero point, else `output_dtype`, else u8.
    `saturate` (since opset 19) applies to 8-bit floats; `precision` (since opset 23) is the type of
    the division.
    """

    cost = "linear"

    axis: int = 1
    saturate: bool = True
    block_size: int = 0
    output_dtype: ElementType = ElementType.DYNAMIC
    precision: ElementType = ElementType.DYNAMIC

    @property
    def default_element(self) -> ElementType:
        """The element type of the result if there is no zero point."""
        unknown = self.output_dtype is ElementType.DYNAMIC
        return ElementType.U8 if unknown else self.output_dtype

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_parameters(args, self.axis, self.block_size)
        element = args.element(2) if args.has(2) else self.default_element
        return [TensorType(element, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        unset = self.precision is ElementType.DYNAMIC
        return kernels.quantize.quantize(
            self.default_element.numpy(),
            axis=self.axis,
            block=self.block_size,
            saturate=self.saturate,
            precision=None if unset else self.precision.numpy(),
        )


class DequantizeLinear10(OnnxOp, type="DequantizeLinear", since=10, inputs=(2, 3)):
    """(x - zero point) * scale with one scale (DequantizeLinear-10)."""

    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(1), args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.quantize.dequantize(None)


class DequantizeLinear13(OnnxOp, type="DequantizeLinear", since=13, inputs=(2, 3)):
    """(x - zero point) * scale (DequantizeLinear-13, 19, 21, 23, 24, 25, 28).

    Scales are as in QuantizeLinear-13; the result has the type of the scale, or `output_dtype`
    (since opset 23).
    """

    cost = "linear"

    axis: int = 1
    block_size: int = 0
    output_dtype: ElementType = ElementType.DYNAMIC

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_parameters(args, self.axis, self.block_size)
        unset = self.output_dtype is ElementType.DYNAMIC
        return [TensorType(args.element(1) if unset else self.output_dtype, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        unset = self.output_dtype is ElementType.DYNAMIC
        target = None if unset else self.output_dtype.numpy()
        return kernels.quantize.dequantize(target, axis=self.axis, block=self.block_size)


class DynamicQuantizeLinear(OnnxOp, type="DynamicQuantizeLinear", since=11, inputs=1, outputs=3):
    """x as u8, with scale and zero point computed from its range (DynamicQuantizeLinear-11)."""

    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        scalar = Shape(())
        return [
            TensorType(ElementType.U8, args.shape(0)),
            TensorType(args.element(0), scalar),
            TensorType(ElementType.U8, scalar),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.quantize.dynamic_quantize


def _product(args: Arguments, left: Shape, right: Shape) -> Shape:
    """The shape of a matrix product, as in `numpy.matmul`."""
    if left.dims is None or right.dims is None or not left.dims or not right.dims:
        return Shape(None)
    first = left.dims if len(left.dims) > 1 else (1, *left.dims)
    second = right.dims if len(right.dims) > 1 else (*right.dims, 1)
    if Shape.of(first[-1]).refine(Shape.of(second[-2])) is None:
        raise args.error("inner dimensions differ", str(left), str(right))
    batch = broadcast_shapes((Shape(first[:-2]), Shape(second[:-2])))
    if batch is None or batch.dims is None:
        raise args.error("batch dimensions cannot be broadcast", str(left), str(right))
    rows = first[-2:-1] if len(left.dims) > 1 else ()
    columns = second[-1:] if len(right.dims) > 1 else ()
    return Shape(batch.dims + rows + columns)


class MatMulInteger(OnnxOp, type="MatMulInteger", since=10, inputs=(2, 4)):
    """Matrix product of 8-bit integers minus their zero points, in i32 (MatMulInteger-10)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(ElementType.I32, _product(args, args.shape(0), args.shape(1)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.quantize.matmul_integer


class QLinearMatMul(OnnxOp, type="QLinearMatMul", since=10, inputs=8):
    """Matrix product of quantised operands, requantised (QLinearMatMul-10, 21).

    Inputs: a, its scale and zero point, b, its scale and zero point, the scale and zero point of
    the result.
    """

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.same_element(args, 1, 4, 6)
        return [TensorType(args.element(7), _product(args, args.shape(0), args.shape(3)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.quantize.quantized_matmul


class ConvInteger(Windowed, type="ConvInteger", since=10, inputs=(2, 4)):
    """Convolution of 8-bit integers minus their zero points, in i32 (ConvInteger-10)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(ElementType.I32, self._convolved(args))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        plain = kernels.convolution.convolution(self._options(), self.group)
        return kernels.quantize.convolution_integer(plain)


class QLinearConv(Windowed, type="QLinearConv", since=10, inputs=(8, 9)):
    """Convolution of quantised data and filters, requantised (QLinearConv-10).

    Inputs: x, its scale and zero point, w, its scale and zero point, the scale and zero point of
    the result, and an optional bias in i32.
    """

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(7), self._convolved(args, 0, 3))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        plain = kernels.convolution.convolution(self._options(), self.group)
        return kernels.quantize.quantized_convolution(plain)
