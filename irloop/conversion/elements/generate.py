"""Converts ranges, fills, one-hot codes and windows."""

from __future__ import annotations

import math

import numpy as np

from irloop.analysis.ranges import is_never_negative
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.dialects.onnx import generate as onnx
from irloop.dialects.openvino import elementwise as ov_elementwise
from irloop.dialects.openvino import generate as ov
from irloop.dialects.writing.known_inputs import ints
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType

__all__: list[str] = []

#: A filled tensor with more elements than this is broadcast at run time.
MOST_FILLED = 64

_RANGES = frozenset(
    {
        ElementType.F32,
        ElementType.F64,
        ElementType.I16,
        ElementType.I32,
        ElementType.I64,
    }
)


@exports(ov.Range)
def export_range(c: Export, op: ov.Range, start: Value, stop: Value, step: Value) -> Value:
    return _range(c, element_of(start), start, stop, step)


@exports(ov.Range4)
def export_range_4(c: Export, op: ov.Range4, start: Value, stop: Value, step: Value) -> Value:
    return _range(c, op.output_type, start, stop, step)


def _range(c: Export, element: ElementType, *bounds: Value) -> Value:
    """A Range of three scalars of one type, computed in a type that ONNX's Range supports."""
    chosen = element
    if element not in _RANGES:
        chosen = ElementType.I64 if element.is_integer else ElementType.F32
    # Cast the bounds to the final type first, because it determines how they are truncated.
    exact = [c.convert(c.as_scalar(bound), element) for bound in bounds]
    first, last, step = (c.convert(bound, chosen) for bound in exact)
    return c.convert(c.range(first, last, step), element)


@imports(onnx.Range, onnx.Range27)
def import_range(c: Import, op: onnx.Range, start: Value, limit: Value, delta: Value) -> Value:
    first, last, step = (c.as_scalar(value) for value in (start, limit, delta))
    return c.range(first, last, step, element_of(start))


@imports(onnx.ConstantOfShape)
def import_constant_of_shape(c: Import, op: onnx.ConstantOfShape, shape: Value) -> Value:
    """Write ConstantOfShape as Broadcast of a scalar, or as a constant if it is small."""
    number = 0 if op.value is None else op.value.numpy().reshape(-1)[0]
    sizes = ints(c, shape)
    if sizes is not None and min(sizes, default=1) > 0 and math.prod(sizes) <= MOST_FILLED:
        return c.constant(np.full(sizes, number), op.element)
    scalar = c.constant(number, op.element)
    if shape_of(shape).count() == 0:
        return scalar
    return c.broadcast(scalar, shape)


@exports(ov.Eye)
def export_eye(
    c: Export,
    op: ov.Eye,
    rows: Value,
    columns: Value,
    shift: Value,
    batch: Value | None = None,
) -> Value:
    """Write Eye as EyeLike of a matrix [rows, columns], and Expand it if there is a batch shape.

    If the shift is not constant, comparisons replace EyeLike, because its `k` is an attribute.
    """
    k = ints(c, shift)
    size = c.concat([c.as_list(rows), c.as_list(columns)], 0)
    if k is None:
        matrix = _eye_by(c, op.output_type, rows, columns, shift)
    else:
        blank = c.constant_of_shape(size, 0, op.output_type)
        matrix = c(onnx.EyeLike(op.output_type, k[0]), blank)
    if batch is None:
        return matrix
    shape = c.concat([c.as_list(batch), size], 0)
    return c.expand(matrix, shape)


def _eye_by(c: Export, element: ElementType, rows: Value, columns: Value, shift: Value) -> Value:
    """The matrix that is 1 where the row number plus the shift equals the column number."""
    counts = (c.as_scalar(c.as_i64(value)) for value in (rows, columns))
    down, across = (c.numbers_below(count) for count in counts)
    moved = c.add(down, c.as_list(shift))
    same = c.equal(c.unsqueeze(moved, [1]), across)
    return c.convert(same, element)


@imports(onnx.EyeLike)
def import_eye_like(c: Import, op: onnx.EyeLike, like: Value) -> Value:
    """Write EyeLike as Eye, or before opset9 as a comparison of row and column numbers.

    In the second case an element is 1 where the column number equals the row number plus k.
    """
    element = element_of(like) if op.dtype is None else op.dtype
    rows, columns = (c.size_of(like, axis) for axis in (0, 1))
    if c.opset >= 9:
        return c(ov.Eye(element), rows, columns, c.i64(op.k))
    down = c.numbers_below(rows)
    across = c.numbers_below(columns)
    diagonal = c.add(c.unsqueeze(down, [1]), c.i64(op.k))
    return c.convert_always(c.equal(across, diagonal), element)


@exports(ov.OneHot)
def export_one_hot(
    c: Export, op: ov.OneHot, indices: Value, depth: Value, on: Value, off: Value
) -> Value:
    """Write OneHot, with an index out of range in place of indices that may be negative.

    ONNX counts negative indices from the end, whereas they match no position in OpenVINO.
    """
    size = c.as_i64(depth)
    where = c.as_i64(indices)
    if not is_never_negative(where):
        where = c.select(c.less(where, c.i64(0)), size, where)
    return _one_hot(c, op.axis, where, size, on, off)


@exports(ov.OneHot16)
def export_one_hot_16(
    c: Export, op: ov.OneHot16, indices: Value, depth: Value, on: Value, off: Value
) -> Value:
    if op.negative_indices_mode.lower() != "normalize":
        return export_one_hot(c, ov.OneHot(op.axis), indices, depth, on, off)
    where = c.as_i64(indices)
    return _one_hot(c, op.axis, where, c.as_i64(depth), on, off)


def _one_hot(c: Export, axis: int, indices: Value, depth: Value, on: Value, off: Value) -> Value:
    values = c.concat([c.reshape(item, [1]) for item in (off, on)], 0)
    if shape_of(indices).rank == 0:
        # The ONNX operation has no scalar indices.
        row = _one_hot(c, -1, c.reshape(indices, [1]), depth, on, off)
        return c.squeeze(row, [0])
    element = element_of(on)
    # ONNX Runtime has kernels for these two types, with i64 indices and depth.
    wide = ElementType.I64 if element.is_integer else ElementType.F32
    if element is not ElementType.STRING:
        values = c.convert(values, wide)
    made = c(onnx.OneHot(axis), indices, c.as_scalar(depth), values)
    return c.convert(made, element)


@imports(onnx.OneHot)
def import_one_hot(
    c: Import, op: onnx.OneHot, indices: Value, depth: Value, values: Value
) -> Value:
    """Write OneHot-1; the depth is added first to indices that may be negative."""
    known = c.constant_of(depth)
    size = c.as_scalar(c.convert(depth, ElementType.I64))
    if known is not None:
        size = c.i64(int(known.reshape(-1)[0]))
    where = c.convert(indices, ElementType.I64)
    if not is_never_negative(where):
        where = c.from_the_end(where, size)
    off, on = (_item(c, values, at) for at in (0, 1))
    return c(ov.OneHot(op.axis), where, size, on, off)


def _item(c: Import, values: Value, index: int) -> Value:
    known = c.constant_of(values)
    if known is not None:
        return c.constant(known.reshape(-1)[index], element_of(values))
    return c.gather(c.reshape(values, [-1]), c.i64(index), 0)


@imports(onnx.HannWindow, onnx.HammingWindow, onnx.BlackmanWindow)
def import_window(
    c: Import, op: onnx.HannWindow | onnx.HammingWindow | onnx.BlackmanWindow, size: Value
) -> Value:
    """Write the window as a constant if its size is known, else compute it from cosines of a Range.

    The operation is HannWindow, HammingWindow or BlackmanWindow.
    """
    known = ints(c, size)
    if known is not None:
        import numpy as np

        array = op.kernel()(np.array(known[0]))
        return c.tensor(ArrayTensor(array, op.output_datatype))
    return _window(c, op, size)


_TERMS = {
    "Hann": (0.5, 0.5, 0.0),
    "Hamming": (25 / 46, 21 / 46, 0.0),
    "Blackman": (0.42, 0.5, 0.08),
}


def _window(
    c: Import, op: onnx.HannWindow | onnx.HammingWindow | onnx.BlackmanWindow, size: Value
) -> Value:
    element = ElementType.F64
    count = c.as_scalar(c.convert(size, ElementType.I64))
    numbers = c.convert_always(c.numbers_below(count), element)
    period = count if op.periodic else c.maximum(c.subtract(count, c.i64(1)), c.i64(1))
    turn = c.multiply(numbers, c.constant(2 * math.pi, element))
    angle = c.divide(turn, c.convert_always(period, element))
    first, second, third = _TERMS[op.function]
    wave = c(ov_elementwise.Cos(), angle)
    result = c.subtract(c.constant(first, element), c.multiply(wave, c.constant(second, element)))
    if third:
        double = c(ov_elementwise.Cos(), c.multiply(angle, c.constant(2, element)))
        result = c.add(result, c.multiply(double, c.constant(third, element)))
    return c.convert(result, op.output_datatype)


@imports(onnx.MelWeightMatrix)
def import_mel_weight_matrix(c: Import, op: onnx.MelWeightMatrix, *inputs: Value) -> Value:
    """Write MelWeightMatrix as a constant: its inputs are settings of a model and not data."""
    arrays = [c.constant_of(value) for value in inputs]
    if any(array is None for array in arrays):
        raise c.refuse("its inputs are computed while the model runs", "make them constants")
    return c.tensor(ArrayTensor(op.kernel()(*arrays), op.output_datatype))
