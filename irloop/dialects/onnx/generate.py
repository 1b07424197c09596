"""ONNX operations that create tensors: ranges, fills, one-hot codes, windows."""

from __future__ import annotations

import math
from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference, ranges, searches, shapes
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Sizes
from irloop.graph.op import Kernel
from irloop.graph.tensor import Tensor
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

__all__ = [
    "BlackmanWindow",
    "ConstantOfShape",
    "EyeLike",
    "HammingWindow",
    "HannWindow",
    "MelWeightMatrix",
    "OneHot",
    "Range",
    "Range27",
]


class Range(OnnxOp, type="Range", since=11, inputs=3):
    """Numbers from start up to, but excluding, limit in steps of delta (Range-11)."""

    meanings = (Sizes(0), Sizes(1), Sizes(2))

    expands = True
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        element = inference.same_element(args)
        return [TensorType(element, Shape((ranges.length(args, element),)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.range_of


class Range27(Range, type="Range", since=27, inputs=3):
    """Numbers from start up to, but excluding, limit in steps of delta (Range-27).

    f16 and bf16 are computed in the type `stash_type`.
    """

    stash_type: ElementType = ElementType.F32

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.range_in(self.stash_type.numpy())


class ConstantOfShape(OnnxOp, type="ConstantOfShape", since=9, inputs=1):
    """A tensor that is filled with `value` (ConstantOfShape-9, 20, 21, 23 to 25).

    The input is its shape. Without `value`, the elements are 0.0.
    """

    shapes = "?"
    meanings = (Sizes(0),)

    expands = True
    cost = "linear"
    moves_text = True

    value: Tensor | None = None

    @property
    def element(self) -> ElementType:
        """The element type of the result."""
        return ElementType.F32 if self.value is None else self.value.element

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.value is not None and self.value.shape != (1,):
            found = str(list(self.value.shape))
            raise args.error("the value is no list of one element", "shape [1]", found)
        shape = shapes.shape_from(args, 0)
        if any(isinstance(dim, int) and dim < 0 for dim in shape.dims or ()):
            raise args.error("a size is negative", "0 or more", str(shape))
        return [TensorType(self.element, shape)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        shape = args.dims(0)
        count = shape[0] if shape is not None and len(shape) == 1 else None
        if not isinstance(count, int) or self.value is None or not self.element.is_integer:
            return None
        if not 0 <= count <= shapes.LONGEST:
            return None
        return (int(self.value.numpy().reshape(-1)[0]),) * count

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.value is None:
            return kernels.generate.zeros
        return kernels.generate.fill(self.value.numpy())


class EyeLike(OnnxOp, type="EyeLike", since=9, inputs=1):
    """A matrix with ones on diagonal `k`, in the shape of the input (EyeLike-9, 22).

    Its type is `dtype`, or the type of the input if `dtype` is None.
    """

    expands = True
    cost = "linear"

    dtype: ElementType | None = None
    k: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = args.shape(0)
        if shape.rank not in (None, 2):
            raise args.error("the input is not a matrix", "rank 2", str(shape))
        element = args.element(0) if self.dtype is None else self.dtype
        return [TensorType(element, shape if shape.rank == 2 else Shape.of_rank(2))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        dtype = None if self.dtype is None else self.dtype.numpy()
        return kernels.generate.eye_like(self.k, dtype)


class OneHot(OnnxOp, type="OneHot", since=9, inputs=3):
    """One-hot encoding along a new axis of length depth (OneHot-9, 11, 28).

    Inputs: indices, depth, [off, on]. Negative indices count from the end; an index out of range
    gives off everywhere.
    """

    meanings = (Sizes(1),)

    expands = True
    cost = "linear"

    axis: int = -1

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args, 0, 1)
        inference.require_rank(args, 2, 1)
        if args.rank(0) == 0:
            raise args.error("the indices are a scalar", "rank 1 or more", str(args.shape(0)))
        if args.rank(1) not in (None, 0, 1) or args.shape(1).count() not in (None, 0, 1):
            raise args.error("the depth is not a single number", "1 element", str(args.shape(1)))
        if args.shape(2).count() not in (None, 2):
            raise args.error(
                "the values must be two: off and on", "two elements", str(args.shape(2))
            )
        inference.require_within(args, 1, 1, math.inf, "the depth")
        depth = args.constant(1)
        size = searches.counted(args, 1) if depth is None else int(depth.reshape(-1)[0])
        shape = ranges.with_new_axis(args, args.shape(0), self.axis, size)
        return [TensorType(args.element(2), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.one_hot_values(self.axis)


class _Window(OnnxOp):
    """Base of cosine windows, periodic or symmetric; the input is the length."""

    meanings = (Sizes(0),)

    output_datatype: ElementType = ElementType.F32
    periodic: bool = True
    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.require_within(args, 0, 0, math.inf, "the length")
        return [TensorType(self.output_datatype, Shape((searches.counted(args, 0),)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.window(self.function, self.periodic, self.output_datatype.numpy())


class HannWindow(_Window, type="HannWindow", since=17, inputs=1):
    """0.5 - 0.5 cos(2 pi n / N) (HannWindow-17)."""

    function: ClassVar[str] = "Hann"


class HammingWindow(_Window, type="HammingWindow", since=17, inputs=1):
    """25/46 - 21/46 cos(2 pi n / N) (HammingWindow-17)."""

    function: ClassVar[str] = "Hamming"


class BlackmanWindow(_Window, type="BlackmanWindow", since=17, inputs=1):
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N) (BlackmanWindow-17)."""

    function: ClassVar[str] = "Blackman"


class MelWeightMatrix(OnnxOp, type="MelWeightMatrix", since=17, inputs=5):
    """The matrix [dft // 2 + 1, bins] that maps a spectrum to mel bins (MelWeightMatrix-17).

    Inputs: number of bins, length of the DFT, sample rate, lower and upper edge in hertz.
    """

    meanings = (Sizes(0),)

    output_datatype: ElementType = ElementType.F32

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.require_within(args, 0, 0, math.inf, "the number of bins")
        bins, dft = searches.counted(args, 0), searches.counted(args, 1)
        rows: Dim = dft // 2 + 1 if isinstance(dft, int) else UNKNOWN_DIM
        return [TensorType(self.output_datatype, Shape((rows, bins)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.mel_weight_matrix(self.output_datatype.numpy())
