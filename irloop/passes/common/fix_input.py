"""Replaces inputs by constants."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from irloop.errors import UsageError
from irloop.graph.input_types import input_called
from irloop.graph.model import Model, Node
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, TensorType
from irloop.passes.base import ModelPass
from irloop.passes.options import option

__all__ = ["FixInput"]

_WORDS = {"true": 1, "false": 0}


@dataclass(eq=False)
class FixInput(ModelPass):
    """Fixes the values of inputs, so that everything computed from them is known.

    Given::

        x [2,3], axes [1]:   y = ReduceSum(x, axes)          axes=1

    Result::

        x [2,3]:             y = ReduceSum(x, Const [1])

    This is for runtimes that need static shapes: if a trip count, a list of axes or a size is an
    input, shapes are unknown. The constant has the shape that the model declares for the input;
    without a declared shape it is a vector. Inputs that are not named are not changed.
    """

    values: tuple[str, ...] = option((), "an input and its numbers, as in axes=0,2")

    name = "fix_input"

    def __post_init__(self) -> None:
        self._values = dict(map(_parsed, self.values))

    def run_on_model(self, model: Model) -> bool:
        fixed = [
            (input_called(model, name).producer, numbers) for name, numbers in self._values.items()
        ]
        rewriter = Rewriter(model.graph)
        for node, numbers in fixed:
            tensor = _tensor(node, numbers)
            first = next(iter(model.graph.nodes), None)
            constant = rewriter.insert_constant(tensor, before=first, name=node.name)
            rewriter.replace_value(node.outputs[0], constant)
            rewriter.erase_parameter(node)
        return bool(fixed)


def _parsed(text: str) -> tuple[str, list[int | float]]:
    """Parse a name and numbers from a text such as ``axes=0,2``.

    Raises:
        UsageError: when the text has another form.
    """
    name, equals, items = text.rpartition("=")
    parts = [part.strip() for part in items.strip("[] ").split(",") if part.strip()]
    try:
        numbers = [_number(part.lower()) for part in parts]
    except ValueError:
        numbers, name = [], ""
    if not name or not equals:
        raise UsageError(f"{text!r} is not an input name with numbers", expected="NAME=0,2")
    return name, numbers


def _number(text: str) -> int | float:
    if text in _WORDS:
        return _WORDS[text]
    # A float cannot represent every 64-bit integer.
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _tensor(node: Node, numbers: list[int | float]) -> ArrayTensor:
    """The numbers as a tensor that has the type and the shape of an input.

    Raises:
        UsageError: when the input does not hold numbers, or has another number of elements.
    """
    type = node.outputs[0].type
    unfit = not isinstance(type, TensorType) or type.element in (
        ElementType.DYNAMIC,
        ElementType.STRING,
    )
    if unfit or not isinstance(type, TensorType):
        raise UsageError(f"input {node.name!r} does not hold numbers", found=str(type))
    dims = type.shape.static()
    if dims is None:
        dims = (len(numbers),)
    rank = type.shape.rank
    if len(numbers) != int(np.prod(dims)) or rank not in (None, len(dims)):
        raise UsageError(
            f"the number of values does not fit input {node.name!r}",
            expected=str(type),
            found=f"{len(numbers)} values",
        )
    array = np.array(numbers).astype(type.element.numpy()).reshape(dims)
    return ArrayTensor(array, type.element)
