"""Converts ranges, fills, one-hot codes and windows."""

from __future__ import annotations

import math

from irloop.conversion.forms import onnx_forms, openvino_forms
from irloop.conversion.framework.known_inputs import ints
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.dialects.onnx import generate as onnx
from irloop.dialects.openvino import elementwise as ov_elementwise
from irloop.dialects.openvino import generate as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType

__all__: list[str] = []

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
def export_range(c: Conversion, op: ov.Range, start: Value, stop: Value, step: Value) -> Value:
    return _range(c, element_of(start), start, stop, step)


@exports(ov.Range4)
def export_range_4(c: Conversion, op: ov.Range4, start: Value, stop: Value, step: Value) -> Value:
    return _range(c, op.output_type, start, stop, step)


def _range(c: Conversion, element: ElementType, *bounds: Value) -> Value:
    """A Range of three scalars of one type, computed in a type that ONNX's Range supports."""
    chosen = element
    if element not in _RANGES:
        chosen = ElementType.I64 if element.is_integer else ElementType.F32
    # Cast the bounds to the final type first, because it determines how they are truncated.
    exact = [onnx_forms.convert(c, onnx_forms.as_scalar(c, bound), element) for bound in bounds]
    first, last, step = (onnx_forms.convert(c, bound, chosen) for bound in exact)
    return onnx_forms.convert(c, onnx_forms.range_(c, first, last, step), element)


@imports(onnx.Range, onnx.Range27)
def import_range(c: Conversion, op: onnx.Range, start: Value, limit: Value, delta: Value) -> Value:
    first, last, step = (openvino_forms.as_scalar(c, value) for value in (start, limit, delta))
    return openvino_forms.range_(c, first, last, step, element_of(start))


@imports(onnx.ConstantOfShape)
def import_constant_of_shape(c: Conversion, op: onnx.ConstantOfShape, shape: Value) -> Value:
    """Write ConstantOfShape as Broadcast of a scalar, or as the scalar if the result has rank 0."""
    number = 0 if op.value is None else op.value.numpy().reshape(-1)[0]
    scalar = c.constant(number, op.element)
    if shape_of(shape).count() == 0:
        return scalar
    return openvino_forms.broadcast(c, scalar, shape)


@exports(ov.Eye)
def export_eye(
    c: Conversion,
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
    size = onnx_forms.concat(c, [onnx_forms.as_list(c, rows), onnx_forms.as_list(c, columns)], 0)
    if k is None:
        matrix = _eye_by(c, op.output_type, rows, columns, shift)
    else:
        blank = onnx_forms.constant_of_shape(c, size, 0, op.output_type)
        matrix = c(onnx.EyeLike(op.output_type, k[0]), blank)
    if batch is None:
        return matrix
    shape = onnx_forms.concat(c, [onnx_forms.as_list(c, batch), size], 0)
    return onnx_forms.expand(c, matrix, shape)


def _eye_by(
    c: Conversion, element: ElementType, rows: Value, columns: Value, shift: Value
) -> Value:
    """The matrix that is 1 where the row number plus the shift equals the column number."""
    counts = (onnx_forms.as_scalar(c, onnx_forms.as_i64(c, value)) for value in (rows, columns))
    down, across = (onnx_forms.range_(c, c.i64(0), count, c.i64(1)) for count in counts)
    moved = onnx_forms.add(c, down, onnx_forms.as_list(c, shift))
    same = onnx_forms.equal(c, onnx_forms.unsqueeze(c, moved, [1]), across)
    return onnx_forms.convert(c, same, element)


@imports(onnx.EyeLike)
def import_eye_like(c: Conversion, op: onnx.EyeLike, like: Value) -> Value:
    """Write EyeLike as Eye, or before opset9 as a comparison of row and column numbers.

    In the second case an element is 1 where the column number equals the row number plus k.
    """
    element = element_of(like) if op.dtype is None else op.dtype
    rows, columns = (openvino_forms.size_of(c, like, axis) for axis in (0, 1))
    if c.opset >= 9:
        return c(ov.Eye(element), rows, columns, c.i64(op.k))
    down = openvino_forms.range_(c, c.i64(0), rows, c.i64(1))
    across = openvino_forms.range_(c, c.i64(0), columns, c.i64(1))
    diagonal = openvino_forms.add(c, openvino_forms.unsqueeze(c, down, [1]), c.i64(op.k))
    return openvino_forms.convert_always(c, openvino_forms.equal(c, across, diagonal), element)


@exports(ov.OneHot)
def export_one_hot(
    c: Conversion, op: ov.OneHot, indices: Value, depth: Value, on: Value, off: Value
) -> Value:
    """Write OneHot, with an index out of range in place of negative indices.

    ONNX counts negative indices from the end, whereas they match no position in OpenVINO.
    """
    size = onnx_forms.as_i64(c, depth)
    where = onnx_forms.as_i64(c, indices)
    outside = onnx_forms.select(c, onnx_forms.less(c, where, c.i64(0)), size, where)
    return _one_hot(c, op.axis, outside, size, on, off)


@exports(ov.OneHot16)
def export_one_hot_16(
    c: Conversion, op: ov.OneHot16, indices: Value, depth: Value, on: Value, off: Value
) -> Value:
    if op.negative_indices_mode.lower() != "normalize":
        return export_one_hot(c, ov.OneHot(op.axis), indices, depth, on, off)
    where = onnx_forms.as_i64(c, indices)
    return _one_hot(c, op.axis, where, onnx_forms.as_i64(c, depth), on, off)


def _one_hot(
    c: Conversion, axis: int, indices: Value, depth: Value, on: Value, off: Value
) -> Value:
    values = onnx_forms.concat(c, [onnx_forms.reshape(c, item, [1]) for item in (off, on)], 0)
    if shape_of(indices).rank == 0:
        # The ONNX operation has no scalar indices.
        row = _one_hot(c, -1, onnx_forms.reshape(c, indices, [1]), depth, on, off)
        return onnx_forms.squeeze(c, row, [0])
    element = element_of(on)
    # ONNX Runtime has kernels for these two types, with i64 indices and depth.
    wide = ElementType.I64 if element.is_integer else ElementType.F32
    if element is not ElementType.STRING:
        values = onnx_forms.convert(c, values, wide)
    made = c(onnx.OneHot(axis), indices, onnx_forms.as_scalar(c, depth), values)
    return onnx_forms.convert(c, made, element)


@imports(onnx.OneHot)
def import_one_hot(
    c: Conversion, op: onnx.OneHot, indices: Value, depth: Value, values: Value
) -> Value:
    """Write OneHot-1; the depth is added to negative indices first."""
    known = c.constant_of(depth)
    size = openvino_forms.as_scalar(c, openvino_forms.convert(c, depth, ElementType.I64))
    if known is not None:
        size = c.i64(int(known.reshape(-1)[0]))
    where = openvino_forms.convert(c, indices, ElementType.I64)
    negative = openvino_forms.less(c, where, c.i64(0))
    where = openvino_forms.select(c, negative, openvino_forms.add(c, where, size), where)
    off, on = (_item(c, values, at) for at in (0, 1))
    return c(ov.OneHot(op.axis), where, size, on, off)


def _item(c: Conversion, values: Value, at: int) -> Value:
    known = c.constant_of(values)
    if known is not None:
        return c.constant(known.reshape(-1)[at], element_of(values))
    return openvino_forms.gather(c, openvino_forms.reshape(c, values, [-1]), c.i64(at), 0)


@imports(onnx.HannWindow, onnx.HammingWindow, onnx.BlackmanWindow)
def import_window(
    c: Conversion, op: onnx.HannWindow | onnx.HammingWindow | onnx.BlackmanWindow, size: Value
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
    c: Conversion, op: onnx.HannWindow | onnx.HammingWindow | onnx.BlackmanWindow, size: Value
) -> Value:
    f, element = openvino_forms, ElementType.F64
    count = f.as_scalar(c, f.convert(c, size, ElementType.I64))
    numbers = f.convert_always(c, f.range_(c, c.i64(0), count, c.i64(1)), element)
    period = count if op.periodic else f.maximum(c, f.subtract(c, count, c.i64(1)), c.i64(1))
    turn = f.multiply(c, numbers, c.constant(2 * math.pi, element))
    angle = f.divide(c, turn, f.convert_always(c, period, element))
    first, second, third = _TERMS[op.function]
    wave = c(ov_elementwise.Cos(), angle)
    result = f.subtract(
        c, c.constant(first, element), f.multiply(c, wave, c.constant(second, element))
    )
    if third:
        double = c(ov_elementwise.Cos(), f.multiply(c, angle, c.constant(2, element)))
        result = f.add(c, result, f.multiply(c, double, c.constant(third, element)))
    return f.convert(c, result, op.output_datatype)


@imports(onnx.MelWeightMatrix)
def import_mel_weight_matrix(c: Conversion, op: onnx.MelWeightMatrix, *inputs: Value) -> Value:
    """Write MelWeightMatrix as a constant: its inputs are settings of a model and not data."""
    arrays = [c.constant_of(value) for value in inputs]
    if any(array is None for array in arrays):
        raise c.refuse("its inputs are computed while the model runs", "make them constants")
    return c.tensor(ArrayTensor(op.kernel()(*arrays), op.output_datatype))
