"""Reads forms of operations that the specification shows but current runtimes do not read.

The second example of TensorIterator-1 contains an LSTMCell with five inputs, a form that opset1 had
internally. One input holds the weights W [4S,I] and R [4S,S] side by side in one tensor [4S,I+S];
the next input is the bias [4S]. The reader splits the tensor into W and R with a VariadicSplit, so
that the result is an ordinary LSTMCell.
"""

from __future__ import annotations

from dataclasses import replace

from irloop.diagnostics import Location
from irloop.dialects.openvino.slicing import VariadicSplit
from irloop.graph.model import Graph, Value
from irloop.graph.op import Op
from irloop.graph.tensor import BytesTensor
from irloop.graph.types import Shape, TensorType

__all__ = ["has_joined_weights", "with_parted_weights"]

_WEIGHTS, _BIAS = 3, 4


def has_joined_weights(op: Op, inputs: tuple[Value, ...]) -> bool:
    """Return whether `op` is an LSTMCell with five inputs, the last (the bias) a vector."""
    if len(inputs) != 5:
        return False
    from irloop.dialects.openvino.recurrent import LSTMCell, LSTMCell1

    if not isinstance(op, LSTMCell | LSTMCell1):
        return False
    type = inputs[_BIAS].type
    return isinstance(type, TensorType) and type.shape.rank == 1


def with_parted_weights(
    graph: Graph, op: Op, name: str, inputs: tuple[Value, ...], place: Location
) -> tuple[Value, ...]:
    """Split the joined weights of an older LSTMCell into W and R; return its new inputs.

    Such a cell has five inputs. The nodes that split the weights are added to `graph`. Their
    location is the line of the cell, and they belong to no layer of the file.
    """
    weights, size = inputs[_WEIGHTS], getattr(op, "hidden_size", 0)
    place = replace(place, layer_id=None)
    axis = graph.add_constant(BytesTensor.of_integers(1), f"{name}/axis", location=place)
    lengths = graph.add_constant(
        BytesTensor.of_integers(-1, size), f"{name}/lengths", location=place
    )
    types: tuple[TensorType, ...] = ()
    given = weights.type
    if isinstance(given, TensorType) and given.shape.rank == 2:
        rows, width = given.shape.dim(0), given.shape.dim(1)
        first = width - size if isinstance(width, int) else width
        types = tuple(TensorType(given.element, Shape((rows, dim))) for dim in (first, size))
    parts = graph.add_node(
        VariadicSplit(), f"{name}/W_R", (weights, axis, lengths), 2, types=types, location=place
    )
    return (*inputs[:_WEIGHTS], *parts.outputs, inputs[_BIAS])
