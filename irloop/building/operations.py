"""Makes an operation from its type, the opset and the attributes of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irloop.dialects.attributes import Attribute, attributes_of
from irloop.errors import UsageError, did_you_mean
from irloop.graph.op import Op, Registry
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import Dim, DynamicDim, Shape, element_named, element_type_of

__all__ = ["make_op", "shape_of"]


def make_op(
    registry: Registry, type: str, opset: int, domain: str, attributes: Mapping[str, Any]
) -> Op:
    """Make the operation `type` of `opset`, and check its attributes.

    Attributes have the names of the file or of the fields of the class.

    Raises:
        UsageError: for an operation that the opset lacks, or an attribute that is missing, unknown
            or out of range.
    """
    cls = registry.find(type, opset, domain)
    if cls is None:
        raise _no_class(registry, type, opset, domain)
    known = dict(zip(cls._fields, attributes_of(cls).values(), strict=True))
    by_name = {item.name: field for field, item in known.items()}
    typed: dict[str, Any] = {}
    for name, value in attributes.items():
        field = name if name in known else by_name.get(name)
        if field is None:
            raise UsageError(
                f"{cls.type}-{cls.since} has no attribute {name!r}",
                expected=", ".join(by_name) or "no attributes",
                found=name,
            )
        typed[field] = _converted(f"{cls.type}-{cls.since}", known[field], value)
    for field, attribute in known.items():
        if field not in typed and field not in cls._defaults and field not in cls._factories:
            raise UsageError(
                f"{cls.type}-{cls.since} needs the attribute {attribute.name!r}",
                expected=attribute.description,
                found="nothing",
                fix=f"add {field}=... to the call",
            )
    return cls(**typed)


def _no_class(registry: Registry, type: str, opset: int, domain: str) -> UsageError:
    versions = registry.versions(type, domain)
    if versions:
        return UsageError(
            f"{type} does not exist in opset {opset}",
            expected=f"an opset from {versions[0].since}"
            + (f" to {versions[-1].until}" if versions[-1].until else ""),
            found=str(opset),
            fix=f"build the model with opset={versions[0].since}",
        )
    names = sorted({cls.type for cls in registry.all() if cls.domain == domain})
    return UsageError(
        f"there is no operation {type!r}" + (f" in the domain {domain!r}" if domain else ""),
        expected="a name of `irloop ops`",
        found=type,
        fix=did_you_mean(type, names),
    )


def _converted(label: str, attribute: Attribute, value: Any) -> Any:
    """Convert the value of an attribute to the type of its field.

    Raises:
        UsageError: when the value has another type, or is out of range.
    """
    if value is None and not attribute.required:
        return None
    typed = _of_kind(attribute.kind, value)
    numbers = typed if isinstance(typed, tuple) else (typed,)
    low, high = attribute.least, attribute.most
    least, most = attribute.entries
    fits = typed is not None and all(
        (low is None or number >= low) and (high is None or number <= high)
        for number in numbers
        if isinstance(number, int | float)
    )
    if isinstance(typed, tuple):
        fits = fits and least <= len(typed) and (most is None or len(typed) <= most)
    if attribute.words and fits:
        texts = [str(item).lower() for item in numbers]
        fits = all(text in {word.lower() for word in attribute.words} for text in texts)
    if not fits:
        raise UsageError(
            f"{label}: the value of {attribute.name!r} is invalid",
            expected=attribute.description,
            found=f"{value!r:.60}",
        )
    return typed


def _of_kind(kind: str, value: Any) -> Any:
    """Convert a value to the type of an attribute; None if that is impossible."""
    if kind == "bool":
        return bool(value) if value in (0, 1) else None
    if kind == "int":
        return int(value) if isinstance(value, bool) else _int(value)
    if kind == "float":
        return _float(value)
    if kind in ("word", "text"):
        return _text(value)
    if kind == "element":
        return element_named(value)
    if kind == "shape":
        return shape_of(value)
    if kind == "tensor":
        return _tensor(value)
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return None
    one = {"ints": _int, "floats": _float, "names": _text}[kind]
    items = tuple(one(item) for item in value)
    return None if any(item is None for item in items) else items


def _int(value: Any) -> int | None:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    return int(value)


def _float(value: Any) -> float | None:
    return float(value) if _int(value) is not None or isinstance(value, float) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _tensor(value: Any) -> Tensor | None:
    import numpy as np

    if isinstance(value, Tensor):
        return value
    if not isinstance(value, np.ndarray | np.generic):
        return None
    array = np.asarray(value)
    return ArrayTensor(array, element_type_of(array.dtype))


def shape_of(sizes: Any) -> Shape:
    """Convert a list of sizes to a shape; None means an unknown rank.

    In the list, None is an unknown size, a string is the name of an unknown size, and a
    `DynamicDim` is a range.

    Raises:
        UsageError: for anything else.
    """
    if sizes is None:
        return Shape(None)
    if isinstance(sizes, Shape):
        return sizes
    if isinstance(sizes, str | bytes) or not hasattr(sizes, "__iter__"):
        raise UsageError(
            "a shape must be a list of sizes", expected="such as [1, None]", found=repr(sizes)
        )
    return Shape(tuple(_dim(item) for item in sizes))


def _dim(size: Any) -> Dim:
    if size is None:
        return DynamicDim()
    if isinstance(size, DynamicDim):
        return size
    if isinstance(size, str):
        return DynamicDim(symbol=size)
    number = _int(size)
    if number is None or number < 0:
        raise UsageError(
            "a size in a shape is not valid",
            expected="0 or more, None (unknown), or a name",
            found=repr(size),
        )
    return number
