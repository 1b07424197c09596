"""Lets a model prepare its inputs itself: another layout, reversed channels, mean and scale.

Each input that is named gets, in this order::

    input -> Transpose -> reversed channels -> Subtract mean -> Multiply by 1 / scale -> the model

Values for channels are in the order in which the model itself has the channels. This is what Model
Optimizer did for its options of these names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from irloop.errors import UsageError
from irloop.graph.builder import element_of, shape_of
from irloop.graph.convert_options import ConvertOptions
from irloop.graph.inference import Inference
from irloop.graph.input_types import input_called, set_input_shapes
from irloop.graph.model import Model, Node, Value
from irloop.graph.record import Record
from irloop.graph.types import Shape, TensorType
from irloop.passes.node_writer import NodeWriter
from irloop.passes.session import Session
from irloop.passes.writers import writer_at

__all__ = ["preprocess"]

#: The number of channels of an image that can be in the reverse order: red, green and blue.
COLORS = 3


class _Layout(Record):
    """The axes of an input in the model, and those of the input that the result has."""

    model: str
    outside: str


class _Steps(Record):
    """What one input needs."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    reverses: bool
    layout: _Layout | None


def preprocess(model: Model, options: ConvertOptions) -> None:
    """Put what `options` demand before the inputs of `model`; `shapes` are set first.

    Raises:
        UsageError: for a name that no input has, or what does not fit an input.
    """
    set_input_shapes(model, options.shapes or {})
    Inference().run(model.graph)
    parameters = list(model.graph.parameters)
    means, scales = (
        _by_input(model, name, _named(value), _numbers)
        for name, value in (("mean", options.mean), ("scale", options.scale))
    )
    layouts = _by_input(model, "layout", _named(options.layout), _layout)
    reverses = options.reverse_channels
    names = [""] if isinstance(reverses, bool) and reverses else reverses or ()
    reversed_ = _by_input(model, "reverse_channels", dict.fromkeys(names, True), _flag)
    session = Session(model)
    for node in parameters:
        steps = _Steps(
            *(means.get(node, ()), scales.get(node, ())),
            *(reversed_.get(node, False), layouts.get(node)),
        )
        before = next(iter(model.graph.nodes), None)
        rewriter = session.rewriter(model.graph)
        w = writer_at(model, rewriter, before, f"{node.name}/preprocessed")
        value = node.output
        uses = list(value.uses)
        made = _emitted(w, value, steps)
        for user, position in uses if made is not value else ():
            rewriter.set_input(user, position, made)
    Inference().run(model.graph)


def _emitted(w: NodeWriter, value: Value, steps: _Steps) -> Value:
    """Emit the steps of one input, and return the value that the model reads instead of it."""
    name, type = value.producer.name, value.type
    # The channels are found in the layout that the model has.
    if steps.mean or steps.scale:
        _require_float(value)
    axes = {
        count: _channel_axis(value, count, steps.layout)
        for count in {len(steps.mean), len(steps.scale), COLORS * steps.reverses} - {0, 1}
    }
    made = value
    if steps.layout is not None and steps.layout.model != steps.layout.outside:
        inside, outside = steps.layout.model, steps.layout.outside
        assert isinstance(type, TensorType)
        assert type.shape.dims is not None
        dims = tuple(type.shape.dims[inside.index(axis)] for axis in outside)
        value.type = TensorType(type.element, Shape(dims))
        made = w.transpose(made, [outside.index(axis) for axis in inside])
    if steps.reverses:
        made = w.reverse(made, axes[COLORS])
    if any(steps.mean):
        made = w.subtract(made, _channels(w, value, steps.mean, axes))
    if any(number != 1 for number in steps.scale):
        if 0 in steps.scale:
            raise UsageError(f"the scale of input {name!r} is 0: nothing can be divided by it")
        inverse = tuple(1 / number for number in steps.scale)
        made = w.multiply(made, _channels(w, value, inverse, axes))
    return made


def _channels(
    w: NodeWriter, value: Value, numbers: tuple[float, ...], axes: Mapping[int, int]
) -> Value:
    """Emit a constant with a number for each channel of `value`."""
    rank = len(shape_of(value).dims or ())
    dims = [1] * rank
    if len(numbers) > 1:
        dims[axes[len(numbers)]] = len(numbers)
    return w.constant(np.array(numbers).reshape(dims), element_of(value))


def _require_float(value: Value) -> None:
    if not element_of(value).is_float:
        raise UsageError(
            f"input {value.producer.name!r} is {element_of(value)}: mean and scale need a float",
            fix="name the inputs, as in x=127.5",
        )


def _channel_axis(value: Value, count: int, layout: _Layout | None) -> int:
    """The axis of the channels, of which there are `count`."""
    name, dims = value.producer.name, shape_of(value).dims
    if dims is None:
        raise UsageError(
            f"the rank of input {name!r} is unknown", fix=f"give its shape: --shape {name}=1,3,?,?"
        )
    known = layout is not None and "c" in layout.model
    axes = [layout.model.index("c")] if layout is not None and known else [1, len(dims) - 1]
    fitting = [axis for axis in dict.fromkeys(axes) if axis < len(dims) and dims[axis] == count]
    if known and not isinstance(dims[axes[0]], int):
        return axes[0]
    if len(fitting) == 1:
        return fitting[0]
    problem = "both axis 1 and the last one have" if fitting else "no axis of channels has"
    raise UsageError(
        f"input {name!r}: {problem} {count} elements",
        found=str(value.type),
        fix="name the inputs, or say which axis has the channels, as in --layout nchw",
    )


def _named(value: Any) -> Mapping[str, Any]:
    """Settings by the name of an input; the name "" stands for every input."""
    if value is None or value == {}:
        return {}
    return value if isinstance(value, Mapping) else {"": value}


def _by_input(model: Model, what: str, settings: Mapping[str, Any], parse: Any) -> dict[Node, Any]:
    """Settings by input; one for a name replaces the one for every input."""
    by_node: dict[Node, Any] = {}
    if "" in settings:
        by_node = {node: parse(what, node, settings[""]) for node in model.graph.parameters}
    for name in settings:
        if name:
            node = input_called(model, name, setting=what).producer
            by_node[node] = parse(what, node, settings[name])
    return by_node


def _numbers(what: str, node: Node, value: Any) -> tuple[float, ...]:
    numbers = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    if not numbers or not all(isinstance(item, Real) and math.isfinite(item) for item in numbers):
        raise UsageError(
            f"the {what} of input {node.name!r} is not a number or a list of numbers",
            found=repr(value)[:100],
        )
    return tuple(map(float, numbers))


def _flag(what: str, node: Node, value: Any) -> bool:
    return bool(value)


def _layout(what: str, node: Node, value: Any) -> _Layout:
    """Parse a layout of the model such as ``nchw``, or ``nchw->nhwc`` for another input."""
    inside, arrow, outside = (part.strip().lower() for part in str(value).partition("->"))
    outside = outside if arrow else inside
    dims = shape_of(node.output).dims
    is_order = inside.isalnum() and len(set(inside)) == len(inside)
    if not is_order or sorted(inside) != sorted(outside):
        raise UsageError(
            f"the {what} of input {node.name!r} cannot be read",
            expected="a letter for each axis of the model, and their new order, as in nchw->nhwc",
            found=str(value)[:100],
        )
    if dims is None or len(dims) != len(inside):
        raise UsageError(
            f"the {what} of input {node.name!r} does not fit it",
            expected=f"{len(inside)} axes",
            found=str(node.output.type),
            fix="name the inputs, as in x=nchw->nhwc" if dims else "give its shape with --shape",
        )
    return _Layout(inside, outside)
