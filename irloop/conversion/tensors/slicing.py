"""Converts operations that split and join tensors."""

from __future__ import annotations

from itertools import pairwise

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.dialects.onnx import slicing as onnx
from irloop.dialects.onnx.scatter import ScatterElements, ScatterElements16
from irloop.dialects.openvino import slicing as ov
from irloop.dialects.openvino.elementwise import FloorMod
from irloop.dialects.openvino.scatter import ScatterElementsUpdate, ScatterUpdate
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import (
    ints,
    length,
    needed_axis,
    needed_ints,
    needed_rank,
)
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.kernels.bounds import chunks

__all__: list[str] = []


@exports(ov.Concat)
def export_concat(c: Export, op: ov.Concat, *inputs: Value) -> Value:
    return c(onnx.Concat(op.axis), *inputs)


@imports(onnx.Concat1, onnx.Concat)
def import_concat(c: Import, op: onnx.Concat1 | onnx.Concat, *inputs: Value) -> Value:
    return c.concat(inputs, op.axis)


@exports(ov.Split)
def export_split(c: Export, op: ov.Split, data: Value, axis: Value) -> list[Value]:
    along, count = needed_axis(c, axis), op.num_splits
    if count == 1:
        return [data]
    if c.opset >= 18:
        return list(c.emit(onnx.Split18(along, count), data, n_outputs=count).outputs)
    split = onnx.Split13(along) if c.opset >= 13 else onnx.Split(along)
    return list(c.emit(split, data, n_outputs=count).outputs)


@exports(ov.VariadicSplit)
def export_variadic_split(
    c: Export, op: ov.VariadicSplit, data: Value, axis: Value, lengths: Value
) -> list[Value]:
    """Write VariadicSplit as Split, with the remaining length in place of -1.

    If the remaining length depends on the shape, each part becomes a Slice.
    """
    place, count = needed_axis(c, axis), len(c.node.outputs)
    known = ints(c, lengths)
    if known is None:
        sizes = _without_rest(c, data, place, lengths)
        if c.opset < 13:
            return _slices_by(c, data, place, sizes, count)
        split = onnx.Split18(place) if c.opset >= 18 else onnx.Split13(place)
        return list(c.emit(split, data, sizes, n_outputs=count).outputs)
    dim = shape_of(data).dim(place)
    if -1 in known and isinstance(dim, int):
        known[known.index(-1)] = dim - sum(size for size in known if size != -1)
    if -1 in known:
        return _slices(c, data, place, known)
    return c.split(data, place, known)


def _slices_by(c: Export, data: Value, axis: int, lengths: Value, count: int) -> list[Value]:
    """Split data into parts of computed lengths: write one Slice for each of `count` parts.

    This is for opsets in which the lengths of Split are an attribute and so cannot be computed.
    """
    parts, start = [], c.i64([0])
    for index in range(count):
        end = c.add(start, c.gather(lengths, c.i64([index]), 0))
        parts.append(c.slice_by(data, start, end, c.i64([axis])))
        start = end
    return parts


def _without_rest(c: Export, data: Value, axis: int, lengths: Value) -> Value:
    """Replace a length of -1 by the part of the axis that the other lengths leave."""
    sizes = c.as_list(lengths)
    dim = c.sizes_of(data, [axis])
    given = c.reduce("Sum", sizes, [0])
    rest = c.subtract(dim, c.add(given, c.i64([1])))
    return c.select(c.less(sizes, c.i64([0])), rest, sizes)


def _slices(c: Export, data: Value, axis: int, lengths: list[int]) -> list[Value]:
    """Split `data` along `axis` by a Slice for each part; one of the lengths is -1, for unknown.

    The bounds of the parts after the one of unknown length count from the end.
    """
    rest = lengths.index(-1)
    bounds = [0]
    for size in lengths[:rest]:
        bounds.append(bounds[-1] + size)
    behind = [TO_THE_END]
    total = 0
    for size in reversed(lengths[rest + 1 :]):
        total += size
        behind.append(-total or TO_THE_END)
    bounds += behind[::-1]
    return [c.slice(data, [low], [high], [axis]) for low, high in pairwise(bounds)]


@imports(onnx.Split1)
def import_split_1(
    c: Import, op: onnx.Split1, data: Value, sizes: Value | None = None
) -> list[Value]:
    if sizes is not None:
        return _variadic(c, data, op.axis, sizes)
    return _import_split(c, op.axis, op.split, data)


@imports(onnx.Split)
def import_split(c: Import, op: onnx.Split, data: Value) -> list[Value]:
    return _import_split(c, op.axis, op.split, data)


def _import_split(c: Import, axis: int, sizes: tuple[int, ...] | None, data: Value) -> list[Value]:
    if sizes is None:
        return c.split(data, axis, len(c.node.outputs))
    return c.variadic_split(data, axis, sizes)


@imports(onnx.Split13)
def import_split_13(
    c: Import, op: onnx.Split13, data: Value, sizes: Value | None = None
) -> list[Value]:
    if sizes is not None:
        return _variadic(c, data, op.axis, sizes)
    return c.split(data, op.axis, len(c.node.outputs))


@imports(onnx.Split18)
def import_split_18(
    c: Import, op: onnx.Split18, data: Value, sizes: Value | None = None
) -> list[Value]:
    """Write Split-18 as Split if the parts are known to be equal, otherwise as VariadicSplit.

    If `sizes` is omitted, all parts are equal, except that the last may be smaller.
    """
    if sizes is not None:
        return _variadic(c, data, op.axis, sizes)
    count = len(c.node.outputs)
    dim = shape_of(data).dim(op.axis)
    if isinstance(dim, int):
        if dim % count == 0:
            return c.split(data, op.axis, count)
        return c.variadic_split(data, op.axis, chunks(dim, count))
    if count == 1:
        return c.split(data, op.axis, 1)
    whole = c.sizes_of(data, [op.axis])
    rounded = c.add(whole, c.i64([count - 1]))
    part = c.divide(rounded, c.i64([count]))
    pieces = [part] * (count - 1) + [c.i64([-1])]
    return _variadic(c, data, op.axis, c.concat(pieces, 0))


def _variadic(c: Import, data: Value, axis: int, sizes: Value) -> list[Value]:
    count = len(c.node.outputs)
    if shape_of(sizes).static() != (count,):
        # OpenVINO takes the number of outputs from the number of lengths.
        sizes = c.reshape(sizes, [count])
    node = c.emit(ov.VariadicSplit(), data, c.i64(axis), sizes, n_outputs=count)
    return list(node.outputs)


@exports(ov.Slice)
def export_slice(
    c: Export,
    op: ov.Slice,
    data: Value,
    starts: Value,
    ends: Value,
    steps: Value,
    axes: Value | None = None,
) -> Value:
    first, last, strides = (c.as_list(value) for value in (starts, ends, steps))
    chosen = None if axes is None else c.as_list(axes)
    by_one = all(step == 1 for step in ints(c, strides) or [0])
    if chosen is None and not by_one:
        chosen = _first_axes(c, starts)
    return c.slice_by(data, first, last, chosen, None if by_one else strides)


def _first_axes(c: Export, starts: Value) -> Value | None:
    count = length(starts)
    # The standard allows omitting an input in the middle, but not every runtime accepts it.
    return None if count is None else c.i64(list(range(count)))


@imports(onnx.Slice)
def import_slice(c: Import, op: onnx.Slice, data: Value) -> Value:
    axes = list(range(len(op.starts))) if op.axes is None else list(op.axes)
    return c.slice(data, op.starts, op.ends, axes)


@imports(onnx.Slice10)
def import_slice_10(
    c: Import,
    op: onnx.Slice10,
    data: Value,
    starts: Value,
    ends: Value,
    axes: Value | None = None,
    steps: Value | None = None,
) -> Value:
    first, last = (_list_of_i64(c, value) for value in (starts, ends))
    strides = _ones_like(c, first) if steps is None else _list_of_i64(c, steps)
    if axes is not None and ints(c, axes) is None and c.opset >= 8:
        return c(ov.Slice(), data, first, last, strides, _list_of_i64(c, axes))
    if axes is not None and ints(c, axes) is None:
        return _slice_by_axes(c, data, first, last, strides, _list_of_i64(c, axes))
    count = length(starts)
    if axes is None and count is None:
        if c.opset < 8:
            raise c.refuse("the number of its starts is not known", "write opset8")
        return c(ov.Slice(), data, first, last, strides)
    chosen = list(range(count or 0)) if axes is None else needed_ints(c, axes, "list of axes")
    return c.slice_by(data, first, last, chosen, strides)


def _slice_by_axes(
    c: Import, data: Value, starts: Value, ends: Value, steps: Value, axes: Value
) -> Value:
    """Emit a StridedSlice of all axes for a slice along the axes in `axes`.

    `starts`, `ends` and `steps` are scattered into lists with one entry for each axis of `data`.
    Axes that `axes` does not list are kept whole.
    """
    rank = needed_rank(c, data)
    places = c.from_the_end(axes, c.i64(rank))

    def spread(items: Value, filler: int) -> Value:
        whole = c.i64([filler] * rank)
        return c(ScatterUpdate(), whole, places, items, c.i64(0))

    begin, end, stride = spread(starts, 0), spread(ends, TO_THE_END), spread(steps, 1)
    return c(ov.StridedSlice((0,) * rank, (0,) * rank), data, begin, end, stride)


def _list_of_i64(c: Import, value: Value) -> Value:
    known = ints(c, value)
    if known is not None:
        return c.i64(known)
    return c.as_list(c.as_i64(value))


def _ones_like(c: Import, starts: Value) -> Value:
    count = length(starts)
    if count is not None:
        return c.i64([1] * count)
    return c.broadcast(c.i64([1]), c.shape_of(starts))


@exports(ov.SliceScatter)
def export_slice_scatter(
    c: Export,
    op: ov.SliceScatter,
    data: Value,
    updates: Value,
    starts: Value,
    ends: Value,
    steps: Value,
    axes: Value | None = None,
) -> Value:
    """Write SliceScatter: a Slice selects the positions to which ScatterElements writes.

    The positions are numbered like the elements of the flattened data.
    """
    shape = c.shape_of(data)
    count = c.reduce("Prod", shape, [0], keep=False)
    numbers = c.numbers_below(count)
    places = c.reshape_to(numbers, shape, special_zero=c.opset < 14)
    chosen = _first_axes(c, starts) if axes is None else c.as_list(axes)
    first, last, strides = (c.as_list(value) for value in (starts, ends, steps))
    where = c.slice_by(places, first, last, chosen, strides)
    flat = [c.reshape(value, [-1]) for value in (data, where, updates)]
    scatter = ScatterElements16(0) if c.opset >= 16 else ScatterElements(0)
    written = c(scatter, *flat)
    return c.reshape_to(written, shape, special_zero=c.opset < 14)


@imports(onnx.TensorScatter)
def import_tensor_scatter(
    c: Import,
    op: onnx.TensorScatter,
    cache: Value,
    update: Value,
    indices: Value | None = None,
) -> Value:
    """Write TensorScatter as ScatterElementsUpdate along the axis.

    The update of each batch item starts at the index in input 2, or at 0 if this input is omitted.
    In the mode circular, positions beyond the end of the axis continue at its start.
    """
    rank = needed_rank(c, cache)
    axis = op.axis % rank
    steps = c.numbers_below(c.size_of(update, axis))
    places = c.reshape(steps, [-1] + [1] * (rank - 1 - axis))
    if indices is not None:
        starts = c.reshape(c.convert(indices, ElementType.I64), [-1] + [1] * (rank - 1))
        places = c.add(starts, places)
    if op.mode == "circular":
        places = c(FloorMod(), places, c.size_of(cache, axis))
    where = c.broadcast(places, c.shape_of(update))
    return c(ScatterElementsUpdate(), cache, where, update, c.i64(axis))
