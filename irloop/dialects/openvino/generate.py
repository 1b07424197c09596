"""OpenVINO operations that create tensors: ranges, fills, one-hot codes."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference, ranges, searches, shapes
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["Eye", "OneHot", "OneHot16", "Range", "Range4"]


class Range(OpenVinoOp, type="Range", since=1, inputs=3):
    """The numbers start, start + step, start + 2 * step, ... before stop (Range-1).

    The inputs are scalars of one type.
    """

    expands = True

    operands = "start: T, stop: T, step: T -> T where T: number | small"
    shapes = "(), (), ()"
    meanings = (Sizes(0), Sizes(1), Sizes(2))
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args)
        return [TensorType(element, Shape((ranges.length(args, element),)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.range_of


class Range4(OpenVinoOp, type="Range", since=4, inputs=3):
    """The numbers start, start + step, start + 2 * step, ... before stop (Range-4).

    They are cast to `output_type`.
    """

    expands = True

    operands = "start: float | integer, stop: float | integer, step: float | integer -> number"
    meanings = (Sizes(0), Sizes(1), Sizes(2))
    cost = "linear"

    output_type: ElementType

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = Shape((ranges.length(args, self.output_type),))
        return [TensorType(self.output_type, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.range_as(self.output_type.numpy())


class Eye(OpenVinoOp, type="Eye", since=9, inputs=(3, 4)):
    """Ones on a diagonal, zeros elsewhere (Eye-9).

    Inputs: rows, columns, the index of the diagonal, and optionally the batch shape.
    """

    expands = True

    operands = (
        "rows: i32 | i64, columns: i32 | i64, diagonal: i32 | i64, batch shape?: i32 | i64 -> any"
    )
    shapes = "(?), (?), (?), ?"
    cost = "linear"

    output_type: ElementType

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.shape(2).count() not in (None, 1):
            raise args.error("the diagonal is not a single number", "1 element", str(args.shape(2)))
        batch = shapes.shape_from(args, 3) if args.has(3) else Shape(())
        if batch.dims is None:
            return [TensorType(self.output_type, batch)]
        size = (searches.counted(args, 0), searches.counted(args, 1))
        return [TensorType(self.output_type, Shape((*batch.dims, *size)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.eye(self.output_type.numpy())


def _one_hot(args: Arguments, axis: int) -> list[ValueType]:
    element = inference.same_element(args, 2, 3)
    depth = searches.counted(args, 1)
    if isinstance(depth, int) and depth < 0:
        raise args.error("depth is negative", "0 or more", str(depth), kind="range")
    shape = ranges.with_new_axis(args, args.shape(0), axis, depth)
    return [TensorType(element, shape)]


class OneHot(OpenVinoOp, type="OneHot", since=1, inputs=4):
    """One-hot encoding along a new axis of length depth (OneHot-1).

    Inputs: indices, depth, on, off. An index out of range gives off everywhere.
    """

    expands = True

    operands = (
        "indices: integer | boolean, depth: integer, on value: T, off value: T -> T where T: any"
    )
    shapes = "*, (), (), ()"
    meanings = (Sizes(1),)
    cost = "linear"

    axis: int = attribute(absent="0")

    def infer(self, args: Arguments) -> list[ValueType]:
        return _one_hot(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.generate.one_hot(self.axis, wrap=False)


class OneHot16(OpenVinoOp, type="OneHot", since=16, inputs=4):
    """One-hot encoding along a new axis of length depth (OneHot-16).

    Inputs: indices, depth, on, off. An index out of range gives off everywhere. Negative indices
    are out of range, or count from the end if `negative_indices_mode` is normalize.
    """

    expands = True

    operands = (
        "indices: integer | boolean, depth: integer, on value: T, off value: T -> T where T: any"
    )
    shapes = "*, (), (), ()"
    meanings = (Sizes(1),)
    cost = "linear"

    axis: int = attribute(absent="0")
    negative_indices_mode: str = attribute(
        default="ignore_negative", words=("ignore_negative", "normalize")
    )

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "negative_indices_mode")
        return _one_hot(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        wrap = self.negative_indices_mode.lower() == "normalize"
        return kernels.generate.one_hot(self.axis, wrap=wrap)
