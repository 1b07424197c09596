"""Sliding products of data and filters over any number of spatial axes.

Data is [N, C, spatial...], filters are [O, C/groups, kernel...]. Five methods are used:

- Positions: `few_outputs` computes images that have many more channels than the result.
- Rows: `row_products` computes images with long rows if the result has few channels.
- Flat: the padded data of a channel is one row of memory. For each position of the kernel, the
  elements that it reads are this row shifted by a constant distance. Rows of the output are
  computed tile by tile: the shifted rows are copied below each other, and one matrix product
  computes the tile of all channels. A tile fits the cache. At the end of each row a few columns too
  many are computed, and dropped.
- Exact: like flat, but the copy leaves out the columns that would be dropped. This copy is slower,
  which pays for small images of many channels.
- Depthwise: each channel has its own filter. Large images are computed by `depthwise`. For many
  channels, whose images are small, the data is first rearranged so that the channels of a pixel are
  adjacent in memory; then shifted images are multiplied by one weight per channel and added in one
  pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product as all_of
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from irloop import budget
from irloop.kernels.blocks import OverStep, overwrite
from irloop.kernels.depthwise import in_tiles
from irloop.kernels.few_outputs import by_positions, suits
from irloop.kernels.geometry import Window, places_inside
from irloop.kernels.row_products import in_rows
from irloop.kernels.work import spend_each, spend_products

__all__ = ["correlate"]

Array = np.ndarray[Any, np.dtype[Any]]
Dims = tuple[int, ...]

#: The columns of a tile, and its results, take at most about this many bytes.
_TILE_BYTES = 1 << 20
#: For a kernel of one element: data and results of at most this many bytes are computed as one
#: tile. Its columns need no copy, so smaller tiles gain little, and each of them takes further
#: calls.
_WHOLE_BYTES = 1 << 23
#: Maximum number of columns of a tile.
_TILE_COLUMNS = 4096
#: With channels last, a depthwise convolution computes several rows of results at a time: as many
#: as have at most this many elements together.
_PIXELS_BLOCK = 1 << 18
#: `depthwise` computes images whose results have rows of at least this length.
_LONG_ROW = 24
#: `depthwise` also computes images with fewer channels than this.
_FEW_CHANNELS = 64
#: `row_products` computes images whose result has at most this many channels for each column.
_OUTPUTS_PER_COLUMN = 2
#: Kernels with more positions than this are computed by matrix products of exact columns.
_MANY_POSITIONS = 1 << 10
#: Items with at most this many column elements are computed several at a time.
_SMALL_ITEM = 1 << 15
#: Such a group of items has at most this many column elements.
_CHUNK = 1 << 20
#: Copying one element of the exact columns takes as long as this many multiplications.
_COPY_COST = 39
#: Nanoseconds to copy one element of the columns, or to add it to a depthwise sum.
A_COLUMN_ELEMENT = 12


def correlate(
    x: Array,
    w: Array,
    window: Window,
    groups: int,
    fill: Any = 0,
    bias: Array | None = None,
    then: OverStep | None = None,
) -> Any:
    """Convolve data with filters, computing in their own element type.

    Padding has the value `fill`; `bias` [O] is added. The activation `then` is applied to each part
    of the result as soon as the part is complete, while it is in the cache.

    Raises:
        ValueError: when the window does not fit the padded data.
    """
    sizes = x.shape[2:]
    layout = _layout_of(window, sizes)
    counts = layout.counts
    if min(counts, default=1) < 1:
        raise ValueError(
            f"the window {list(window.kernel)} does not fit the data {list(sizes)} with its padding"
        )
    items, channels = x.shape[:2]
    outputs = w.shape[0]
    result = np.empty((items, outputs, *counts), dtype=x.dtype)
    if result.size == 0:
        return result
    if w.size == 0:
        result[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(sizes))
        return _with(then, result)
    depth = channels // groups * math.prod(window.kernel)
    spend_products(result.size * depth, x.dtype, "a convolution")
    budget.spend(4 * items, "a convolution")
    single = math.prod(window.kernel) == 1 and counts == sizes
    if single and not any(layout.begins):
        _points(x, w, groups, bias, then, result)
        return result
    columns = channels * math.prod(window.kernel) * math.prod(counts)
    spend_each(items * columns, A_COLUMN_ELEMENT, "a convolution")
    offset = None if bias is None else bias.reshape(-1, *(1,) * len(counts))
    if items > 1 and columns <= _SMALL_ITEM:
        _together(x, w, groups, layout, fill, offset, result)
        return _with(then, result)
    few = groups == 1 and layout.few_positions and x.dtype.kind == "f" and suits(x, w, window, fill)
    for source, target in zip(x, result, strict=True):
        if few:
            by_positions(source, w, window, layout.begins, offset, then, target)
        elif groups == channels == outputs and layout.few_positions and x.dtype.kind == "f":
            _depthwise(source, w.reshape(channels, -1), layout, fill, offset, then, target)
        elif groups == 1 and x.dtype.kind == "f" and _has_long_rows(layout, outputs):
            in_rows(source, w, window, layout.begins, fill, offset, then, target)
        else:
            _tiled(source, w, groups, layout, fill, offset, then, target)
    return result


def _with(then: OverStep | None, result: Array) -> Array:
    """Apply the activation `then` to `result` in place, if there is one, and return `result`."""
    if then is not None:
        overwrite(then, result)
    return result


def _has_long_rows(layout: _Layout, outputs: int) -> bool:
    """Return whether to convolve with one matrix product for each row of the result.

    `outputs` is the number of output channels. This method is fast if the rows of the result are
    long compared with `outputs`, and the kernel has several columns.
    """
    window, counts = layout.window, layout.counts
    if len(counts) != 2 or not layout.few_positions:
        return False
    several = window.kernel[1] > 1 and window.dilations[0] == 1
    return several and outputs <= _OUTPUTS_PER_COLUMN * counts[1]


def _points(
    x: Array,
    w: Array,
    groups: int,
    bias: Array | None,
    then: OverStep | None,
    result: Array,
) -> None:
    """Write a convolution whose kernel has one element to `result`, with matrix products.

    At each position, the filters of a group are multiplied by the channels of the group. `bias` is
    then added, and `then`, usually an activation, is applied in place; both are optional.
    """
    items, channels = x.shape[:2]
    outputs = len(w)
    filters = w.reshape(groups, outputs // groups, channels // groups)
    data = x.reshape(items, groups, channels // groups, -1)
    made = result.reshape(items, groups, outputs // groups, -1)
    offset = None if bias is None else bias.reshape(groups, outputs // groups, 1)
    columns = data.shape[-1]
    width = _width(max(channels, outputs) * x.itemsize)
    if (channels + outputs) * columns * x.itemsize <= _WHOLE_BYTES:
        width = max(columns, 1)
    for low in range(0, columns, width):
        part = made[..., low : low + width]
        np.matmul(filters, data[..., low : low + width], out=part)
        if offset is not None:
            np.add(part, offset, out=part)
        _with(then, part)


def _width(room: int) -> int:
    """The number of columns of a tile if each column takes `room` bytes."""
    return min(max(_TILE_BYTES // room, 64), _TILE_COLUMNS)


class _Layout(NamedTuple):
    """The sizes of the data, the planes and the results of a convolution.

    A plane holds the padded data that the windows read. With strides, there is one plane for each
    remainder of a position divided by the stride, so that neighbouring windows read neighbouring
    elements of each plane.
    """

    window: Window
    sizes: Dims
    counts: Dims
    begins: Dims
    plane: Dims

    def with_axis(self) -> _Layout:
        """This layout with an additional axis of size 1 in front of its axes."""
        window = Window.of(
            (1, *self.window.kernel), (1, *self.window.strides), (1, *self.window.dilations)
        )
        return _Layout(
            window, (1, *self.sizes), (1, *self.counts), (0, *self.begins), (1, *self.plane)
        )

    @property
    def few_positions(self) -> bool:
        return math.prod(self.window.kernel) <= _MANY_POSITIONS

    @property
    def steps(self) -> Dims:
        """For each axis of a plane, the distance in elements between neighbours along the axis."""
        return tuple(math.prod(self.plane[axis + 1 :]) for axis in range(len(self.plane)))

    @property
    def row(self) -> int:
        """The stride, in elements, of the first axis of a plane."""
        return self.steps[0]

    def places(self) -> tuple[tuple[Dims, int], ...]:
        """Return the stride phase and the offset at which each position of the kernel reads.

        The phase has one number for each axis, and selects a plane (see `planes`). The offset
        counts elements from the start of this plane. For example, in 1-D with stride 2, position 3
        of the kernel reads in the plane of phase (1,), from offset 1.
        """
        return _places(self.window, self.steps)

    def planes(self, x: Array, phases: Sequence[Dims], fill: Any) -> Array:
        """Copy data [C, spatial...] to planes [phases, C, elements], one for each stride phase.

        A phase has a number for each spatial axis, from 0 to stride - 1. Along each axis, its plane
        holds the padded data at phase, phase + stride, phase + 2 * stride, ... Padding has the
        value `fill`. Data that needs neither padding nor strides is reshaped, not copied.
        """
        plain = len(phases) == 1 and self.plane == self.sizes and not any(self.begins)
        if plain and max(self.window.strides) == 1:
            return x.reshape(1, len(x), -1)
        made = np.empty((len(phases), len(x), *self.plane), x.dtype)
        for plane, phase in zip(made, phases, strict=True):
            _copy_strided(x, plane, self.begins, phase, self.window.strides, fill)
        return made.reshape(len(phases), len(x), -1)


@lru_cache(maxsize=1024)
def _layout_of(window: Window, sizes: Dims) -> _Layout:
    counts = tuple(window.outputs(axis, size) for axis, size in enumerate(sizes))
    begins = tuple(window.reach(axis, size)[0] for axis, size in enumerate(sizes))
    plane = tuple(
        count + (window.extent(axis) - 1) // window.strides[axis]
        for axis, count in enumerate(counts)
    )
    return _Layout(window, sizes, counts, begins, plane)


@lru_cache(maxsize=256)
def _places(window: Window, steps: Dims) -> tuple[tuple[Dims, int], ...]:
    places = []
    strides, dilations = window.strides, window.dilations
    for position in all_of(*map(range, window.kernel)):
        reached = [k * d for k, d in zip(position, dilations, strict=True)]
        phase = tuple(at % s for at, s in zip(reached, strides, strict=True))
        parts = zip(reached, strides, steps, strict=True)
        places.append((phase, sum(at // s * step for at, s, step in parts)))
    return tuple(places)


def _copy_strided(
    x: Array, plane: Array, begins: Dims, phase: Dims, strides: Dims, fill: Any
) -> None:
    """Fill `plane` with a strided part of `x` after padding.

    Along each axis after the first, `plane` receives the elements at positions phase,
    phase + stride, ... of the padded data. `begins` is the padding at the beginning of each of
    these axes, and padded elements have the value `fill`.
    """
    source: list[slice] = [slice(None)]
    target: list[slice] = [slice(None)]
    for axis, (begin, first, stride) in enumerate(zip(begins, phase, strides, strict=True), 1):
        low, high, start = places_inside(first - begin, stride, plane.shape[axis], x.shape[axis])
        plane[(*target, slice(0, low))] = fill
        plane[(*target, slice(high, None))] = fill
        if high == low:
            return
        source.append(slice(start, start + (high - low - 1) * stride + 1, stride))
        target.append(slice(low, high))
    plane[tuple(target)] = x[tuple(source)]


def _tiled(
    x: Array,
    w: Array,
    groups: int,
    layout: _Layout,
    fill: Any,
    bias: Array | None,
    then: OverStep | None,
    target: Array,
) -> None:
    """Convolve one batch item by matrix products, and write the result into `target`.

    `x` is the data [C, ...], `w` holds the filters [O, C/groups, ...], and `target` is
    [O, ...]. `fill` is the value of the padding.
    """
    outputs = len(w)
    filters = w.reshape(groups, outputs // groups, -1)
    counts = layout.counts
    waste = layout.row * counts[0] / math.prod(counts) - 1
    if waste * outputs / groups > _COPY_COST or not layout.few_positions:
        columns: _Columns = _ExactColumns(x, groups, layout, fill)
    else:
        columns = _FlatColumns(x, groups, layout, fill)
    row, inner = columns.row, columns.inner
    width = _width(max(filters.shape[2] * groups, outputs) * x.itemsize)
    rows = min(max(1, width // row), counts[0])
    compact = inner == counts[1:]
    flat = target.reshape(groups, outputs // groups, -1)
    # All tiles use the same memory, because newly allocated memory would not be in the cache.
    room = flat if compact else np.empty((groups, outputs // groups, rows * row), x.dtype)
    for first in range(0, counts[0], rows):
        last = min(first + rows, counts[0])
        rows_of_target = target[:, first:last]
        begin = first * row if compact else 0
        made = room[:, :, begin : begin + (last - first) * row]
        # Stop the last row at the last column that is needed, because no data follows the last
        # plane.
        dropped = 0 if compact else row - columns.used
        end = (last - first) * row - dropped
        for low in range(0, end, max(width, rows * row if rows > 1 else 0)):
            high = min(low + max(width, rows * row if rows > 1 else 0), end)
            part = columns.part(first * row + low, first * row + high)
            np.matmul(filters, part, out=made[:, :, low:high])
        if not compact:
            made = made.reshape(outputs, last - first, *inner)
            made = made[(slice(None), slice(None), *map(slice, counts[1:]))]
        else:
            made = rows_of_target
        if bias is not None:
            np.add(made, bias, out=rows_of_target)
        elif not compact:
            rows_of_target[...] = made
        _with(then, rows_of_target)


class _Columns:
    """The columns of data that a convolution multiplies by its filters in matrix products.

    All n columns together are [groups, C/groups * kernel positions, n]. They are grouped by their
    index along the first spatial axis of the result. Each index has `row` columns, which have the
    shape `inner`. For the last index, only the first `used` columns are needed.

    The array that `part` returns may be overwritten by the next call.
    """

    row: int
    inner: Dims
    used: int

    def part(self, low: int, high: int) -> Array:
        """The columns from `low` up to, but excluding, `high`."""
        raise NotImplementedError


class _FlatColumns(_Columns):
    def __init__(self, x: Array, groups: int, layout: _Layout, fill: Any) -> None:
        places = layout.places()
        phases = sorted({phase for phase, _ in places})
        planes = layout.planes(x, phases, fill)
        self._planes = planes.reshape(len(phases), groups, len(x) // groups, -1)
        self._places = [(phases.index(phase), offset) for phase, offset in places]
        window = layout.window
        self._kernel = window.kernel
        # The planes of transposed data may be a view whose elements are not adjacent.
        apart = self._planes.strides[-1]
        self._steps = tuple(
            step * d * apart for step, d in zip(layout.steps, window.dilations, strict=True)
        )
        self._regular = len(phases) == 1 and max(window.strides) == 1
        self.row = layout.row
        self.inner = layout.plane[1:]
        ends = zip(layout.counts[1:], layout.steps[1:], strict=True)
        self.used = 1 + sum((count - 1) * step for count, step in ends)
        self._made = np.empty(0, x.dtype)

    def part(self, low: int, high: int) -> Array:
        groups, each = self._planes.shape[1:3]
        if len(self._places) == 1:
            ((phase, offset),) = self._places
            columns: Array = self._planes[phase][:, :, low + offset : high + offset]
            return columns
        size = groups * each * len(self._places) * (high - low)
        if size > self._made.size:
            self._made = np.empty(size, self._planes.dtype)
        made = self._made[:size].reshape(groups, each, len(self._places), high - low)
        if self._regular:
            made.reshape(groups, each, *self._kernel, high - low)[...] = self._view(low, high)
        else:
            for at, (phase, offset) in enumerate(self._places):
                made[:, :, at] = self._planes[phase][:, :, low + offset : high + offset]
        return made.reshape(groups, -1, high - low)

    def _view(self, low: int, high: int) -> Array:
        rows = self._planes[0][:, :, low:high]
        return as_strided(
            rows,
            (*rows.shape[:2], *self._kernel, high - low),
            (*rows.strides[:2], *self._steps, rows.strides[2]),
            writeable=False,
        )


class _ExactColumns(_Columns):
    def __init__(self, x: Array, groups: int, layout: _Layout, fill: Any) -> None:
        self._groups = groups
        self._view = _windows(x, layout, fill)
        self._axis = 1 + len(layout.window.kernel)
        self.row = math.prod(layout.counts[1:])
        self.inner = layout.counts[1:]
        self.used = self.row

    def part(self, low: int, high: int) -> Array:
        first, last = low // self.row, -(-high // self.row)
        rows = self._view[(slice(None),) * self._axis + (slice(first, last),)]
        made = rows.reshape(self._groups, -1, (last - first) * self.row)
        return made[:, :, low - first * self.row : high - first * self.row]


def _windows(x: Array, layout: _Layout, fill: Any) -> Array:
    """Pad the data with `fill`, and return a view of all windows: [C, kernel..., counts...].

    `counts` is the number of windows along each axis.
    """
    window = layout.window
    size = tuple(
        (count - 1) * stride + window.extent(axis)
        for axis, (count, stride) in enumerate(zip(layout.counts, window.strides, strict=True))
    )
    data = np.empty((len(x), *size), x.dtype)
    none = (0,) * len(size)
    _copy_strided(x, data, layout.begins, none, (1,) * len(size), fill)
    steps = data.strides[1:]
    return as_strided(
        data,
        (len(x), *window.kernel, *layout.counts),
        (
            data.strides[0],
            *(step * d for step, d in zip(steps, window.dilations, strict=True)),
            *(step * s for step, s in zip(steps, window.strides, strict=True)),
        ),
        writeable=False,
    )


def _together(
    x: Array, w: Array, groups: int, layout: _Layout, fill: Any, bias: Array | None, result: Array
) -> None:
    """Compute a convolution of many small batch items, with many items in each NumPy call.

    The results are written to `result`, [items, channels, ...].
    """
    items, channels = x.shape[:2]
    outputs, length = len(w), math.prod(layout.counts)
    filters = w.reshape(groups, outputs // groups, -1)
    depth = filters.shape[-1]
    chunk = max(1, _CHUNK // (groups * depth * length))
    for first in range(0, items, chunk):
        part = x[first : first + chunk]
        planes = part.reshape(len(part) * channels, *layout.sizes)
        view = _windows(planes, layout, fill)
        columns = view.reshape(len(part), groups, depth, length)
        target = result[first : first + chunk]
        np.matmul(filters, columns, out=target.reshape(len(part), groups, -1, length))
        if bias is not None:
            np.add(target, bias, out=target)


def _depthwise(
    x: Array,
    w: Array,
    layout: _Layout,
    fill: Any,
    bias: Array | None,
    then: OverStep | None,
    target: Array,
) -> None:
    """Convolve one item into `target`, each channel with its own filter.

    `x` is the data [C, ...], `w` the filters [C, kernel], and `fill` the value of the padding.
    """
    rank, width = len(layout.counts), layout.counts[-1]
    if rank <= 2 and (width >= _LONG_ROW or len(x) < _FEW_CHANNELS):
        flat = layout if rank == 2 else layout.with_axis()
        image, made = x.reshape(len(x), *flat.sizes), target.reshape(len(x), *flat.counts)
        offset = None if bias is None else bias.reshape(-1, 1, 1)
        if in_tiles(image, w, flat.window, flat.begins, fill, offset, then, made):
            return
    _pixels(x, w, layout, fill, bias, then, target)


def _pixels(
    x: Array,
    w: Array,
    layout: _Layout,
    fill: Any,
    bias: Array | None,
    then: OverStep | None,
    target: Array,
) -> None:
    """Convolve one item, each channel with its own filter, for all channels of a pixel at once.

    `_depthwise` calls this. The data is copied first, so that the channels of a pixel are adjacent
    in memory.
    """
    window, counts = layout.window, layout.counts
    rank, channels = len(counts), len(x)
    size = tuple(
        (count - 1) * stride + window.extent(axis)
        for axis, (count, stride) in enumerate(zip(counts, window.strides, strict=True))
    )
    data = np.empty((*size, channels), x.dtype)
    _copy_strided(x, np.moveaxis(data, -1, 0), layout.begins, (0,) * rank, (1,) * rank, fill)
    view = as_strided(
        data,
        (*window.kernel, *counts, channels),
        (
            *(step * d for step, d in zip(data.strides, window.dilations, strict=False)),
            *(step * s for step, s in zip(data.strides, window.strides, strict=False)),
            data.strides[-1],
        ),
        writeable=False,
    )
    filters = np.ascontiguousarray(w.T).reshape(*window.kernel, channels)
    positions, places = list(range(rank)), list(range(rank, 2 * rank))
    rows = max(1, _PIXELS_BLOCK // (channels * math.prod(counts[1:])))
    for first in range(0, counts[0], rows):
        block = view[(slice(None),) * rank + (slice(first, first + rows),)]
        sums = np.einsum(
            block,
            [*positions, *places, 2 * rank],
            filters,
            [*positions, 2 * rank],
            [*places, 2 * rank],
        )
        if bias is not None:
            np.add(sums, bias.reshape(-1), out=sums)
        _with(then, sums)
        target[:, first : first + rows] = np.moveaxis(sums, -1, 0)
