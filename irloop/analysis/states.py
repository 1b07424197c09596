"""Queries about the states of OpenVINO loops: their sizes, and what depends on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.search import NonZero
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3
from irloop.dialects.wire_ends import Inward, states_of
from irloop.graph.builder import shape_of
from irloop.graph.model import Graph, Node, Value
from irloop.graph.walk import downstream, has_op

__all__ = [
    "inputs_of_unknown_size",
    "reaches_a_loop",
    "resizing_states",
    "size_reaches_a_nonzero",
    "sizes_hidden_by_tile",
    "unknown_axes",
]


def resizing_states(node: Node) -> Iterator[Inward]:
    """The states of a loop that have a known initial size, and may have another one later."""
    for state in states_of(node):
        held = shape_of(state.parameter)
        if state.outer is None or not shape_of(state.outer).is_static:
            continue
        if not held.is_static or held != shape_of(state.following):
            yield state


def reaches_a_loop(value: Value) -> bool:
    """Return whether a Loop in the same graph, or in a body there, may depend on `value`.

    The Loop may read `value` itself, or a value that is computed from it.
    """
    return any(
        isinstance(node.op, Loop) or any(has_op(body.graph, Loop) for body in node.bodies)
        for node in downstream([value])
    )


def size_reaches_a_nonzero(value: Value) -> bool:
    """Return whether a NonZero in the same graph may depend on the size of `value`.

    A ShapeOf must then lie between `value` and the NonZero.
    """
    sizes = [node.output for node in downstream([value]) if isinstance(node.op, ShapeOf | ShapeOf3)]
    return any(isinstance(node.op, NonZero) for node in downstream(sizes))


def unknown_axes(value: Value, joined: int) -> list[int]:
    """The axes of unknown size of a loop output, except the axis `joined`.

    `joined` is the axis along which the output is concatenated.
    """
    dims = shape_of(value).dims or ()
    joined_at = (joined, joined + len(dims))
    return [at for at, dim in enumerate(dims) if at not in joined_at and not isinstance(dim, int)]


def sizes_hidden_by_tile(dims: Sequence[object], opened: Collection[int]) -> list[int]:
    """Return the Reshape pattern that restores the known sizes after a Tile, or an empty list.

    If some of the repeats of a Tile are computed, OpenVINO knows no size of its result, not even on
    axes that are not repeated. A Reshape can state these sizes again.

    Args:
        dims: the dimensions before the Tile.
        opened: the axes whose repeats are computed. In the pattern, these axes and axes of unknown
            size have a 0, which copies the dimension.
    """
    sizes = [
        dim if isinstance(dim, int) and axis not in opened else 0 for axis, dim in enumerate(dims)
    ]
    return sizes if any(sizes) else []


def inputs_of_unknown_size(graph: Graph, read: Collection[Value] = ()) -> list[Value]:
    """The inputs that the graph reads and that have a dimension of unknown size.

    The inputs in `read` count as read, because a loop that is being built will read them. OpenVINO
    may know other sizes from bounds, but never that of a model input.
    """
    return [
        value
        for value in graph.inputs
        if (value.is_used or value in read)
        and not all(isinstance(dim, int) for dim in shape_of(value).dims or ())
    ]
