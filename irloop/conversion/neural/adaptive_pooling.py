"""Converts OpenVINO's adaptive poolings, which divide each axis into bins of elements, to ONNX.

Bin k of n over a size of s starts at floor(k * s / n) and ends before ceil((k + 1) * s / n).
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.neural.convolution import spatial_sizes
from irloop.dialects.onnx import comparison, pooling
from irloop.dialects.onnx.matmul import MatMul
from irloop.dialects.onnx.search import ArgMax, ArgMax12
from irloop.dialects.openvino import pooling as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.kernels.pooling import bin_places, bin_weights

__all__: list[str] = []


@exports(ov.AdaptiveAvgPool)
def export_average(c: Export, op: ov.AdaptiveAvgPool, data: Value, shape: Value) -> Value:
    """Write AdaptiveAvgPool as AveragePool if all bins have equal sizes, else as MatMuls.

    There is one MatMul for each spatial axis; its weights compute the mean of each bin.
    """
    known = _sizes(c, data, shape)
    if known is None:
        return _averaged(c, data, list(_weights(c, data, shape)))
    sizes, wanted = known
    if all(count > 0 and size % count == 0 for size, count in zip(sizes, wanted, strict=True)):
        steps = tuple(size // count for size, count in zip(sizes, wanted, strict=True))
        pool = pooling.AveragePool(kernel_shape=steps, strides=steps)
        return c.numeric(pool, data)
    element = element_of(data)
    pairs = zip(sizes, wanted, strict=True)
    return _averaged(c, data, [c.constant(bin_weights(*pair), element) for pair in pairs])


@exports(ov.AdaptiveMaxPool)
def export_maximum(
    c: Export, op: ov.AdaptiveMaxPool, data: Value, shape: Value
) -> list[Value | None]:
    """Write AdaptiveMaxPool: gather the elements of each bin, then apply ReduceMax and ArgMax.

    If the sizes are known only at run time, there is one ReduceMax for each spatial axis, before
    which a mask replaces the elements outside of each bin by -infinity. In this case the indices
    cannot be converted.
    """
    known = _sizes(c, data, shape)
    if known is None and any(value.is_used for value in c.node.outputs[1:]):
        reason = "an adaptive pooling of unknown sizes has no ONNX form that returns the indices"
        fix = "give the input static spatial dimensions and a constant output size"
        raise c.refuse(reason, fix)
    if known is None:
        return [_largest(c, data, shape), None]
    sizes, wanted = known
    table = bin_places(sizes, wanted)
    bins, longest = table.shape
    flat = c.reshape(data, [0, 0, -1])
    members = c.gather(flat, c.i64(table), 2)
    best = c.reduce("Max", members, [3], keep=False)
    values = c.reshape(best, [0, 0, *wanted])
    if not any(value.is_used for value in c.node.outputs[1:]):
        return [values, None]
    largest = ArgMax12(axis=3, keepdims=False) if c.opset >= 12 else ArgMax(3, keepdims=False)
    place = c(largest, members)
    row = c.i64([bin_ * longest for bin_ in range(bins)])
    index = c.gather(c.i64(table.reshape(-1)), c.add(place, row), 0)
    shaped = c.reshape(index, [0, 0, *wanted])
    return [values, c.convert(shaped, op.index_element_type)]


def _sizes(c: Export, data: Value, shape: Value) -> tuple[list[int], list[int]] | None:
    """The spatial sizes of input and output, if both are known."""
    wanted, sizes = c.constant_of(shape), spatial_sizes(data)
    if wanted is None or sizes is None:
        return None
    return sizes, [int(size) for size in wanted.reshape(-1)]


def _averaged(c: Export, data: Value, weights: list[Value]) -> Value:
    """Multiply `data` by weights [size, bins] along each of its spatial axes."""
    result, last = data, 1 + len(weights)
    for axis, weight in enumerate(weights, 2):
        product = c.numeric(MatMul(), c.moved(result, axis, last, last + 1), weight)
        result = c.moved(product, last, axis, last + 1)
    return result


def _weights(c: Export, data: Value, shape: Value) -> Iterator[Value]:
    """Emit the weights [size, bins] of average pooling for each spatial axis.

    The sizes are known only at run time. A column is 1 / length for the elements of a bin, else 0.
    """
    for first, end, inside in _bins(c, data, shape):
        length = c.convert(c.subtract(end, first), element_of(data))
        yield c.divide(c.convert(inside, element_of(data)), length)


def _largest(c: Export, data: Value, shape: Value) -> Value:
    lowest = c.scalar(float("-inf"), data)
    bins = list(_bins(c, data, shape))
    result, rank = data, 2 + len(bins)
    for axis, (_, _, inside) in enumerate(bins, 2):
        each = c.unsqueeze(c.moved(result, axis, rank - 1, rank), [rank])
        members = c.select(inside, each, lowest)
        best = c.reduce("Max", members, [rank - 1], keep=False)
        result = c.moved(best, rank - 1, axis, rank)
    return result


def _bins(c: Export, data: Value, shape: Value) -> Iterator[tuple[Value, Value, Value]]:
    """Yield the starts, the ends and a mask of the bins of each spatial axis.

    The mask [size, bins] is true for the elements of each bin.
    """
    rank = c.rank_of(data)
    sizes, wanted = c.shape_of(data), c.as_i64(shape)
    one = c.i64(1)
    for axis in range(2, rank):
        size = c.gather(sizes, c.i64(axis), 0)
        count = c.gather(wanted, c.i64(axis - 2), 0)
        number = c.numbers_below(count)
        first = c.divide(c.multiply(number, size), count)
        beyond = c.multiply(c.add(number, one), size)
        up = c.subtract(c.add(beyond, count), one)
        end = c.divide(up, count)
        place = c.unsqueeze(c.numbers_below(size), [1])
        begun = c.logical_not(c.less(place, first))
        yield first, end, c(comparison.And(), begun, c.less(place, end))
