"""Operations of ONNX Runtime on tensors; most are older forms of standard operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from irloop.dialects import inference
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.normalization import widened
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.dialects.elements import EVERY, PLAIN
from irloop.graph.arguments import Arguments
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

    def decompose(self, s: Steps, x: Term, axis: Term) -> Term:
        known = axis.constant()
        if known is not None and known.size == 1:
            at = int(known.reshape(-1)[0])
            return s.unsqueeze(x, at if at >= 0 else at + x.rank + 1)
        if s.opset < 13:
            raise CannotDecomposeError("its axis is not constant, which needs opset 13")
        return s.op("Unsqueeze", x, s.reshape(s.convert(axis, ElementType.I64), [1]))


class Pad(ContribOp, type="Pad", inputs=(2, 3)):
    """Adds elements at both ends of each axis, as the standard Pad does.

    The pads may also be a row [1, 2 * rank], and the value a vector [1].
    """

    operands = "data: T, pads: i64, value?: T -> T where T: f16 | f32 | f64"
    expands: ClassVar[bool] = True

    mode: str = "constant"

    def decompose(self, s: Steps, x: Term, pads: Term, value: Term | None) -> Term:
        fill = None if value is None else s.scalar(value)
        return s.op("Pad", x, s.reshape(pads, [-1]), fill, mode=self.mode)


class Range(ContribOp, type="Range", inputs=(2, 3)):
    """The numbers start, start + delta, ... up to, but not including, limit.

    `start`, `limit` and the optional `delta` (1 by default) are scalars or vectors [1].
    """

    operands = "start: T, limit: T, delta?: T -> T where T: f32 | f64 | i16 | i32 | i64"
    cost = "linear"
    expands: ClassVar[bool] = True

    def decompose(self, s: Steps, start: Term, limit: Term, delta: Term | None) -> Term:
        step = s.like(1, start) if delta is None else s.scalar(delta)
        return s.op("Range", s.scalar(start), s.scalar(limit), step)


class Trilu(ContribOp, type="Trilu", inputs=(1, 2)):
    """The upper or lower triangles of matrices; input 1 shifts the diagonal."""

    operands = f"x: T, k?: i64 -> T where T: bf16 | {PLAIN}"
    cost = "linear"

    upper: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Term, k: Term | None) -> Term:
        if s.opset >= 14:
            return s.op("Trilu", x, k, upper=bool(self.upper))
        rows = s.unsqueeze(s.range(0, s.size(x, -2)), 1)
        columns = s.unsqueeze(s.range(0, s.size(x, -1)), 0)
        diagonal = rows if k is None else rows + k
        hidden = columns < diagonal if self.upper else columns > diagonal
        return s.select(hidden, 0, x)


class Unique(ContribOp, type="Unique", inputs=1, outputs=3):
    """Returns the distinct elements of a vector in the order of their first occurrence.

    Output 1 tells for each element of the vector its index among the distinct elements. Output 2 is
    how often each distinct element occurs.
    """

    operands = f"x: T -> T, idx: i64, counts: i64 where T: {EVERY}"
    cost = "linear"

    def decompose(self, s: Steps, x: Term) -> Sequence[Term]:
        found = s.ops("Unique", x, n_outputs=4, in_order=False)
        return found[0], found[2], found[3]


class GatherND(ContribOp, type="GatherND", inputs=2):
    """GatherND of ai.onnx without batch axes."""

    operands = f"data: T, indices: i32 | i64 -> T where T: {EVERY}"

    def decompose(self, s: Steps, data: Term, indices: Term) -> Term:
        return s.op("GatherND", data, s.convert(indices, ElementType.I64))


class GridSample(ContribOp, type="GridSample", inputs=2):
    """Samples [N, C, H, W] at the positions (x, y), in -1..1, of a grid [N, h, w, 2]."""

    operands = f"x: T, grid: T -> f16 | f32 | f64 where T: {EVERY}"

    align_corners: int = 0
    mode: str = "bilinear"
    padding_mode: str = "zeros"

    def decompose(self, s: Steps, x: Term, grid: Term) -> Term:
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

    def decompose(self, s: Steps, a: Term, b: Term) -> Term:
        if self.metric not in ("sqeuclidean", "euclidean"):
            raise CannotDecomposeError(f"its metric {self.metric!r} is not known")
        apart = s.unsqueeze(a, 1) - s.unsqueeze(b, 0)
        found = s.reduce("ReduceSum", s.square(apart), [2], keep=False)
        return found if self.metric == "sqeuclidean" else s.op("Sqrt", found)


class Inverse(ContribOp, type="Inverse", inputs=1):
    """The inverse of each matrix, decomposed into steps of Gaussian elimination with pivoting."""

    operands = "x: T -> T where T: f16 | f32 | f64"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Term) -> Term:
        import numpy as np

        size, rank = x.dim(-1, "the size of the matrices"), x.rank
        if rank < 2 or x.dims[-2] not in (None, size):
            raise CannotDecomposeError("it takes square matrices")
        if s.is_graph and size > LARGEST_INVERSE:
            reason = f"the standard has no inverse, and {size} rows are too many to write out"
            raise CannotDecomposeError(f"{reason} ({LARGEST_INVERSE} at most)")
        wide = widened(s, x)
        one = np.eye(size)
        unit = s.op("Expand", s.like(one, wide), s.op("Shape", wide))
        # Elimination makes the left half the unit matrix, and thereby the right half the inverse.
        both = s.concat(rank - 1, wide, unit)
        for at in range(size):
            both = self._eliminated(s, both, at, size)
        return s.convert(s.slice(both, rank - 1, size), x.element)

    def _eliminated(self, s: Steps, both: Term, pivot: int, size: int) -> Term:
        """Return `both` after the step of Gauss-Jordan elimination for column `pivot`.

        `both` [..., size, 2 * size] joins each matrix and the unit matrix to the right of it. The
        step uses pivoting. After it, column `pivot` is 1 in row `pivot` and 0 in all other rows.
        """
        down, across, here = both.rank - 2, both.rank - 1, s.i64([pivot])
        rows = s.constant([[row] for row in range(size)], ElementType.I64)
        column = s.op("Abs", s.gather(both, here, across))
        column = s.select(rows < pivot, -1.0, column)
        chosen = s.op("Equal", rows, s.op("ArgMax", column, axis=down, keepdims=1))
        pivots = s.reduce("ReduceSum", s.select(chosen, both, 0.0), [down])
        moved = s.select(chosen, s.gather(both, here, down), both)
        scaled = pivots / s.gather(pivots, here, across)
        reduced = moved - s.gather(moved, here, across) * scaled
        return s.select(s.op("Equal", rows, here), scaled, reduced)


class CropAndResize(ContribOp, type="CropAndResize", inputs=4):
    """Cuts boxes [y1, x1, y2, x2] in 0..1 out of images, and resizes them with aligned corners.

    Inputs: images [N, C, H, W], boxes, the index of the image for each box, the size [h, w] of the
    results. Samples outside of the image are `extrapolation_value`.
    """

    operands = "x: T, rois: T, batch_indices: i32, crop_size: i32 -> T where T: f16 | f32 | f64"
    expands: ClassVar[bool] = True

    extrapolation_value: float = 0.0
    mode: str = "bilinear"

    def decompose(self, s: Steps, x: Term, boxes: Term, batch: Term, size: Term) -> Term:
        known = size.constant()
        if known is None or known.size != 2:
            raise CannotDecomposeError("the size of its results is not constant")
        if self.mode not in ("bilinear", "nearest"):
            raise CannotDecomposeError(f"its mode {self.mode!r} is not known")
        height, width = (int(number) for number in known.reshape(-1))
        if not 0 < height * width <= LARGEST_CROP:
            raise CannotDecomposeError(f"its results have {height} x {width} elements")
        y1, x1, y2, x2 = s.split(boxes, 1, [1, 1, 1, 1])
        ends = [s.convert(s.size(x, axis) - 1, boxes.element) for axis in (2, 3)]
        down = self._places(s, y1, y2, height, ends[0])
        across = self._places(s, x1, x2, width, ends[1])
        # A position outside the image must not be rounded to one inside.
        above, beside = (
            s.op("Or", places < 0, places > end)
            for places, end in zip((down, across), ends, strict=True)
        )
        far = s.op("Or", s.unsqueeze(above, 2), s.unsqueeze(beside, 1))
        if self.mode == "nearest":
            down, across = self._rounded(s, down), self._rounded(s, across)
        down, across = (
            places / s.maximum(end, s.like([1], end)) * 2 - 1
            for places, end in zip((down, across), ends, strict=True)
        )
        wanted: list[int | Term] = [s.size(boxes, 0), height, width, 1]
        parts = [
            s.expand(s.unsqueeze(across, 1, 3), wanted),
            s.expand(s.unsqueeze(down, 2, 3), wanted),
        ]
        grid = s.concat(3, *parts)
        images = s.gather(x, batch, 0)
        linear = "linear" if s.opset >= 20 else "bilinear"
        crops = s.op(
            "GridSample",
            *(images, grid),
            align_corners=1,
            mode=linear if self.mode == "bilinear" else "nearest",
            padding_mode="border",
        )
        return s.select(s.unsqueeze(far, 1), self.extrapolation_value, crops)

    def _places(self, s: Steps, first: Term, last: Term, count: int, end: Term) -> Term:
        """Compute `count` evenly spaced positions from `first` to `last`, for each box.

        `first` and `last` are relative to the image: 0 is its first row or column, 1 its last. The
        result [boxes, count] holds indices of rows or columns; `end` is the index of the last row
        or column. If `count` is 1, the position is in the middle between `first` and `last`.

        The calculation has the same order as in ONNX Runtime, because its rounding errors decide
        which positions are halfway between two rows.
        """
        if count == 1:
            return (first + last) * 0.5 * end
        steps = s.like([list(range(count - 1))], first)
        found = first * end + steps * ((last - first) * end / s.like(count - 1, first))
        return s.concat(1, found, last * end)

    def _rounded(self, s: Steps, places: Term) -> Term:
        """Round each element to the nearest integer, and halves up.

        GridSample cannot be used for this, because it rounds halves to even.
        """
        below = s.op("Floor", places)
        # Adding 0.5 to the largest number below 0.5 would give 1.
        return s.select(places - below < 0.5, below, below + 1)
