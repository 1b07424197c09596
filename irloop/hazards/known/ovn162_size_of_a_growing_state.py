"""OVN162: a state that grows beside a value of its initial size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from irloop.dialects.openvino.shape import Reshape, ShapeOf, ShapeOf3, Tile
from irloop.dialects.openvino.slicing import Concat, Slice, StridedSlice
from irloop.graph.builder import shape_of
from irloop.graph.loops import Sliced
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.walk import has_op
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop, same_shape_source

__all__ = ["SizeOfAGrowingState"]

#: Operations whose output has a size that OpenVINO does not know if an input after the first one is
#: computed.
_RESIZING = (Reshape, Slice, StridedSlice, Tile)


class SizeOfAGrowingState(
    Hazard,
    code="OVN162",
    engine="openvino",
    versions=("2026.4.1",),
    title="A state that grows beside a value of its initial size",
    effect=Effect.WRONG,
    case="openvino_loop_size_beside_a_growing_state",
    fix="Repeat the initial value of the state once by a Tile whose repeats are computed.",
):
    """A state that grows beside a value of its initial size.

    What happens:
        OpenVINO assumes that the state keeps the size of its initial value. Where the body reads
        this size from another value, it reads the size of the grown state instead.
    Where:
        The next value of a state is a Concat with the state, cut or repeated by an operation with
        computed sizes, such as a Slice up to a computed end. The initial value has a size that is
        known only at run time, another input of the loop has the same size, and a ShapeOf is in the
        body.
    What irloop does:
        Conversion to IR gives the initial value a size that OpenVINO compares with no other.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        if not has_op(body.graph, ShapeOf, ShapeOf3):
            return
        whole = [port for port in body.ports.inputs if not isinstance(port, Sliced)]
        given = {port.external: node.inputs[port.external] for port in whole}
        origins = Counter(same_shape_source(value) for value in given.values() if value is not None)
        for port in body.ports.carried:
            initial, own = given[port.external], body.graph.input(port.parameter)
            if (
                initial is None
                or shape_of(initial).is_static
                or origins[same_shape_source(initial)] < 2
            ):
                continue
            if _grows_unseen(body.graph.output(port.result), own):
                yield f"state {own.name!r} grows, and another input has its initial size"


def _grows_unseen(value: Value, state: Value) -> bool:
    """True if `value` is a Concat with `state` that is then resized by computed sizes."""
    is_resized = False
    value = same_shape_source(value)
    while isinstance(value.producer.op, _RESIZING) and value.producer.inputs[0] is not None:
        sizes = [item for item in value.producer.inputs[1:] if item is not None]
        is_resized |= any(not isinstance(item.producer.op, Constant) for item in sizes)
        value = same_shape_source(value.producer.inputs[0])
    if not is_resized or not isinstance(value.producer.op, Concat):
        return False
    return any(
        item is not None and same_shape_source(item) is state for item in value.producer.inputs
    )
