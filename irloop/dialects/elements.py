"""Checks the element types of inputs against those that an engine allows.

OpenVINO and ONNX Runtime refuse to load a model in two cases: if an input has a type that the
definition of its operation does not list, or if two inputs that share a type parameter have
different types. The listed types and the type parameters are in `Op.operands`: a type, or one of
the words any, number, small, float and integer. The words have the meaning that they have in
OpenVINO.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.attributes import Operand, operands_of
from irloop.graph.arguments import Arguments
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from irloop.graph.wellformed import Misfit

__all__ = ["EVERY", "PLAIN", "check_elements", "misfit"]

#: The numbers and booleans of the first version of ONNX.
PLAIN = "boolean | f16 | f32 | f64 | i8 | i16 | i32 | i64 | u8 | u16 | u32 | u64"

#: All element types of the first version of ONNX.
EVERY = f"{PLAIN} | c64 | c128 | string"

#: Files of IR have no complex numbers. Conversion from ONNX refuses them in its own words.
_COMPLEX = frozenset({ElementType.C64, ElementType.C128})
#: Numbers that most operations of OpenVINO only move and convert.
_STORED = frozenset(map(ElementType, ("u1", "u2", "u3", "u6", "nf4", "f4e2m1")))
_NUMBERS = frozenset(item for item in ElementType if item.is_float or item.is_integer) - _STORED
#: OpenVINO misreads indices that share a byte.
_WORDS = {
    "any": frozenset(ElementType),
    "number": _NUMBERS | _COMPLEX,
    "small": frozenset(map(ElementType, ("u2", "nf4", "f4e2m1"))),
    "float": frozenset(item for item in _NUMBERS if item.is_float),
    "integer": frozenset(item for item in _NUMBERS if item.is_integer and item.bits >= 8),
}


def _allowed(types: str) -> frozenset[ElementType]:
    allowed: frozenset[ElementType] = frozenset()
    for item in types.split(" | "):
        allowed |= _WORDS[item] if item in _WORDS else {ElementType(item)}
    return allowed


_KNOWN: dict[type[Op], list[tuple[Operand, frozenset[ElementType]]]] = {}


def _inputs(cls: type[Op]) -> list[tuple[Operand, frozenset[ElementType]]]:
    """The inputs of a class, each with the element types that it may have."""
    if cls not in _KNOWN:
        _KNOWN[cls] = [(item, _allowed(item.types)) for item in operands_of(cls)[0]]
    return _KNOWN[cls]


def misfit(cls: type[Op], elements: Sequence[ElementType], engine: str) -> Misfit | None:
    """Find the first of the inputs whose element type `engine` refuses; None if it accepts all.

    `elements` has the element type of each input: DYNAMIC if the input is omitted or its type is
    unknown.
    """
    inputs = _inputs(cls)
    bound: dict[str, tuple[str, ElementType]] = {}
    for position, element in enumerate(elements if inputs else ()):
        if element is ElementType.DYNAMIC:
            continue
        operand, allowed = inputs[min(position, len(inputs) - 1)]
        if element not in allowed:
            message = f"{engine} refuses this element type for {operand.name!r}"
            return Misfit(message, operand.types, str(element), "elements")
        if not operand.variable:
            continue
        name, first = bound.setdefault(operand.variable, (operand.name, element))
        if first is not element:
            message = f"{name!r} and {operand.name!r} differ in element type"
            return Misfit(message, str(first), str(element), "elements")
    return None


def check_elements(args: Arguments, cls: type[Op], engine: str) -> None:
    """Check that `engine` accepts the element types of all inputs of a node.

    Raises:
        InferenceError: when it refuses one.
    """
    places = range(len(args))
    elements = [args.element(at) if args.has(at) else ElementType.DYNAMIC for at in places]
    wrong = misfit(cls, elements, engine)
    if wrong is not None:
        raise args.error(wrong.message, wrong.expected, wrong.found, kind=wrong.kind)
