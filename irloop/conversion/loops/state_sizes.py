"""Finds states of loops whose sizes may change, and hides sizes from OpenVINO.

OpenVINO takes the size of a state in one iteration for its size in all iterations, or for the size
of another value, unless it cannot know the size.
"""

from __future__ import annotations

import math

import numpy as np

from irloop.analysis.patterns import same_shape_source
from irloop.analysis.states import sizes_hidden_by_tile
from irloop.conversion.framework.directions import Import
from irloop.dialects.openvino.slicing import Concat
from irloop.dialects.wire_ends import Entering
from irloop.graph.builder import element_of, shape_of
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Value
from irloop.graph.types import UNKNOWN_DIM, DynamicDim, Shape, TensorType, ValueType

__all__ = ["changing_axes", "only_grows", "unstable_axes", "with_hidden_sizes"]

#: The most elements of the constant that a Tile repeats zero times.
LARGEST_FILLED = 1 << 16


def changing_axes(state: Entering) -> set[int]:
    """The axes along which the next value of a state may differ in size from its initial value."""
    made, before = shape_of(state.following).dims, shape_of(state.outer).dims
    if made is None or before is None or len(made) != len(before):
        return set()
    pairs = enumerate(zip(made, before, strict=True))
    return {at for at, (x, y) in pairs if x != y or x == UNKNOWN_DIM}


def unstable_axes(body: Graph, states: list[Entering]) -> list[set[int]]:
    """For each state, the axes along which its size may change from iteration to iteration.

    To find them, the types of the body are inferred once for parameters whose unknown sizes have
    names: a size that keeps its name does not change. The types in the body stay as they are.
    """
    changing = [changing_axes(state) for state in states]
    if not any(changing):
        return changing
    inference = Inference(tolerant=True)
    try:
        inference.run(body, [_with_names(value.type, at) for at, value in enumerate(body.inputs)])
        return [axes - _kept_axes(state) for state, axes in zip(states, changing, strict=True)]
    finally:
        inference.restore_declared()


def _kept_axes(state: Entering) -> set[int]:
    """The axes along which the next value of a state has the size, or the name, of the state."""
    before, after = shape_of(state.parameter).dims or (), shape_of(state.following).dims or ()
    pairs = enumerate(zip(before, after, strict=False))
    return {axis for axis, (x, y) in pairs if x == y != UNKNOWN_DIM}


def _with_names(type: ValueType, number: int) -> ValueType:
    """The type with a name for each unknown size; `number` makes the names unique."""
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return type
    dims = [
        dim if isinstance(dim, int) else DynamicDim(symbol=f"size {axis} of {number}")
        for axis, dim in enumerate(type.shape.dims)
    ]
    return TensorType(type.element, Shape(tuple(dims)))


def only_grows(state: Entering) -> bool:
    """Return whether the next value of a state is the state itself, or a Concat with it.

    Such a state has its initial size only if it never had another one.
    """
    source = same_shape_source(state.following)
    parts = source.producer.inputs if isinstance(source.producer.op, Concat) else (source,)
    return any(part is not None and same_shape_source(part) is state.parameter for part in parts)


def with_hidden_sizes(c: Import, value: Value, axes: set[int], number: Value) -> Value:
    """Hide the sizes of `value` along `axes` from OpenVINO.

    The value is repeated once by a Tile whose repeats are computed as 1 + (n - n), which OpenVINO
    cannot know to be 1. `number` is n, an i64 vector of one element that is known only at run time.
    irloop's own inference still knows the type of the result, except for sizes of 0: a pass would
    replace a value that is known to be empty by a constant. Such a value is written as a Tile of
    one element, repeated n - n times. If it would have more than `LARGEST_FILLED` elements, or has
    other unknown sizes, `value` itself is returned.
    """
    dims = shape_of(value).dims or ()
    empty = {at for at in axes if dims[at] == 0}
    shape = shape_of(value)
    for at in empty:
        shape = shape.with_dim(at, UNKNOWN_DIM)
    filled = [max(dim, 1) for dim in dims if isinstance(dim, int)]
    if empty and (len(filled) < len(dims) or math.prod(filled) > LARGEST_FILLED):
        return value
    tiled = c.constant(np.zeros(filled), element_of(value)) if empty else value
    nothing = c.subtract(number, number)
    marks = c.i64([int(at in axes) for at in range(len(dims))])
    more = c.multiply(marks, nothing)
    once = c.i64([int(at not in empty) for at in range(len(dims))])
    opened = c.tile(tiled, c.add(once, more))
    # Otherwise a concatenated output would lose its sizes if the Loop does not start.
    if sizes := sizes_hidden_by_tile(dims, axes):
        opened = c.reshape(opened, sizes)
    c.inference.hint(opened, TensorType(element_of(value), shape))
    c.inference.visit(opened.producer)
    return opened
