"""Predicates on a value for patterns; they compose with ``&``, ``|`` and ``~``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import Dim, ElementType, Shape, TensorType, element_named

__all__ = [
    "Predicate",
    "attributes",
    "consumers",
    "dims",
    "element_is",
    "output_index",
    "rank_is",
    "shape_is",
    "static_dims",
    "static_rank",
    "static_shape",
]


class Predicate:
    """A named test of a value; a failed match reports the name."""

    __slots__ = ("_test", "text")

    def __init__(self, test: Callable[[Value], bool], text: str) -> None:
        self._test = test
        self.text = text

    def __call__(self, value: Value) -> bool:
        return self._test(value)

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(
            lambda value: self(value) and other(value), f"({self.text} and {other.text})"
        )

    def __or__(self, other: Predicate) -> Predicate:
        return Predicate(
            lambda value: self(value) or other(value), f"({self.text} or {other.text})"
        )

    def __invert__(self) -> Predicate:
        return Predicate(lambda value: not self(value), f"not {self.text}")

    def __repr__(self) -> str:
        return f"<Predicate {self.text}>"


def consumers(count: int) -> Predicate:
    """Matches a value that is read exactly `count` times."""
    return Predicate(lambda value: len(value.uses) == count, f"{count} consumers")


def static_shape() -> Predicate:
    """Matches a value whose dimensions are all known."""
    return Predicate(lambda value: shape_of(value).is_static, "a static shape")


def static_rank() -> Predicate:
    """Matches a value of known rank."""
    return Predicate(lambda value: shape_of(value).dims is not None, "a known rank")


def static_dims(*axes: int) -> Predicate:
    """Matches a value whose dimensions at `axes` are known; negative axes count from the end."""
    return Predicate(
        lambda value: all(_has_dim(shape_of(value), axis) for axis in axes),
        f"known dimensions {list(axes)}",
    )


def _has_dim(shape: Shape, axis: int) -> bool:
    if shape.dims is None or not -len(shape.dims) <= axis < len(shape.dims):
        return False
    return isinstance(shape.dims[axis], int)


def rank_is(*ranks: int) -> Predicate:
    """Matches a value whose rank is one of `ranks`."""
    return Predicate(lambda value: shape_of(value).rank in ranks, f"rank {list(ranks)}")


def shape_is(*wanted: int | str | None) -> Predicate:
    """Matches a value of this rank and these dimensions.

    None matches any dimension. A name also matches any dimension, but must match the same one
    wherever it occurs.
    """
    return Predicate(lambda value: _fits(shape_of(value), wanted), f"shape {list(wanted)}")


def dims(axis: int, size: int) -> Predicate:
    """Matches a value whose dimension `axis` is `size`."""
    return Predicate(
        lambda value: _has_dim(shape_of(value), axis) and shape_of(value).dim(axis) == size,
        f"dimension {axis} = {size}",
    )


def _fits(shape: Shape, wanted: tuple[int | str | None, ...]) -> bool:
    if shape.dims is None or len(shape.dims) != len(wanted):
        return False
    named: dict[str, Dim] = {}
    for want, dim in zip(wanted, shape.dims, strict=True):
        if isinstance(want, int) and dim != want:
            return False
        if isinstance(want, str) and not _same(named.setdefault(want, dim), dim):
            return False
    return True


def _same(first: Dim, second: Dim) -> bool:
    """Return whether two dimensions are certainly equal.

    Dimensions of unknown size are equal if they are the same object. Two such dimensions with
    a name are also equal if their names and ranges are the same.
    """
    known = isinstance(first, int) or first.symbol is not None
    return first is second or (known and first == second)


def element_is(*elements: str | ElementType) -> Predicate:
    """Matches a value whose element type is one of `elements`, such as "f32".

    Raises:
        UsageError: when there is no such type.
    """
    known = [element_named(element) for element in elements]
    text = " or ".join(map(str, known))
    return Predicate(
        lambda value: isinstance(value.type, TensorType) and value.type.element in known,
        f"element type {text}",
    )


def attributes(**wanted: Any) -> Predicate:
    """Matches a value whose operation has these attribute values."""
    return Predicate(lambda value: _has(value.producer.op, wanted), f"attributes {wanted}")


def _has(op: Op, wanted: dict[str, Any]) -> bool:
    return all(hasattr(op, name) and getattr(op, name) == want for name, want in wanted.items())


def output_index(index: int) -> Predicate:
    """Matches a value that is output `index` of its node."""
    return Predicate(lambda value: value.index == index, f"output index {index}")
