"""Parses and formats the types in an IR: element types, dimensions, shapes.

Which texts are valid, and what they mean, was measured with OpenVINO 2026.4. The reader and the
validation rules ask this module why a text is invalid, so both report the same reason.
"""

from __future__ import annotations

import re
from functools import lru_cache

from irloop.formats.openvino.numbers import dim_integer, unsigned
from irloop.graph.types import (
    LARGEST_RANK,
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    Dim,
    DynamicDim,
    ElementType,
    Shape,
)

__all__ = [
    "ELEMENT_NAMES",
    "PRECISIONS",
    "PRECISION_NAMES",
    "dim_problem",
    "element_of_name",
    "element_of_precision",
    "parameter_shape",
    "parse_dim",
    "parse_shape",
    "precision_of",
    "read_dims",
    "shape_problem",
    "shape_text",
    "show_dims",
    "static_shape",
]

Dims = tuple[int | None, ...]

# --- element types

#: Types of ONNX or irloop without a name in OpenVINO.
_NOT_IN_IR = {
    ElementType.I2,
    ElementType.C64,
    ElementType.C128,
    ElementType.F8E4M3FNUZ,
    ElementType.F8E5M2FNUZ,
}
#: Element types by their name in a `data` attribute, which is case-insensitive.
ELEMENT_NAMES: dict[str, ElementType] = {
    element.value: element for element in ElementType if element not in _NOT_IN_IR
}
#: The `precision` that the writer gives a port; even the first runtimes for version 10 know these
#: names.
PRECISION_NAMES: dict[ElementType, str] = {
    element: name.upper() for name, element in ELEMENT_NAMES.items()
} | {
    ElementType.F32: "FP32",
    ElementType.F16: "FP16",
    ElementType.F64: "FP64",
    ElementType.BOOLEAN: "BOOL",
    ElementType.DYNAMIC: "UNSPECIFIED",
}
ELEMENT_NAMES["undefined"] = ElementType.DYNAMIC
#: Element types by the `precision` of a port, which is case-sensitive.
PRECISIONS: dict[str, ElementType] = (
    {name: element for element, name in PRECISION_NAMES.items()}
    | ELEMENT_NAMES
    | {"BIN": ElementType.U1}
)


def element_of_precision(name: str | None) -> ElementType | None:
    """The element type that an IR calls `name` in a `precision`; None if there is no such type."""
    return None if name is None else PRECISIONS.get(name)


def element_of_name(name: str | None) -> ElementType | None:
    """Return the element type called `name` in the IR, or None if there is none.

    For example, "f32" and "F32" both name F32, because the case of the letters does not matter.
    """
    return None if name is None else ELEMENT_NAMES.get(name.lower())


def precision_of(element: ElementType) -> str | None:
    """The `precision` of a port, or None if IR has no name for the type."""
    return PRECISION_NAMES.get(element)


# --- dimensions

_WHOLE = re.compile(r"\s*[+-]?\d+", re.ASCII)


def parse_dim(text: str) -> Dim | None:
    """The dimension in a `<dim>`: a number, or -1 for unknown; None for an invalid text."""
    value = dim_integer(text)
    return UNKNOWN_DIM if value == -1 else value


def dim_problem(text: str) -> str | None:
    """Return the reason why a `<dim>` cannot be read, or None if it can be read.

    The reason is "sloppy" if only the beginning of the text is a number.
    """
    value = dim_integer(text)
    if value is not None:
        return None if _WHOLE.fullmatch(text) else "sloppy"
    if text == "":
        return "empty"
    if re.match(r"\s*-\d", text, re.ASCII):
        return "negative"
    return "too large" if re.match(r"\s*\+?\d", text, re.ASCII) else "no number"


@lru_cache(maxsize=4096)
def read_dims(texts: tuple[str, ...]) -> Dims | None:
    """Convert the texts of the dimensions of a port; an unknown dimension becomes None.

    The result is None instead of a tuple if the text of any dimension is malformed.
    """
    dims: list[int | None] = []
    for text in texts:
        value = dim_integer(text)
        if value is None:
            return None
        dims.append(None if value == -1 else value)
    return tuple(dims)


def show_dims(dims: Dims | None) -> str:
    """Dimensions for messages: ``[2,?,4]``."""
    if dims is None:
        return "[...]"
    return "[" + ",".join("?" if dim is None else str(dim) for dim in dims) + "]"


# --- shapes

_RANGE = re.compile(r"(\d*)\.\.(\d*)", re.ASCII)
#: A negative size other than -1.
_BELOW = re.compile(r"(?<![^\s,\[])-(?!1\b)\d{1,18}(?=\s*(?:,|\]|$))", re.ASCII)


def parse_shape(text: str) -> Shape | None:
    """Parse a shape such as ``1, 2``, ``[1,2]``, ``?``, ``1..5`` or ``...``.

    An empty text is the shape of a scalar. The result is None if the text is not a shape.
    """
    found = _shape(text)
    return found if isinstance(found, Shape) else None


def shape_problem(text: str) -> str | None:
    """The reason why a shape text is malformed; None if it is well-formed."""
    found = _shape(text)
    return found if isinstance(found, str) else None


def parameter_shape(text: str) -> Shape | None:
    """The shape of a Parameter, in which a number below -1 means 0, as in OpenVINO 2026.4."""
    return parse_shape(_BELOW.sub("0", text))


@lru_cache(maxsize=4096)
def static_shape(text: str | None) -> tuple[int, ...] | None:
    """The dimensions that a shape string lists, if all of them are numbers, else None."""
    shape = None if text is None else parse_shape(text)
    return None if shape is None else shape.static()


@lru_cache(maxsize=4096)
def _shape(text: str) -> Shape | str:
    """Parse the text of a shape; return the shape, or the reason why the text is invalid."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    if not text:
        return Shape(())
    if text == "...":
        return UNKNOWN_SHAPE
    dims: list[Dim] = []
    for item in text.split(","):
        dim = _shape_dim(item.strip())
        if isinstance(dim, str):
            return dim
        dims.append(dim)
    if len(dims) > LARGEST_RANK:
        return f"{len(dims)} dimensions, at most {LARGEST_RANK}"
    return Shape(tuple(dims))


def _shape_dim(text: str) -> Dim | str:
    if text in ("?", "-1"):
        return UNKNOWN_DIM
    if text == "":
        return "an empty dimension"
    if len(text) > _MOST_SHOWN:
        return "a dimension that is too large"
    if text.isdecimal() and text.isascii():
        value = unsigned(text)
        return "a dimension that is too large" if value is None else value
    match = _RANGE.fullmatch(text)
    if match is None:
        return f"{text!r} is not a dimension"
    low, high = (unsigned(bound) if bound else None for bound in match.groups())
    if (low is None and match.group(1)) or (high is None and match.group(2)):
        return "a dimension that is too large"
    if high is None:
        return DynamicDim(low or 0, None)
    if high < (low or 0):
        return f"the range {text} is empty"
    return high if high == low else DynamicDim(low or 0, high)


#: Maximum number of characters of a dimension: two 64-bit integers and two dots between them.
_MOST_SHOWN = 42


def shape_text(shape: Shape) -> str:
    """Return a shape as the string of an XML attribute, such as "1,3,?,?".

    The string is "..." if the rank is unknown.
    """
    if shape.dims is None:
        return "..."
    return ",".join(map(_dim_text, shape.dims))


def _dim_text(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim)
    if dim.low == 0 and dim.high is None:
        return "?"
    return f"{dim.low or ''}..{'' if dim.high is None else dim.high}"
