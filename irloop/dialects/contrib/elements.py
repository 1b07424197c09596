"""Checks the element types of inputs against those that ONNX Runtime allows.

ONNX Runtime refuses to load a model in two cases: if an input has a type that the definition of its
operation does not list, or if two inputs that share a type parameter have different types. The
listed types and the type parameters are in `Op.operands`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from irloop.dialects.attributes import Operand, operands_of
from irloop.graph.op import Op
from irloop.graph.types import ElementType

__all__ = ["EVERY", "PLAIN", "Misfit", "misfit"]

#: The numbers and booleans of the first version of ONNX.
PLAIN = "boolean | f16 | f32 | f64 | i8 | i16 | i32 | i64 | u8 | u16 | u32 | u64"

#: All element types of the first version of ONNX.
EVERY = f"{PLAIN} | c64 | c128 | string"


_KNOWN: dict[type[Op], list[tuple[Operand, frozenset[str]]]] = {}


def _inputs(cls: type[Op]) -> list[tuple[Operand, frozenset[str]]]:
    """The inputs of a class, each with the names of the element types that it may have."""
    if cls not in _KNOWN:
        inputs, _ = operands_of(cls)
        _KNOWN[cls] = [(item, frozenset(item.types.split(" | "))) for item in inputs]
    return _KNOWN[cls]


class Misfit(NamedTuple):
    """An element type that ONNX Runtime refuses, and the types that it accepts instead."""

    message: str
    expected: str
    found: str

    @property
    def reason(self) -> str:
        """The message, the element type that was found and those that are allowed, on one line."""
        return f"{self.message}: {self.found}, not {self.expected}"


def misfit(cls: type[Op], elements: Sequence[ElementType]) -> Misfit | None:
    """Find the first of the inputs whose element type ONNX Runtime refuses; None if it accepts all.

    `elements` has the element type of each input: DYNAMIC if the input is omitted or its type is
    unknown.
    """
    inputs = _inputs(cls)
    bound: dict[str, tuple[str, ElementType]] = {}
    for position, element in enumerate(elements):
        if element is ElementType.DYNAMIC:
            continue
        operand, allowed = inputs[min(position, len(inputs) - 1)]
        if str(element) not in allowed:
            message = f"ONNX Runtime refuses this element type for {operand.name!r}"
            return Misfit(message, operand.types, str(element))
        if not operand.variable:
            continue
        name, first = bound.setdefault(operand.variable, (operand.name, element))
        if first is not element:
            message = f"{name!r} and {operand.name!r} differ in element type"
            return Misfit(message, str(first), str(element))
    return None
