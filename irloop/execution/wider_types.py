"""Computes floating-point operations in a wider type than the model declares.

There are two uses. First, OpenVINO's CPU plugin with its f32 hint computes half precision in single
precision: an IR of f16 or bf16 is usually a compressed f32 model, and its outputs are those of the
f32 model, rounded once. Second, double precision for everything is the reference for the error of
an engine. ONNX models normally run in the types that they declare, because ONNX defines the
precision of every operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import ml_dtypes
import numpy as np

from irloop.graph.op import Op
from irloop.graph.types import ElementType, SequenceType, TensorType, ValueType

__all__ = ["DOUBLE", "NONE", "SINGLE", "Wider", "rounded", "widened", "widened_op", "widened_type"]

_ELEMENTS = {
    np.dtype(np.float16): ElementType.F16,
    np.dtype(ml_dtypes.bfloat16): ElementType.BF16,
    np.dtype(np.float32): ElementType.F32,
}

#: For each element type, the type to compute it in.
Wider = Mapping[ElementType, ElementType]

NONE: Wider = {}
SINGLE: Wider = {ElementType.F16: ElementType.F32, ElementType.BF16: ElementType.F32}
DOUBLE: Wider = {
    ElementType.F16: ElementType.F64,
    ElementType.BF16: ElementType.F64,
    ElementType.F32: ElementType.F64,
}


def widened(value: Any, wider: Wider) -> Any:
    """Convert an array, or the arrays in a list, to the element types that `wider` gives.

    An array whose type is not in `wider` is returned unchanged.
    """
    if isinstance(value, list):
        return [widened(item, wider) for item in value]
    element = _ELEMENTS.get(getattr(value, "dtype", None))
    wide = None if element is None else wider.get(element)
    return value if wide is None else value.astype(wide.numpy())


def widened_type(declared: ValueType, wider: Wider) -> ValueType:
    """The type in which a value is computed: a wider one for narrow floats, else its own."""
    if isinstance(declared, TensorType) and declared.element in wider:
        return TensorType(wider[declared.element], declared.shape)
    return declared


def widened_op(op: Op, wider: Wider) -> Op:
    """Replace narrow element types in the attributes of an operation by the wider types.

    An operation without such attributes is returned unchanged, and so is one that is not pure.
    """
    if not op.pure:
        # Random operations keep their type, because the same random bits result in other values in
        # another type.
        return op
    # The type checker sees only Op, which is no dataclass; every subclass is one.
    attributes: Any = op
    made = {item.name: getattr(op, item.name) for item in fields(attributes)}
    wide = {
        name: wider[value]
        for name, value in made.items()
        if isinstance(value, ElementType) and value in wider
    }
    return type(op)(**{**made, **wide}) if wide else op


def rounded(value: Any, declared: ValueType, wider: Wider) -> Any:
    """Round an output to the element type that its model declares.

    Only outputs of the types in `wider` are rounded, because only these are computed in a wider
    type.
    """
    if isinstance(value, list) and isinstance(declared, SequenceType):
        return [rounded(item, declared.item, wider) for item in value]
    if isinstance(declared, TensorType) and declared.element in wider and value is not None:
        # Values beyond the range of half precision become infinite.
        with np.errstate(over="ignore"):
            return np.asarray(value).astype(declared.element.numpy())
    return value
