"""Half precision computed in single precision, as OpenVINO's CPU does with its f32 hint.

An IR of f16 or bf16 is mostly a compressed f32 model; its numbers are meant to be those of f32,
rounded once where they leave. ONNX states the precision of every operation, and gets it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import ml_dtypes
import numpy as np

from irloop.graph.op import Op
from irloop.graph.types import ElementType, SequenceType, TensorType, ValueType

__all__ = ["rounded", "widened", "widened_op", "widened_type"]

_HALF = (ElementType.F16, ElementType.BF16)
_DTYPES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def widened(value: Any) -> Any:
    """An array of half precision in single precision; anything else as it is."""
    if isinstance(value, list):
        return [widened(item) for item in value]
    if getattr(value, "dtype", None) in _DTYPES:
        return value.astype(np.float32)
    return value


def widened_type(found: ValueType) -> ValueType:
    """The type that a value has while it is computed with."""
    if isinstance(found, TensorType) and found.element in _HALF:
        return TensorType(ElementType.F32, found.shape)
    return found


def widened_op(op: Op) -> Op:
    """An operation that would make half precision, making single precision."""
    # Every subclass of Op is made a dataclass as it is defined; Op itself is none.
    if not op.pure:
        # Random bits become other numbers in another type.
        return op
    attributes: Any = op
    made = {item.name: getattr(op, item.name) for item in fields(attributes)}
    half = {name: ElementType.F32 for name, value in made.items() if value in _HALF}
    return type(op)(**{**made, **half}) if half else op


def rounded(value: Any, declared: ValueType) -> Any:
    """A value that leaves, in the precision that it is declared to have."""
    if isinstance(value, list) and isinstance(declared, SequenceType):
        return [rounded(item, declared.item) for item in value]
    if isinstance(declared, TensorType) and declared.element in _HALF and value is not None:
        # What half precision cannot hold becomes an infinity there.
        with np.errstate(over="ignore"):
            return np.asarray(value).astype(declared.element.numpy())
    return value
