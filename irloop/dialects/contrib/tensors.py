"""Operations of ONNX Runtime on tensors; most are older forms of standard operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from irloop.dialects import inference
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.normalization import widened
from irloop.dialects.contrib.steps import Steps
from irloop.dialects.elements import EVERY, PLAIN
from irloop.dialects.onnx.shape import Unsqueeze13
from irloop.dialects.writing.known_inputs import (
    needed_dims,
    needed_element,
    needed_rank,
    needed_size,
)
from irloop.dialects.writing.sizes import Sizes
from irloop.dialects.writing.writer import RefusedError
from irloop.graph.arguments import Arguments
from irloop.graph.model import Value
from irloop.graph.types import ElementType, ValueType

__all__ = [
    "CDist",
    "CropAndResize",
    "ExpandDims",
    "GatherND",
    "GridSample",
    "Inverse",
    "Pad",
    "Range",
    "Trilu",
    "Unique",
]

#: Largest number of rows of a matrix whose inverse is written out; each row takes twelve
#: operations.
LARGEST_INVERSE = 64

#: Maximum number of elements of a channel of a crop; a file may request any size.
LARGEST_CROP = 1 << 24


class ExpandDims(ContribOp, type="ExpandDims", inputs=2):
    """Inserts an axis of size 1 at the position in input 1."""

    operands = f"x: T, axis: i32 -> T where T: {EVERY}"

    def decompose(self, s: Steps, x: Value, axis: Value) -> Value:
        known = s.constant_of(axis)
        if known is not None and known.size == 1:
            at = int(known.reshape(-1)[0])
            return s.unsqueeze(x, [at if at >= 0 else at + needed_rank(s, x) + 1])
        if s.opset < 13:
            raise RefusedError("its axis is not constant, which needs opset 13")
        return s(Unsqueeze13(), x, s.reshape(s.convert(axis, ElementType.I64), [1]))


class Pad(ContribOp, type="Pad", inputs=(2, 3)):
    """Adds elements at both ends of each axis, as the standard Pad does.

    The pads may also be a row [1, 2 * rank], and the value a vector [1].
    """

    operands = "data: T, pads: i64, value?: T -> T where T: f16 | f32 | f64"
    expands: ClassVar[bool] = True

    mode: str = "constant"

    def decompose(self, s: Steps, x: Value, pads: Value, value: Value | None) -> Value:
        fill = None if value is None else s.as_scalar(value)
        return s.pad(x, s.reshape(pads, [-1]), fill, self.mode)


class Range(ContribOp, type="Range", inputs=(2, 3)):
    """The numbers start, start + delta, ... up to, but not including, limit.

    `start`, `limit` and the optional `delta` (1 by default) are scalars or vectors [1].
    """

    operands = "start: T, limit: T, delta?: T -> T where T: f32 | f64 | i16 | i32 | i64"
    cost = "linear"
    expands: ClassVar[bool] = True

    def decompose(self, s: Steps, start: Value, limit: Value, delta: Value | None) -> Value:
        step = s.scalar(1, start) if delta is None else s.as_scalar(delta)
        return s.range(s.as_scalar(start), s.as_scalar(limit), step)


class Trilu(ContribOp, type="Trilu", inputs=(1, 2)):
    """The upper or lower triangles of matrices; input 1 shifts the diagonal."""

    operands = f"x: T, k?: i64 -> T where T: bf16 | {PLAIN}"
    cost = "linear"

    upper: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Value, k: Value | None) -> Value:
        if s.opset >= 14:
            return s.op("Trilu", x, k, upper=bool(self.upper))
        rows = s.unsqueeze(s.numbers_below(s.size_of(x, -2)), [1])
        columns = s.unsqueeze(s.numbers_below(s.size_of(x, -1)), [0])
        diagonal = rows if k is None else s.add(rows, k)
        hidden = s.less(columns, diagonal) if self.upper else s.greater(columns, diagonal)
        return s.select(hidden, s.scalar(0, x), x)


class Unique(ContribOp, type="Unique", inputs=1, outputs=3):
    """Returns the distinct elements of a vector in the order of their first occurrence.

    Output 1 tells for each element of the vector its index among the distinct elements. Output 2 is
    how often each distinct element occurs.
    """

    operands = f"x: T -> T, idx: i64, counts: i64 where T: {EVERY}"
    cost = "linear"

    def decompose(self, s: Steps, x: Value) -> Sequence[Value]:
        found = s.ops("Unique", x, n_outputs=4, in_order=False)
        return found[0], found[2], found[3]


class GatherND(ContribOp, type="GatherND", inputs=2):
    """GatherND of ai.onnx without batch axes."""

    operands = f"data: T, indices: i32 | i64 -> T where T: {EVERY}"

    def decompose(self, s: Steps, data: Value, indices: Value) -> Value:
        return s.op("GatherND", data, s.convert(indices, ElementType.I64))


class GridSample(ContribOp, type="GridSample", inputs=2):
    """Samples [N, C, H, W] at the positions (x, y), in -1..1, of a grid [N, h, w, 2]."""

    operands = f"x: T, grid: T -> f16 | f32 | f64 where T: {EVERY}"

    align_corners: int = 0
    mode: str = "bilinear"
    padding_mode: str = "zeros"

    def decompose(self, s: Steps, x: Value, grid: Value) -> Value:
        newer = {"bilinear": "linear", "bicubic": "cubic"}
        mode = newer.get(self.mode, self.mode) if s.opset >= 20 else self.mode
        return s.op(
            "GridSample",
            *(x, grid),
            align_corners=self.align_corners,
            mode=mode,
            padding_mode=self.padding_mode,
        )


class CDist(ContribOp, type="CDist", inputs=2):
    """The Euclidean distance, or its square, between each row of A and each row of B.

    `metric` is "euclidean" or "sqeuclidean". The result has the shape [rows of A, rows of B].
    """

    operands = "a: T, b: T -> T where T: f32 | f64"

    metric: str = "sqeuclidean"

    def decompose(self, s: Steps, a: Value, b: Value) -> Value:
        if self.metric not in ("sqeuclidean", "euclidean"):
            raise RefusedError(f"its metric {self.metric!r} is not known")
        apart = s.subtract(s.unsqueeze(a, [1]), s.unsqueeze(b, [0]))
        found = s.reduce("Sum", s.multiply(apart, apart), [2], keep=False)
        return found if self.metric == "sqeuclidean" else s.op("Sqrt", found)


class Inverse(ContribOp, type="Inverse", inputs=1):
    """The inverse of each matrix, decomposed into steps of Gaussian elimination with pivoting."""

    operands = "x: T -> T where T: f16 | f32 | f64"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Value) -> Value:
        import numpy as np

        size, rank = needed_size(s, x, -1, "the size of the matrices"), needed_rank(s, x)
        if rank < 2 or needed_dims(s, x)[-2] not in (None, size):
            raise RefusedError("it takes square matrices")
        if s.is_graph and size > LARGEST_INVERSE:
            reason = f"the standard has no inverse, and {size} rows are too many to write out"
            raise RefusedError(f"{reason} ({LARGEST_INVERSE} at most)")
        wide = widened(s, x)
        one = s.constant(np.eye(size), needed_element(s, wide))
        unit = s.expand(one, s.shape_of(wide))
        # Elimination makes the left half the unit matrix, and thereby the right half the inverse.
        both = s.concat([wide, unit], rank - 1)
        for at in range(size):
            both = self._eliminated(s, both, at, size)
        return s.convert(s.slice(both, [size], [2 * size], [rank - 1]), needed_element(s, x))

    def _eliminated(self, s: Steps, both: Value, pivot: int, size: int) -> Value:
        """Return `both` after the step of Gauss-Jordan elimination for column `pivot`.

        `both` [..., size, 2 * size] joins each matrix and the unit matrix to the right of it. The
        step uses pivoting. After it, column `pivot` is 1 in row `pivot` and 0 in all other rows.
        """
        down, across, here = needed_rank(s, both) - 2, needed_rank(s, both) - 1, s.i64([pivot])
        rows = s.constant([[row] for row in range(size)], ElementType.I64)
        column = s.op("Abs", s.gather(both, here, across))
        column = s.select(s.less(rows, s.scalar(pivot, rows)), s.scalar(-1.0, column), column)
        chosen = s.equal(rows, s.op("ArgMax", column, axis=down, keepdims=1))
        pivots = s.reduce("Sum", s.select(chosen, both, s.scalar(0.0, both)), [down])
        moved = s.select(chosen, s.gather(both, here, down), both)
        scaled = s.divide(pivots, s.gather(pivots, here, across))
        reduced = s.subtract(moved, s.multiply(s.gather(moved, here, across), scaled))
        return s.select(s.equal(rows, here), scaled, reduced)


class CropAndResize(ContribOp, type="CropAndResize", inputs=4):
    """Cuts boxes [y1, x1, y2, x2] in 0..1 out of images, and resizes them with aligned corners.

    Inputs: images [N, C, H, W], boxes, the index of the image for each box, the size [h, w] of the
    results. Samples outside of the image are `extrapolation_value`.
    """

    operands = "x: T, rois: T, batch_indices: i32, crop_size: i32 -> T where T: f16 | f32 | f64"
    expands: ClassVar[bool] = True

    extrapolation_value: float = 0.0
    mode: str = "bilinear"

    def decompose(self, s: Steps, x: Value, boxes: Value, batch: Value, size: Value) -> Value:
        known = s.constant_of(size)
        if known is None or known.size != 2:
            raise RefusedError("the size of its results is not constant")
        if self.mode not in ("bilinear", "nearest"):
            raise RefusedError(f"its mode {self.mode!r} is not known")
        height, width = (int(number) for number in known.reshape(-1))
        if not 0 < height * width <= LARGEST_CROP:
            raise RefusedError(f"its results have {height} x {width} elements")
        y1, x1, y2, x2 = s.split(boxes, 1, [1, 1, 1, 1])
        ends = [
            s.convert(s.subtract(s.size_of(x, axis), s.i64(1)), needed_element(s, boxes))
            for axis in (2, 3)
        ]
        down = self._places(s, y1, y2, height, ends[0])
        across = self._places(s, x1, x2, width, ends[1])
        # A position outside the image must not be rounded to one inside.
        above, beside = (
            s.op("Or", s.less(places, s.scalar(0, places)), s.greater(places, end))
            for places, end in zip((down, across), ends, strict=True)
        )
        far = s.op("Or", s.unsqueeze(above, [2]), s.unsqueeze(beside, [1]))
        if self.mode == "nearest":
            down, across = self._rounded(s, down), self._rounded(s, across)
        down, across = (
            self._scaled(s, places, end) for places, end in zip((down, across), ends, strict=True)
        )
        wanted = Sizes(s).list([Sizes(s).at(boxes, 0), height, width, 1])
        columns = s.expand(s.unsqueeze(across, [1, 3]), wanted)
        grid = s.concat([columns, s.expand(s.unsqueeze(down, [2, 3]), wanted)], 3)
        images = s.gather(x, batch, 0)
        linear = "linear" if s.opset >= 20 else "bilinear"
        crops = s.op(
            "GridSample",
            *(images, grid),
            align_corners=1,
            mode=linear if self.mode == "bilinear" else "nearest",
            padding_mode="border",
        )
        return s.select(s.unsqueeze(far, [1]), s.scalar(self.extrapolation_value, crops), crops)

    def _places(self, s: Steps, first: Value, last: Value, count: int, end: Value) -> Value:
        """Compute `count` evenly spaced positions from `first` to `last`, for each box.

        `first` and `last` are relative to the image: 0 is its first row or column, 1 its last. The
        result [boxes, count] holds indices of rows or columns; `end` is the index of the last row
        or column. If `count` is 1, the position is in the middle between `first` and `last`.

        The calculation has the same order as in ONNX Runtime, because its rounding errors decide
        which positions are halfway between two rows.
        """
        if count == 1:
            return s.multiply(s.multiply(s.add(first, last), s.scalar(0.5, first)), end)
        steps = s.constant([list(range(count - 1))], needed_element(s, first))
        start = s.multiply(first, end)
        length = s.multiply(s.subtract(last, first), end)
        step = s.divide(length, s.scalar(count - 1, first))
        found = s.add(start, s.multiply(steps, step))
        return s.concat([found, s.multiply(last, end)], 1)

    def _scaled(self, s: Steps, places: Value, end: Value) -> Value:
        """Convert indices 0 to `end` to the range -1 to 1 of GridSample."""
        shares = s.divide(places, s.maximum(end, s.scalar(1, end)))
        return s.subtract(s.multiply(shares, s.scalar(2, places)), s.scalar(1, places))

    def _rounded(self, s: Steps, places: Value) -> Value:
        """Round each element to the nearest integer, and halves up.

        GridSample cannot be used for this, because it rounds halves to even.
        """
        below = s.op("Floor", places)
        # Adding 0.5 to the largest number below 0.5 would give 1.
        is_below = s.less(s.subtract(places, below), s.scalar(0.5, places))
        return s.select(is_below, below, s.add(below, s.scalar(1, below)))
