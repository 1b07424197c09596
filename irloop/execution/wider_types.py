"""Floating point computed in a wider type than the model names.

OpenVINO's CPU computes half precision in single precision with its f32 hint: an IR of f16 or bf16
is mostly a compressed f32 model, and its numbers are meant to be those of f32, rounded once where
they leave. ONNX states the precision of every operation, and gets it. Double precision for
everything is what the error of an engine is measured against.
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

#: Which element type is computed in which other one.
Wider = Mapping[ElementType, ElementType]

NONE: Wider = {}
SINGLE: Wider = {ElementType.F16: ElementType.F32, ElementType.BF16: ElementType.F32}
DOUBLE: Wider = {
    ElementType.F16: ElementType.F64,
    ElementType.BF16: ElementType.F64,
    ElementType.F32: ElementType.F64,
}


def widened(value: Any, wider: Wider) -> Any:
    """An array in the type that it is computed in."""
    if isinstance(value, list):
        return [widened(item, wider) for item in value]
    element = _ELEMENTS.get(getattr(value, "dtype", None))
    wide = None if element is None else wider.get(element)
    return value if wide is None else value.astype(wide.numpy())


def widened_type(found: ValueType, wider: Wider) -> ValueType:
    """The type that a value has while it is computed with."""
    if isinstance(found, TensorType) and found.element in wider:
        return TensorType(wider[found.element], found.shape)
    return found


def widened_op(op: Op, wider: Wider) -> Op:
    """An operation that would make a narrow type, making the wider one."""
    # Every subclass of Op is made a dataclass as it is defined; Op itself is none.
    if not op.pure:
        # Random bits become other numbers in another type.
        return op
    attributes: Any = op
    made = {item.name: getattr(op, item.name) for item in fields(attributes)}
    wide = {
        name: wider[value]
        for name, value in made.items()
        if isinstance(value, ElementType) and value in wider
    }
    return type(op)(**{**made, **wide}) if wide else op


def rounded(value: Any, declared: ValueType, wider: Wider) -> Any:
    """A value that leaves, in the precision that it is declared to have."""
    if isinstance(value, list) and isinstance(declared, SequenceType):
        return [rounded(item, declared.item, wider) for item in value]
    if isinstance(declared, TensorType) and declared.element in wider and value is not None:
        # What half precision cannot hold becomes an infinity there.
        with np.errstate(over="ignore"):
            return np.asarray(value).astype(declared.element.numpy())
    return value
