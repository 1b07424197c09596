"""Converts to OpenVINO the ai.onnx.ml operations that compute numeric features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.conversion.classical_ml.lookup import looked_up
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import IMPORTS, imports, no_counterpart
from irloop.dialects.onnx import features as onnx
from irloop.dialects.onnx import labels
from irloop.dialects.openvino import comparison, elementwise
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType, element_type_of

__all__: list[str] = []

F32, F64 = ElementType.F32, ElementType.F64

#: Maximum number of class labels that a note lists.
_SHOWN = 8

no_counterpart(
    IMPORTS,
    labels.CategoryMapper,
    labels.LabelEncoder1,
    reason="its keys or its values are strings, which OpenVINO does not compute with",
    fix="encode and decode labels outside of the model",
)


@imports(onnx.ZipMap)
def import_zip_map(c: Import, op: onnx.ZipMap, rows: Value) -> Value:
    """Replace ZipMap by its input, because IR has no maps."""
    shown = ", ".join(map(str, op.labels[:_SHOWN])) + (", ..." if len(op.labels) > _SHOWN else "")
    c.warn(
        "CNV110",
        f"ZipMap is replaced by its input tensor, which has one column for each class ({shown})",
        "export the model with zipmap=False: the ONNX model then gives this tensor itself",
    )
    return rows


@imports(labels.LabelEncoder2, labels.LabelEncoder4)
def import_label_encoder(c: Import, op: labels.LabelEncoder2, data: Value) -> Value:
    """Write LabelEncoder of numbers: find the key that equals each element, and select its value.

    Equal compares each element with all keys along a new last axis. A Select puts the value of each
    equal key there and 0 elsewhere, and ReduceSum adds these up. Elements that equal no key get the
    default value. Values that are strings are gathered by their positions, which are selected like
    numbers. Keys that are strings are refused.
    """
    keys, values, default = op.table()
    if keys.dtype.kind == "O":
        raise c.refuse(
            "its keys are strings, which OpenVINO does not compare",
            "encode labels outside of the model",
        )
    if values.dtype.kind == "O":
        places = _encoded(c, data, keys, np.arange(len(keys)), len(keys))
        return looked_up(c, [*values.tolist(), str(default)], places)
    return _encoded(c, data, keys, values, default)


def _encoded(c: Import, data: Value, keys: Any, values: Any, default: Any) -> Value:
    """The number in `values` of the key that equals each element of `data`, or `default`."""
    # The last of equal keys counts. The order is reversed, so that it comes first.
    _, first = np.unique(keys[::-1], return_index=True)
    keys, values = keys[::-1][first], values[::-1][first]
    element = element_type_of(values.dtype)
    items = c.unsqueeze(data, [needed_rank(c, data)])
    known = c.constant(keys, element_of(data))
    hits = c.equal(items, known)
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        both = [c(comparison.NotEqual(), x, x) for x in (items, known)]
        hits = c(comparison.LogicalOr(), hits, c(comparison.LogicalAnd(), *both))
    zero = c.constant(0, element)
    picked = c.select(hits, c.constant(values, element), zero)
    found = c.reduce("Sum", picked, [-1], keep=False)
    any_hit = c.reduce("Or", hits, [-1], keep=False)
    return c.select(any_hit, found, c.constant(default, element))


def _in_float(c: Import, value: Value) -> Value:
    """Convert to f32, in which the operations of this module compute; f64 is left unchanged."""
    return value if element_of(value) is F64 else c.convert(value, F32)


def _list(c: Import, items: Sequence[float], like: Value) -> Value:
    return c.constant(list(items), element_of(like))


@imports(onnx.ArrayFeatureExtractor)
def import_extractor(
    c: Import, op: onnx.ArrayFeatureExtractor, data: Value, columns: Value
) -> Value:
    """ArrayFeatureExtractor -> Gather along the last axis."""
    rank = needed_rank(c, data)
    rows = data if rank > 1 else c.unsqueeze(data, [0])
    return c.gather(rows, c.reshape(columns, [-1]), max(rank, 2) - 1)


@imports(onnx.Binarizer)
def import_binarizer(c: Import, op: onnx.Binarizer, data: Value) -> Value:
    """Write Binarizer as Greater and Convert; for integers, the threshold is rounded down."""
    element = element_of(data)
    threshold = op.threshold if element.is_float else math.floor(op.threshold)
    above = c.greater(data, c.scalar(threshold, data))
    return c.convert_always(above, element)


@imports(onnx.Imputer)
def import_imputer(c: Import, op: onnx.Imputer, data: Value) -> Value:
    """Write Imputer as a Select that replaces the missing elements by the imputed values.

    Equal finds the elements to replace. NaN is found by NotEqual instead, because it differs from
    itself.
    """
    floats = element_of(data).is_float
    replaced = op.replaced_value_float if floats else op.replaced_value_int64
    if math.isnan(replaced):
        missing = c(comparison.NotEqual(), data, data)
    else:
        missing = c.equal(data, c.scalar(replaced, data))
    values = op.imputed_value_floats if floats else op.imputed_value_int64s
    return c.select(missing, _list(c, values, data), data)


@imports(onnx.Normalizer)
def import_normalizer(c: Import, op: onnx.Normalizer, data: Value) -> Value:
    """Write Normalizer as a Reduce* that computes the norm of each row, and a Divide by the norms.

    A Select replaces the norm of a row of zeros by 1.
    """
    wide, last = _in_float(c, data), [needed_rank(c, data) - 1]
    if op.norm == "MAX":
        length = c.reduce("Max", c(elementwise.Abs(), wide), last)
    else:
        length = c.reduce(op.norm, wide, last)
    zero, one = c.scalar(0.0, wide), c.scalar(1.0, wide)
    divisor = c.select(c.equal(length, zero), one, length)
    return c.convert(c.divide(wide, divisor), F32)


@imports(onnx.Scaler)
def import_scaler(c: Import, op: onnx.Scaler, data: Value) -> Value:
    """Scaler -> Subtract and Multiply."""
    wide = _in_float(c, data)
    moved = c.subtract(wide, _list(c, op.offset, wide))
    return c.convert(c.multiply(moved, _list(c, op.scale, wide)), F32)


@imports(onnx.FeatureVectorizer)
def import_vectorizer(c: Import, op: onnx.FeatureVectorizer, *inputs: Value) -> Value:
    """Write FeatureVectorizer as a Concat of its inputs, converted to f32.

    A Slice or Pad first gives each input the number of columns that the attribute `inputdimensions`
    demands.
    """
    parts = []
    for value, width in zip(inputs, op.inputdimensions, strict=True):
        rank = needed_rank(c, value)
        rows = c.unsqueeze(value, [0]) if rank == 1 else value
        have = shape_of(rows).dim(1)
        if rank not in (1, 2) or not isinstance(have, int):
            raise c.refuse("the widths of its inputs are not known", "declare their shapes")
        part = c.convert(rows, F32)
        if have > width:
            part = c.slice(part, [0], [width], [1])
        elif have < width:
            ends = c.i64([0, width - have])
            part = c.pad(part, c.i64([0, 0]), ends, c.scalar(0.0, part))
        parts.append(part)
    return c.concat(parts, 1)


@imports(onnx.OneHotEncoder)
def import_encoder(c: Import, op: onnx.OneHotEncoder, data: Value) -> Value:
    """Write OneHotEncoder of numbers as Equal with each category, and convert the result to f32.

    An element without a category gives a row of zeros, even where ONNX demands an error (`zeros` is
    0): like an index outside of a tensor, it is not an input that the model is for.
    """
    if op.cats_strings:
        raise c.refuse("OpenVINO does not compute with strings", "encode outside of the model")
    items = c.unsqueeze(c.convert(data, ElementType.I64), [needed_rank(c, data)])
    return c.convert_always(c.equal(items, c.i64(list(op.cats_int64s))), F32)
