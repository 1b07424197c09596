"""Parsing of Einsum equations and inference of the result types, shared by both dialects."""

from __future__ import annotations

from irloop.dialects import inference
from irloop.graph.arguments import Arguments
from irloop.graph.record import Record
from irloop.graph.types import (
    UNKNOWN_SHAPE,
    Dim,
    Shape,
    TensorType,
    ValueType,
    broadcast_dims,
    broadcast_shapes,
)

__all__ = ["DOTS", "Equation", "einsum_types"]

DOTS = "..."


class Equation(Record):
    """An Einstein equation: the labels of each operand and of the result.

    The label ``...`` represents any number of dimensions.
    """

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Equation:
        """Parse an equation; without an arrow, the result has the labels that occur exactly once.

        Raises:
            ValueError: when the text is not an equation.
        """
        compact = "".join(text.split())
        left, arrow, right = compact.partition("->")
        operands = tuple(_labels(term) for term in left.split(","))
        if arrow:
            result = _labels(right)
        else:
            every = [label for term in operands for label in term if label != DOTS]
            once = sorted(label for label in set(every) if every.count(label) == 1)
            dots = (DOTS,) if any(DOTS in term for term in operands) else ()
            result = (*dots, *once)
        for label in result:
            if result.count(label) > 1 or not any(label in term for term in operands):
                raise ValueError(f"the result of {text!r} repeats {label!r}, or no operand has it")
        return cls(operands, result)


def _labels(term: str) -> tuple[str, ...]:
    labels: list[str] = []
    rest = term
    while rest:
        if rest.startswith(DOTS):
            labels.append(DOTS)
            rest = rest[len(DOTS) :]
        elif rest[0].isalpha() and rest[0].isascii():
            labels.append(rest[0])
            rest = rest[1:]
        else:
            raise ValueError(f"{term!r} is not a list of letters and '...'")
    if labels.count(DOTS) > 1:
        raise ValueError(f"{term!r} has more than one ...")
    return tuple(labels)


def einsum_types(args: Arguments, text: str) -> list[ValueType]:
    """The type of the result of an equation.

    Raises:
        InferenceError: when the equation contradicts itself or the shapes of the operands.
    """
    try:
        equation = Equation.parse(text)
    except ValueError as error:
        raise args.error(str(error)) from error
    if len(equation.operands) != len(args):
        raise args.error(
            "the equation has the wrong number of operands",
            str(len(equation.operands)),
            str(len(args)),
        )
    element = inference.same_element(args)
    sizes: dict[str, Dim] = {}
    spread: list[Shape] = []
    for position, term in enumerate(equation.operands):
        shape = args.shape(position)
        if shape.dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        spread.append(Shape(_take_labels(args, sizes, term, shape.dims)))
    dots = broadcast_shapes(spread)
    if dots is None or dots.dims is None:
        raise args.error("the dimensions of ... cannot be broadcast")
    dims: list[Dim] = []
    for label in equation.result:
        dims.extend(dots.dims if label == DOTS else (sizes[label],))
    return [TensorType(element, Shape(tuple(dims)))]


def _take_labels(
    args: Arguments, sizes: dict[str, Dim], term: tuple[str, ...], dims: tuple[Dim, ...]
) -> tuple[Dim, ...]:
    """Record in `sizes` the size of each label of one operand.

    `term` holds the labels of the operand, and `dims` its dimensions. Returns the dimensions that
    the ellipsis matches.
    """
    extra = len(dims) - len(term) + (DOTS in term)
    if extra < 0 or (extra and DOTS not in term):
        raise args.error(
            f"the rank of an operand does not match {''.join(term)!r}",
            str(len(term)),
            str(Shape(dims)),
        )
    spread: tuple[Dim, ...] = ()
    position = 0
    for label in term:
        if label == DOTS:
            spread = dims[position : position + extra]
            position += extra
            continue
        known = broadcast_dims(sizes.get(label, dims[position]), dims[position])
        if known is None:
            raise args.error(
                f"label {label!r} has two different sizes", str(sizes[label]), str(dims[position])
            )
        sizes[label] = known
        position += 1
    return spread
