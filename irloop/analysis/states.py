"""Queries about the states of OpenVINO loops: their sizes, and what depends on them."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import same_shape_source
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.elementwise import Add, Multiply, Subtract
from irloop.dialects.openvino.search import NonZero
from irloop.dialects.openvino.shape import Reshape, ShapeOf, ShapeOf3, Tile
from irloop.dialects.openvino.slicing import Concat
from irloop.dialects.shapes import SIZE_OF
from irloop.dialects.wire_ends import Entering, Inward, states_of
from irloop.graph.builder import shape_of
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_DIM, Shape, TensorType, ValueType
from irloop.graph.walk import downstream, has_op

__all__ = [
    "changes_surely",
    "changing_axes",
    "hiding_tile",
    "inputs_of_unknown_size",
    "only_grows",
    "reaches_a_loop",
    "resizing_states",
    "size_reaches_a_nonzero",
    "unhidden",
    "unknown_axes",
    "unstable_axes",
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


def inputs_of_unknown_size(graph: Graph) -> list[Value]:
    """The inputs that the graph reads and that have a dimension of unknown size.

    OpenVINO may know other sizes from bounds, but never that of a model input.
    """
    return [
        value
        for value in graph.inputs
        if value.is_used and not all(isinstance(dim, int) for dim in shape_of(value).dims or ())
    ]


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
    before = shape_of(state.parameter).dims or ()
    after = shape_of(unhidden(state.following)).dims or ()
    pairs = enumerate(zip(before, after, strict=False))
    return {axis for axis, (x, y) in pairs if x == y != UNKNOWN_DIM}


def _with_names(type: ValueType, number: int) -> ValueType:
    """The type with a name for each unknown size; `number` makes the names unique."""
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return type
    nameless = Shape.of(*(dim if isinstance(dim, int) else None for dim in type.shape.dims))
    return TensorType(type.element, nameless.with_names(f"{SIZE_OF}{number}"))


def only_grows(state: Entering) -> bool:
    """Return whether the next value of a state is the state itself, or a Concat with it.

    Such a state has its initial size only if it never had another one.
    """
    source = unhidden(state.following)
    parts = source.producer.inputs if isinstance(source.producer.op, Concat) else (source,)
    return any(part is not None and same_shape_source(part) is state.parameter for part in parts)


def changes_surely(state: Inward | Entering) -> bool:
    """Return whether a state has another size after each iteration, and its parameter is read."""
    first = None if state.outer is None else shape_of(state.outer).count()
    later = shape_of(state.following).count()
    return state.parameter.is_used and None not in (first, later) and first != later


def hiding_tile(value: Value) -> tuple[Node, Node] | None:
    """The Tile that hides sizes of `value`, and the Subtract n - n in its repeats; else None.

    `OpenVinoShapes.with_hidden_sizes` emits them, perhaps with a Reshape after the Tile. Operations
    that keep the shape may follow, see `same_shape_source`.
    """
    tile = same_shape_source(value).producer
    if isinstance(tile.op, Reshape) and tile.inputs[0] is not None:
        tile = tile.inputs[0].producer
    nothing: Node | None = tile if isinstance(tile.op, Tile) else None
    for op in (Add, Multiply, Subtract):
        nothing = None if nothing is None else _operand(nothing, op)
    if nothing is None or nothing.inputs[0] is not nothing.inputs[1]:
        return None
    return tile, nothing


def _operand(node: Node, op: type[Op]) -> Node | None:
    """The producer of the second operand, if it is such an operation."""
    value = node.inputs[1] if len(node.inputs) > 1 else None
    return value.producer if value is not None and isinstance(value.producer.op, op) else None


def unhidden(value: Value) -> Value:
    """Follow operations that keep the shape back from `value`, see `same_shape_source`.

    A Tile that only hides sizes from OpenVINO keeps the shape, too.
    """
    while (found := hiding_tile(value)) is not None:
        operand = found[0].inputs[0]
        assert operand is not None
        value = operand
    return same_shape_source(value)
