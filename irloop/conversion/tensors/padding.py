"""Converts Pad between the dialects, and CenterCropPad to IR."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irloop import budget
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.dialects.onnx import padding as onnx
from irloop.dialects.openvino import padding as ov
from irloop.dialects.openvino.elementwise import FloorMod
from irloop.dialects.openvino.scatter import ScatterUpdate
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import ints, needed_ints, needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.kernels.bounds import cropped, on_all_axes

__all__: list[str] = []


@exports(ov.Pad)
def export_pad(
    c: Export, op: ov.Pad, data: Value, begins: Value, ends: Value, fill: Value | None = None
) -> Value:
    return _export(c, op.pad_mode.lower(), data, begins, ends, fill)


@exports(ov.Pad12)
def export_pad_12(
    c: Export, op: ov.Pad12, data: Value, begins: Value, ends: Value, fill: Value | None = None
) -> Value:
    """Write Pad-12 as Pad; in modes other than constant, a Slice applies the negative pads."""
    mode = op.pad_mode.lower()
    first, last = ints(c, begins), ints(c, ends)
    if mode == "constant" or (_no_negative(first) and _no_negative(last)):
        return _export(c, mode, data, begins, ends, fill)
    if first is None or last is None:
        return _export_cropped(c, mode, data, begins, ends, fill)
    wide = [c.i64([max(0, size) for size in sizes]) for sizes in (first, last)]
    padded = _export(c, mode, data, wide[0], wide[1], fill)
    axes = [at for at in range(len(first)) if min(first[at], last[at]) < 0]
    starts = [max(0, -first[at]) for at in axes]
    stops = [last[at] if last[at] < 0 else TO_THE_END for at in axes]
    return c.slice(padded, starts, stops, axes)


def _no_negative(sizes: list[int] | None) -> bool:
    return sizes is not None and min(sizes, default=0) >= 0


def _export_cropped(
    c: Export, mode: str, data: Value, begins: Value, ends: Value, fill: Value | None
) -> Value:
    zero = c.i64([0])
    first, last = c.as_list(begins), c.as_list(ends)
    wide = [c.maximum(sizes, zero) for sizes in (first, last)]
    padded = _export(c, mode, data, wide[0], wide[1], fill)
    starts = c.maximum(c.subtract(zero, first), zero)
    to_the_end = c.select(c.less(last, zero), last, c.i64([TO_THE_END]))
    return c.slice_by(padded, starts, to_the_end)


def _export(
    c: Export, mode: str, data: Value, begins: Value, ends: Value, fill: Value | None
) -> Value:
    if mode == "symmetric":
        first, last = (needed_ints(c, value, "padding") for value in (begins, ends))
        return _mirrored(c, data, first, last)
    pads = c.concat([c.as_list(begins), c.as_list(ends)], 0)
    value = None if fill is None or mode != "constant" else c.as_scalar(fill)
    element = element_of(data)
    if element is ElementType.BOOLEAN and c.opset < 13:
        given = None if value is None else c.convert(value, ElementType.U8)
        padded = c.pad(c.convert(data, ElementType.U8), pads, given, mode)
        return c.convert(padded, element_of(data))
    return c.pad(data, pads, value, mode)


def _mirrored(c: Export, data: Value, begins: list[int], ends: list[int]) -> Value:
    """Pad symmetrically, which ONNX's Pad cannot: concatenate the mirror image of each end."""
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        pieces = [data]
        if begin:
            head = c.slice(data, [begin - 1], [-(2**63)], [axis], [-1])
            pieces.insert(0, head)
        if end:
            pieces.append(c.slice(data, [-1], [-end - 1], [axis], [-1]))
        data = c.concat(pieces, axis)
    return data


@imports(onnx.Pad1, onnx.Pad2)
def import_pad_2(c: Import, op: onnx.Pad1 | onnx.Pad2, data: Value) -> Value:
    half = len(op.pads) // 2
    fill = c.constant(op.value, element_of(data))
    return _import_known(c, op.mode, data, op.pads[:half], op.pads[half:], fill)


@imports(onnx.Pad11)
def import_pad_11(
    c: Import, op: onnx.Pad11, data: Value, pads: Value, fill: Value | None = None
) -> Value:
    return _import(c, op.mode, data, pads, fill, None)


@imports(onnx.Pad18, onnx.Pad19)
def import_pad_18(
    c: Import,
    op: onnx.Pad18 | onnx.Pad19,
    data: Value,
    pads: Value,
    fill: Value | None = None,
    axes: Value | None = None,
) -> Value:
    return _import(c, op.mode, data, pads, fill, axes)


def _import(
    c: Import, mode: str, data: Value, pads: Value, fill: Value | None, axes: Value | None
) -> Value:
    if fill is not None:
        fill = None if shape_of(fill).count() == 0 else c.as_scalar(fill)
    chosen = ints(c, axes)
    if axes is not None and chosen is None:
        pads, chosen = _on_all_axes(c, data, pads, axes), None
    known = ints(c, pads)
    if known is not None:
        half = len(known) // 2
        begins, ends = known[:half], known[half:]
        if chosen is not None:
            rank = needed_rank(c, data)
            begins, ends = (on_all_axes(items, chosen, rank) for items in (begins, ends))
        return _import_known(c, mode, data, begins, ends, fill)
    return _import_computed(c, mode, data, pads, fill, chosen)


def _on_all_axes(c: Import, data: Value, pads: Value, axes: Value) -> Value:
    """Put the pads of `axes` into a list for all axes; the other axes get 0.

    `axes` are computed at run time, and negative ones count from the end.
    """
    rank = needed_rank(c, data)
    listed = c.as_list(c.convert(axes, ElementType.I64))
    begins = c.from_the_end(listed, c.i64(rank))
    places = c.concat([begins, c.add(begins, c.i64(rank))], 0)
    numbers = c.convert(pads, ElementType.I64)
    return c(ScatterUpdate(), c.i64([0] * (2 * rank)), places, numbers, c.i64(0))


def _import_known(
    c: Import,
    mode: str,
    data: Value,
    begins: Sequence[int],
    ends: Sequence[int],
    fill: Value | None,
) -> Value:
    negative = min((*begins, *ends), default=0) < 0
    if negative and c.opset >= 12 and mode != "wrap":
        return c(ov.Pad12(mode), data, c.i64(list(begins)), c.i64(list(ends)), fill)
    wide = [max(0, size) for size in begins], [max(0, size) for size in ends]
    padded = data
    if mode == "wrap":
        padded = _wrapped(c, data, *wide)
    elif any(map(any, wide)) or not negative:
        value = fill if mode == "constant" else None
        padded = c.pad(data, c.i64(wide[0]), c.i64(wide[1]), value, mode)
    axes = [at for at in range(len(begins)) if min(begins[at], ends[at]) < 0]
    if not axes:
        return padded
    starts = [max(0, -begins[at]) for at in axes]
    stops = [ends[at] if ends[at] < 0 else TO_THE_END for at in axes]
    return c.slice(padded, starts, stops, axes)


def _wrapped(c: Import, data: Value, begins: Sequence[int], ends: Sequence[int]) -> Value:
    """Pad in mode wrap, with elements from the opposite end of each axis.

    OpenVINO's Pad does not have this mode.
    """
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        if not begin and not end:
            continue
        size = shape_of(data).dim(axis)
        if isinstance(size, int) and size > 0 and max(begin, end) > size:
            budget.reserve(32 * (begin + size + end), "the positions of a padded axis")
            indices = np.arange(-begin, size + end) % size
            data = c.gather(data, c.i64(indices), axis)
            continue
        pieces = [data]
        if begin:
            pieces.insert(0, c.slice(data, [-begin], [TO_THE_END], [axis]))
        if end:
            pieces.append(c.slice(data, [0], [end], [axis]))
        data = c.concat(pieces, axis)
    return data


def _wrapped_by(c: Import, data: Value, begins: Value, ends: Value) -> Value:
    """Pad in wrap mode: along each axis, gather positions modulo the size of the axis."""
    for axis in range(needed_rank(c, data)):
        size = c.size_of(data, axis)
        begin, end = (c.gather(items, c.i64(axis), 0) for items in (begins, ends))
        first, last = c.subtract(c.i64(0), begin), c.add(size, end)
        positions = c.range(first, last, c.i64(1))
        data = c.gather(data, c(FloorMod(), positions, size), axis)
    return data


def _import_computed(
    c: Import,
    mode: str,
    data: Value,
    pads: Value,
    fill: Value | None,
    axes: list[int] | None,
) -> Value:
    """Pad with amounts that are computed at run time.

    Negative amounts remove elements: a Slice after the padding does this. `axes` are the axes that
    `pads` lists; None means all.
    """
    rank = needed_rank(c, data)
    count = rank if axes is None else len(axes)
    numbers = c.as_i64(pads)
    begins = c.slice(numbers, [0], [count], [0])
    ends = c.slice(numbers, [count], [2 * count], [0])
    if axes is not None:
        begins, ends = (_spread_by(c, items, axes, rank) for items in (begins, ends))
    if mode == "wrap":
        return _wrapped_by(c, data, begins, ends)
    value = fill if mode == "constant" else None
    if c.opset >= 12:
        return c(ov.Pad12(mode), data, begins, ends, value)
    zero = c.i64([0])
    wide = [c.maximum(sizes, zero) for sizes in (begins, ends)]
    padded = c.pad(data, wide[0], wide[1], value, mode)
    starts = c.maximum(c.subtract(zero, begins), zero)
    cut = c.less(ends, zero)
    stops = c.select(cut, ends, c.i64([TO_THE_END]))
    ones = c.i64([1] * rank)
    return c.slice_by(padded, starts, stops, list(range(rank)), ones)


def _spread_by(c: Import, items: Value, axes: list[int], rank: int) -> Value:
    places = [axis % rank for axis in axes]
    source = c.concat([items, c.i64([0])], 0)
    order = [places.index(at) if at in places else len(places) for at in range(rank)]
    return c.gather(source, c.i64(order), 0)


@imports(onnx.CenterCropPad)
def import_center_crop_pad(c: Import, op: onnx.CenterCropPad, data: Value, sizes: Value) -> Value:
    """Write CenterCropPad as Pad and Slice, each with equal shares at both ends of an axis."""
    rank = needed_rank(c, data)
    axes = [axis % rank for axis in (range(rank) if op.axes is None else op.axes)]
    dims = [shape_of(data).dim(axis) for axis in axes]
    known = ints(c, sizes)
    numbers = [dim for dim in dims if isinstance(dim, int)]
    if known is not None and len(numbers) == len(dims):
        begins, ends = [0] * rank, [0] * rank
        for axis, size, dim in zip(axes, known, numbers, strict=True):
            begins[axis], ends[axis] = cropped(dim, size)
        return _import_known(c, "constant", data, begins, ends, None)
    shape = c.shape_of(data)
    there = c.gather(shape, c.i64(axes), 0)
    wanted = c.as_list(c.as_i64(sizes))
    lacking = c.subtract(wanted, there)
    begin = c.divide(lacking, c.i64([2]))
    pads = c.concat([begin, c.subtract(lacking, begin)], 0)
    return _import_computed(c, "constant", data, pads, None, axes)
