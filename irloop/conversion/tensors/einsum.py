"""Writes Einstein sums in ONNX: as Einsum, or before opset 12 as products of aligned operands."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.framework.directions import Export
from irloop.dialects.einsum import DOTS, Equation
from irloop.dialects.onnx.matmul import Einsum
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value

__all__ = ["einsum"]

#: A letter, or the negative axis of a dimension under ``...``.
Label = str | int


def einsum(c: Export, equation: str, *operands: Value) -> Value:
    """Emit an Einsum or, before opset 12, the products and sums that `equation` describes."""
    if c.opset >= 12:
        text, parts = _unstretched(c, equation, operands)
        return c.numeric(Einsum(text), *parts, small=None, half=None)
    chosen = c.computing_type(element_of(operands[0]), small=None, half=None)
    return c.computed_in(chosen, lambda *values: _product(c, equation, values), *operands)


def _unstretched(c: Export, text: str, operands: Sequence[Value]) -> tuple[str, Sequence[Value]]:
    """Squeeze the axes of Einsum operands that ONNX Runtime would broadcast.

    These are axes of size 1 whose label has a larger size in another operand. ONNX's shape
    inference takes one of the two sizes, which may be the wrong size. Returns the equation without
    the labels of these axes, and the operands; both are unchanged if there is no such axis, or if a
    shape is not known.
    """
    equation = Equation.parse(text)
    dims = [shape_of(operand).static() for operand in operands]
    if any(item is None for item in dims):
        return text, operands
    spelled = [
        _spelled(term, len(sizes))
        for term, sizes in zip(equation.operands, dims, strict=True)
        if sizes is not None
    ]
    pairs = [
        (label, size)
        for term, sizes in zip(spelled, dims, strict=True)
        for label, size in zip(term, sizes or (), strict=True)
    ]
    large = {label for label, size in pairs if isinstance(label, str) and size > 1}
    terms, parts = list(equation.operands), list(operands)
    for index, (term, sizes) in enumerate(zip(spelled, dims, strict=True)):
        axes = [
            axis for axis, label in enumerate(term) if label in large and (sizes or ())[axis] == 1
        ]
        if axes:
            gone = {term[axis] for axis in axes}
            terms[index] = tuple(label for label in terms[index] if label not in gone)
            parts[index] = c.squeeze(operands[index], axes)
    if terms == list(equation.operands):
        return text, operands
    left = ",".join("".join(term) for term in terms)
    return f"{left}->{''.join(equation.result)}", parts


def _product(c: Export, text: str, operands: tuple[Value, ...]) -> Value:
    """Multiply the operands of an Einsum, and sum over the labels that the result lacks.

    `text` is the equation. First the operands are transposed and unsqueezed, so that each label has
    the same axis in all of them.
    """
    equation = Equation.parse(text)
    terms = [
        _spelled(term, needed_rank(c, operand))
        for term, operand in zip(equation.operands, operands, strict=True)
    ]
    dots = min((label for term in terms for label in term if isinstance(label, int)), default=0)
    result: list[Label] = []
    for label in equation.result:
        result += list(range(dots, 0)) if label == DOTS else [label]
    every = {label: None for term in terms for label in term}
    order = [*result, *(label for label in every if label not in result)]
    total: Value | None = None
    for operand, term in zip(operands, terms, strict=True):
        aligned = _aligned(c, operand, term, order)
        total = aligned if total is None else c.multiply(total, aligned)
    assert total is not None, "an equation has at least one operand"
    summed = list(range(len(result), len(order)))
    return c.reduce("Sum", total, summed, keep=False) if summed else total


def _spelled(term: tuple[str, ...], rank: int) -> list[Label]:
    """Return one label for each axis of an operand of `rank` axes.

    `term` holds the operand's letters, and at most one ``...``. The axes under ``...`` get negative
    numbers as labels, which end at -1: term ("...", "i") with rank 3 gives [-2, -1, "i"].
    """
    labels: list[Label] = []
    for label in term:
        labels += list(range(len(term) - 1 - rank, 0)) if label == DOTS else [label]
    return labels


def _aligned(c: Export, operand: Value, term: list[Label], order: list[Label]) -> Value:
    """Transpose `operand` to the labels in `order`, with an axis of size 1 for missing labels.

    `term` holds the labels of the operand's axes. Axes with the same label are replaced by their
    diagonal.
    """
    value, labels = operand, list(term)
    for label in term:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            value = _diagonal(c, value, first, second)
            del labels[second]
    value = c.transpose(value, [labels.index(label) for label in order if label in labels])
    missing = [axis for axis, label in enumerate(order) if label not in labels]
    return c.unsqueeze(value, missing) if missing else value


def _diagonal(c: Export, value: Value, first: int, second: int) -> Value:
    """Take the diagonal over two axes of `value`: `first` remains, `second` is removed."""
    import numpy as np

    shape = shape_of(value)
    size, rank = shape.dim(first), needed_rank(c, value)
    if not isinstance(size, int):
        raise c.refuse("a diagonal of unknown size needs opset 12", opset=12)
    dims = [size if axis in (first, second) else 1 for axis in range(rank)]
    marks = c.constant(np.eye(size).reshape(dims), element_of(value))
    return c.reduce("Sum", c.multiply(value, marks), [second], keep=False)
