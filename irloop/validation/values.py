"""The texts of an IR as OpenVINO reads them: numbers, dimensions, shapes, element types."""

from __future__ import annotations

import re
from functools import lru_cache

from irloop.formats.openvino.integers import dim_integer, unsigned
from irloop.graph.types import ElementType

__all__ = [
    "ELEMENT_NAMES",
    "PRECISIONS",
    "dim_problem",
    "element_named",
    "element_of",
    "read_dims",
    "shape_problem",
    "show_dims",
    "static_shape",
]

Dims = tuple[int | None, ...]

_NAMES = """
    f32 f16 bf16 f64 i8 i16 i32 i64 u8 u16 u32 u64 boolean i4 u4 u1 u2 u3 u6 string nf4
    f8e4m3 f8e5m2 f8e8m0 f4e2m1 dynamic
"""
#: Canonical element type names, matched in any letter case in `data` attributes.
ELEMENT_NAMES: dict[str, ElementType] = {name: ElementType(name) for name in _NAMES.split()}
ELEMENT_NAMES["undefined"] = ElementType.DYNAMIC

_UPPER = """
    bf16 i64 i32 i16 i8 i4 u64 u32 u16 u8 u4 u3 u2 u6 u1 string nf4 f8e4m3 f8e5m2 f8e8m0 f4e2m1
"""
#: Names a port's `precision` may have; exactly these, letter case included.
PRECISIONS: dict[str, ElementType] = {
    **ELEMENT_NAMES,
    **{name.upper(): ElementType(name) for name in _UPPER.split()},
    "FP32": ElementType.F32,
    "FP16": ElementType.F16,
    "FP64": ElementType.F64,
    "BIN": ElementType.U1,
    "BOOL": ElementType.BOOLEAN,
    "UNSPECIFIED": ElementType.DYNAMIC,
}

#: No 64-bit number is longer; Python would spend quadratic time on a text of a million digits.
MOST_DIGITS = 20


def element_of(precision: str | None) -> ElementType | None:
    """The element type a port declares, or None when it declares none that is known."""
    found = None if precision is None else PRECISIONS.get(precision)
    return None if found is ElementType.DYNAMIC else found


def element_named(name: str | None) -> ElementType | None:
    """The element type a `data` attribute names, or None when it names none that is known."""
    found = None if name is None else ELEMENT_NAMES.get(name.lower())
    return None if found is ElementType.DYNAMIC else found


def dim_problem(text: str) -> str | None:
    """Why a `<dim>` cannot be read ("sloppy" when only its beginning is read); None when it can."""
    value = dim_integer(text)
    if value is not None:
        return None if re.fullmatch(r"\s*[+-]?\d+", text, re.ASCII) else "sloppy"
    if text == "":
        return "empty"
    if re.match(r"\s*-\d", text, re.ASCII):
        return "negative"
    return "too large" if re.match(r"\s*\+?\d", text, re.ASCII) else "no number"


@lru_cache(maxsize=4096)
def read_dims(texts: tuple[str, ...]) -> Dims | None:
    """Declared dimensions, None for each that is dynamic; None when one is malformed."""
    dims: list[int | None] = []
    for text in texts:
        value = dim_integer(text)
        if value is None:
            return None
        dims.append(None if value == -1 else value)
    return tuple(dims)


def show_dims(dims: Dims | None) -> str:
    """Dimensions as people write them: ``[2,?,4]``."""
    if dims is None:
        return "[...]"
    return "[" + ",".join("?" if dim is None else str(dim) for dim in dims) + "]"


@lru_cache(maxsize=4096)
def shape_problem(text: str) -> str | None:
    """Why the `shape` of a Parameter or Const is malformed; None when it is well-formed."""
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    if inner in ("", "..."):
        return None
    for item in (part.strip() for part in inner.split(",")):
        if item == "":
            return "an empty dimension"
        if len(item) > 2 * MOST_DIGITS:
            return "a dimension that is too large"
        if item in ("?", "-1") or (item.isdecimal() and item.isascii()):
            continue
        match = re.fullmatch(r"(\d*)\.\.(\d*)", item, re.ASCII)
        if match is None:
            return f"{item!r} is no dimension"
        low, high = match.groups()
        if low and high and int(low) > int(high):
            return f"the range {item} is empty"
        if not low and not high:
            return f"{item!r} is no dimension"
    return None


@lru_cache(maxsize=4096)
def static_shape(text: str | None) -> tuple[int, ...] | None:
    """The dimensions of a `shape` text when all are numbers, else None."""
    if text is None:
        return None
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    if not inner:
        return ()
    parts = [part.strip() for part in inner.split(",")]
    numbers = tuple(unsigned(part) for part in parts)
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(numbers) else None
