"""Converts operations that read or change shapes."""

from __future__ import annotations

import math

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.tensors import computed_axes
from irloop.dialects.onnx import shape as onnx
from irloop.dialects.onnx.comparison import And
from irloop.dialects.onnx.gather import Compress
from irloop.dialects.openvino import shape as ov
from irloop.dialects.openvino.search import CumSum
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import ints, length, needed_ints, needed_rank
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.ShapeOf)
def export_shape_of(c: Export, op: ov.ShapeOf, data: Value) -> Value:
    return c.shape_of(c.representable(data))


@exports(ov.ShapeOf3)
def export_shape_of_3(c: Export, op: ov.ShapeOf3, data: Value) -> Value:
    return c.convert(c.shape_of(c.representable(data)), op.output_type)


@imports(onnx.Shape1)
def import_shape_1(c: Import, op: onnx.Shape1, data: Value) -> Value:
    return c.shape_of(data)


@imports(onnx.Shape15)
def import_shape_15(c: Import, op: onnx.Shape15, data: Value) -> Value:
    dims = c.shape_of(data)
    if op.start == 0 and op.end is None:
        return dims
    end = TO_THE_END if op.end is None else op.end
    return c.slice(dims, [op.start], [end], [0])


@imports(onnx.Size)
def import_size(c: Import, op: onnx.Size, data: Value) -> Value:
    dims = c.shape_of(data)
    return c.reduce("Prod", dims, [0], keep=False)


@exports(ov.Reshape)
def export_reshape(c: Export, op: ov.Reshape, data: Value, pattern: Value) -> Value:
    """Write Reshape with the same target shape.

    Without special_zero, a 0 in `pattern` means an empty axis. ONNX then needs allowzero, which
    exists since opset 14; in older opsets, other operations or an empty constant give this shape.
    """
    known = ints(c, pattern)
    target = c.as_list(pattern)
    if op.special_zero and known is not None:
        return c.reshape(data, known)
    if op.special_zero or (known is not None and 0 not in known):
        return c.reshape_to(data, target)
    if known is not None and -1 in known:
        known[known.index(-1)] = 0
        target = c.i64(known)
    return c.reshape_to(data, target, special_zero=False)


@imports(onnx.Reshape1)
def import_reshape_1(c: Import, op: onnx.Reshape1, data: Value) -> Value:
    return c.reshape(data, op.shape)


@imports(onnx.Reshape)
def import_reshape(c: Import, op: onnx.Reshape, data: Value, pattern: Value) -> Value:
    return c.reshape_to(data, pattern)


@imports(onnx.Reshape14)
def import_reshape_14(c: Import, op: onnx.Reshape14, data: Value, pattern: Value) -> Value:
    return c.reshape_to(data, pattern, special_zero=not op.allowzero)


@imports(onnx.Flatten)
def import_flatten(c: Import, op: onnx.Flatten, data: Value) -> Value:
    """Write Flatten as a Reshape to two dimensions, one of which may be inferred."""
    shape = shape_of(data)
    if shape.dims is None:
        if op.axis < 0:
            raise c.refuse(
                "its axis is negative and the rank of its input is not known", "declare its shape"
            )
        return _flatten_by_shape(c, data, op.axis)
    axis = op.axis + len(shape.dims) if op.axis < 0 else op.axis
    before, after = (_product(dims) for dims in (shape.dims[:axis], shape.dims[axis:]))
    if before is not None and after is not None:
        return c.reshape_to(data, c.i64([before, after]), special_zero=False)
    if before:
        return c.reshape(data, [before, -1])
    if after:
        return c.reshape(data, [-1, after])
    return _flatten_by_shape(c, data, axis)


def _product(dims: tuple[object, ...]) -> int | None:
    known = [dim for dim in dims if isinstance(dim, int)]
    return math.prod(known) if len(known) == len(dims) else None


def _flatten_by_shape(c: Import, data: Value, axis: int) -> Value:
    dims = c.shape_of(data)
    ends = ([0], [axis]), ([axis], [TO_THE_END])
    sizes = [c.reduce("Prod", c.slice(dims, first, last, [0]), [0]) for first, last in ends]
    pattern = c.concat(sizes, 0)
    return c.reshape_to(data, pattern, special_zero=False)


@exports(ov.Squeeze, ov.Squeeze15)
def export_squeeze(
    c: Export, op: ov.Squeeze | ov.Squeeze15, data: Value, axes: Value | None = None
) -> Value:
    """Write Squeeze of the listed axes that have size 1; OpenVINO keeps axes of other sizes."""
    known = [] if axes is None else ints(c, axes)
    if known is None:
        assert axes is not None
        if c.opset < 13:
            return computed_axes.squeezed(c, data, axes)
        return c(onnx.Squeeze13(), data, c.as_list(axes))
    if not known:
        return c(onnx.Squeeze13() if c.opset >= 13 else onnx.Squeeze(), data)
    if isinstance(op, ov.Squeeze15) and op.allow_axis_skip and not _is_certain(data, known):
        return _squeezed_where_one(c, data, known)
    rank = shape_of(data).rank
    if rank is not None:
        known = [axis for axis in known if _may_be_one(data, axis)]
    return c.squeeze(data, known) if known else data


def _is_certain(data: Value, axes: list[int]) -> bool:
    shape = shape_of(data)
    return shape.dims is not None and all(isinstance(shape.dim(axis), int) for axis in axes)


def _squeezed_where_one(c: Export, data: Value, axes: list[int]) -> Value:
    """Remove the dimensions in `axes` that are 1 at run time; the others stay."""
    shape = c.shape_of(data)
    rank = c.shape_of(shape)
    numbers = c.numbers_below(c.reshape(rank, []))
    chosen = c.from_the_end(c.i64(axes), rank)
    matches = c.equal(c.unsqueeze(numbers, [1]), c.unsqueeze(chosen, [0]))
    hits = c.reduce("Sum", c.convert(matches, ElementType.I64), [1], keep=False)
    listed = c.less(c.i64([0]), hits)
    goes = c(And(), listed, c.equal(shape, c.i64([1])))
    kept = c(Compress(axis=0), shape, c.logical_not(goes))
    return c.reshape_to(data, kept, special_zero=c.opset < 14)


def _may_be_one(data: Value, axis: int) -> bool:
    dim = shape_of(data).dim(axis)
    return dim == 1 or not isinstance(dim, int)


@imports(onnx.Squeeze)
def import_squeeze(c: Import, op: onnx.Squeeze, data: Value) -> Value:
    return c.squeeze(data, op.axes) if op.axes else _squeezed_all(c, data)


@imports(onnx.Squeeze13)
def import_squeeze_13(
    c: Import, op: onnx.Squeeze13, data: Value, axes: Value | None = None
) -> Value:
    if axes is None or length(axes) == 0:
        return _squeezed_all(c, data)
    return c(ov.Squeeze(), data, axes)


def _squeezed_all(c: Import, data: Value) -> Value:
    dims = shape_of(data).static()
    if dims is None:
        return c(ov.Squeeze(), data)
    axes = [axis for axis, dim in enumerate(dims) if dim == 1]
    return c.squeeze(data, axes) if axes else data


@exports(ov.Unsqueeze)
def export_unsqueeze(c: Export, op: ov.Unsqueeze, data: Value, axes: Value) -> Value:
    known = ints(c, axes)
    if known is None and c.opset >= 13:
        return c(onnx.Unsqueeze13(), data, c.as_list(axes))
    if known is None:
        return computed_axes.unsqueezed(c, data, axes)
    return c.unsqueeze(data, known)


@imports(onnx.Unsqueeze)
def import_unsqueeze(c: Import, op: onnx.Unsqueeze, data: Value) -> Value:
    return c.unsqueeze(data, op.axes)


@imports(onnx.Unsqueeze13)
def import_unsqueeze_13(c: Import, op: onnx.Unsqueeze13, data: Value, axes: Value) -> Value:
    if shape_of(axes).rank == 0:
        # ONNX Runtime takes one axis without a list; OpenVINO then does not know the new rank.
        axes = c.as_list(axes)
    rank, count = shape_of(data).rank, shape_of(axes).dim(0) if shape_of(axes).rank else None
    if c.constant_of(axes) is not None or rank is None or not isinstance(count, int):
        return c(ov.Unsqueeze(), data, axes)
    return _unsqueezed_by(c, data, axes, rank + count)


def _unsqueezed_by(c: Import, data: Value, axes: Value, rank: int) -> Value:
    """Insert axes of size 1 at computed positions, by a Reshape.

    An Unsqueeze by computed axes would hide the rank of its result, and OpenVINO's CPU plugin needs
    to know the rank. Position j of the new shape is 1 if j is among `axes`, else the next dimension
    of `data`.
    """
    new = c.marks_of_axes(axes, rank)
    order = c.subtract(c(CumSum(), c.subtract(c.i64(1), new), c.i64(0)), c.i64(1))
    dims = c.gather(c.shape_of(data), c.maximum(order, c.i64(0)), 0)
    pattern = c.select(c.equal(new, c.i64(1)), c.i64(1), dims)
    return c.reshape_to(data, pattern, special_zero=False)


@exports(ov.Transpose)
def export_transpose(c: Export, op: ov.Transpose, data: Value, order: Value) -> Value:
    if length(order) == 0:
        return c(onnx.Transpose(), data)
    perm = ints(c, order)
    if perm is None:
        return _transposed_by(c, data, order)
    return c(onnx.Transpose(tuple(perm)), data)


def _transposed_by(c: Export, data: Value, order: Value) -> Value:
    """Transpose by a Gather from the flat data, because Transpose accepts no computed order.

    The flat position of an element is the sum of its coordinates times the strides of their axes.
    """
    rank = needed_rank(c, data)
    axes = c.as_list(order)
    shape = c.shape_of(data)
    strides = c.i64([1])
    for axis in range(rank - 1, 0, -1):
        last = c.gather(strides, c.i64([0]), 0)
        step = c.multiply(last, c.gather(shape, c.i64([axis]), 0))
        strides = c.concat([step, strides], 0)
    moved_shape, moved_strides = c.gather(shape, axes, 0), c.gather(strides, axes, 0)
    places = c.i64([0])
    for axis in range(rank):
        size, step = (c.gather(item, c.i64(axis), 0) for item in (moved_shape, moved_strides))
        steps = c.multiply(c.numbers_below(size), step)
        column = c.reshape(steps, [-1] + [1] * (rank - 1 - axis))
        places = c.add(places, column)
    return c.gather(c.reshape(data, [-1]), places, 0)


@imports(onnx.Transpose)
def import_transpose(c: Import, op: onnx.Transpose, data: Value) -> Value:
    rank = shape_of(data).rank
    order = list(op.perm or ()) if op.perm is not None or rank is None else list(range(rank))[::-1]
    return c(ov.Transpose(), data, c.i64(order))


@exports(ov.Broadcast)
def export_broadcast(
    c: Export, op: ov.Broadcast, data: Value, target: Value, mapping: Value | None = None
) -> Value:
    return _broadcast(c, op.mode.lower(), op.axis, data, target, mapping)


@exports(ov.Broadcast3)
def export_broadcast_3(
    c: Export, op: ov.Broadcast3, data: Value, target: Value, mapping: Value | None = None
) -> Value:
    return _broadcast(c, op.mode.lower(), op.axis, data, target, mapping)


def _broadcast(
    c: Export, mode: str, axis: int, data: Value, target: Value, mapping: Value | None
) -> Value:
    """Broadcast `data` to the shape `target` with an Expand.

    The modes explicit and pdpd place the axes of `data` elsewhere than at the end of the target;
    for them, axes of size 1 are inserted first.
    """
    shape = c.as_list(target)
    if mode in ("none", "explicit"):
        data = _placed(c, data, target, needed_ints(c, mapping, "mapping of axes"))
    if mode == "pdpd":
        rank = needed_rank(c, data)
        size = _needed_length(c, target)
        first = size - rank if axis == -1 else axis
        # As in PaddlePaddle, trailing dimensions of 1 beyond the rank of the target are dropped.
        kept = min(rank, size - first)
        if kept < rank:
            data = c.squeeze(data, list(range(kept, rank)))
        data = _placed(c, data, target, list(range(first, first + kept)))
    return c.expand(data, shape)


def _needed_length(c: Export, target: Value) -> int:
    size = length(target)
    if size is None:
        raise c.refuse("the rank of its target shape is not known", "declare the input shapes")
    return size


def _placed(c: Export, data: Value, target: Value, axes: list[int]) -> Value:
    """Transpose and unsqueeze `data` so that its axis i is axis `axes[i]` of the result.

    The result has the rank of `target`, and all its other axes have size 1.
    """
    order = sorted(range(len(axes)), key=lambda at: axes[at])
    data = c.transpose(data, order)
    rest = [at for at in range(_needed_length(c, target)) if at not in axes]
    return c.unsqueeze(data, rest) if rest else data


@imports(onnx.Expand)
def import_expand(c: Import, op: onnx.Expand, data: Value, target: Value) -> Value:
    """Write a Broadcast; a scalar that stays a scalar ends the process in OpenVINO 2026.4."""
    is_scalar = shape_of(data).rank == 0
    if is_scalar and length(target) == 0:
        return data
    # A scalar gets the target shape, of which OpenVINO and irloop know more in this mode.
    return c.broadcast(data, target, "numpy" if is_scalar else "bidirectional")


@exports(ov.Tile)
def export_tile(c: Export, op: ov.Tile, data: Value, repeats: Value) -> Value:
    rank, count = needed_rank(c, data), length(repeats)
    if count is None:
        raise c.refuse("the number of its repeats is not known", "declare the input shapes")
    times = c.as_list(repeats)
    if rank < count:
        data = c.unsqueeze(data, list(range(count - rank)))
    if rank > count:
        times = c.concat([c.i64([1] * (rank - count)), times], 0)
    return c.tile(data, times)


@imports(onnx.Tile1)
def import_tile_1(c: Import, op: onnx.Tile1, data: Value, tiles: Value, axis: Value) -> Value:
    along = needed_ints(c, axis, "axis")[0]
    rank = needed_rank(c, data)
    number = c.as_list(c.convert(tiles, ElementType.I64))
    pieces = [c.i64([1] * (along % rank)), number, c.i64([1] * (rank - along % rank - 1))]
    filled = [piece for piece in pieces if length(piece) != 0]
    return c.tile(data, c.concat(filled, 0))


@imports(onnx.Tile)
def import_tile(c: Import, op: onnx.Tile, data: Value, repeats: Value) -> Value:
    """Write Tile, or for computed repeats a Broadcast between two Reshapes.

    For data [d0, d1] and repeats [r0, r1], the shapes are [1, d0, 1, d1] -> [r0, d0, r1, d1] ->
    [r0 * d0, r1 * d1]. OpenVINO's CPU plugin (2026.4) does not write the result of a Tile with
    computed repeats.
    """
    if shape_of(data).rank == 0:
        # There is nothing to repeat, and OpenVINO 2026.4 returns numbers that it never wrote.
        return data
    if c.constant_of(repeats) is not None or not shape_of(data).rank:
        return c.tile(data, repeats)
    rank = needed_rank(c, data)
    counts = c.reshape(c.as_i64(repeats), [-1, 1])
    dims = c.reshape(c.shape_of(data), [-1, 1])
    pairs = c.reshape(c.concat([counts, dims], 1), [-1])
    wide = c.unsqueeze(data, [2 * axis for axis in range(rank)])
    repeated = c.broadcast(wide, pairs)
    result = c.multiply(counts, dims)
    pattern = c.reshape(result, [-1])
    return c.reshape_to(repeated, pattern, special_zero=False)
