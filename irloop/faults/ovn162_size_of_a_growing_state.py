"""OVN162: a state that grows beside a value of its initial size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from irloop.analysis.patterns import is_loop, same_shape_source
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.dialects.openvino.shape import Broadcast3, Reshape, ShapeOf, ShapeOf3, Tile, Unsqueeze
from irloop.dialects.openvino.slicing import Concat, Slice, StridedSlice
from irloop.dialects.wire_ends import inward, states_of
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.loops import Sliced
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.graph.walk import has_op

__all__ = ["SizeOfAGrowingState"]

#: Operations whose output has a size that OpenVINO does not know if an input after the first one is
#: computed.
_RESIZING = (Reshape, Slice, StridedSlice, Tile)


class SizeOfAGrowingState(
    Fault,
    code="OVN162",
    engine="openvino",
    title="A state that grows beside a value of its initial size",
    effect=Effect.WRONG,
    fix="Repeat the initial value of the state once by a Tile whose repeats are computed.",
    avoided_by=("growing_states",),
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
        whole = [item for item in inward(node, body) if not isinstance(item.port, Sliced)]
        given = {item.use: item.outer for item in whole}
        origins = Counter(same_shape_source(value) for value in given.values() if value is not None)
        for state in states_of(node):
            initial, own = state.outer, state.parameter
            if (
                initial is None
                or shape_of(initial).is_static
                or origins[same_shape_source(initial)] < 2
            ):
                continue
            if _grows_unseen(state.following, own):
                yield f"state {own.name!r} grows, and another input has its initial size"


def _grows_unseen(value: Value, state: Value) -> bool:
    """Return whether `value` is a Concat with `state` that is then resized by computed sizes."""
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


@SizeOfAGrowingState.case(
    "openvino_loop_size_beside_a_growing_state",
    "Loop-5: states",
    "OpenVINO Loop-5",
    "An invariant input is the same in every iteration.",
    # the sum of as many ones as x has elements
    run([4, [1, 2, 3]], [[3, 3, 3, 3]]),
    run([3, [1, 2]], [[2, 2, 2]]),
)
def smallest() -> Model:
    m = IrModel()
    n, x = m.input("n", element=ElementType.I64), m.input("x", None)
    loop = m.loop(n)
    fixed, state = loop.invariant(x), loop.state(x)
    zero, one = loop.constant([0], ElementType.I64), loop.constant([1], ElementType.I64)
    longest = loop(Add(), loop.iteration(), loop.constant(6, ElementType.I64))
    end = loop(Unsqueeze(), longest, loop.constant(0, ElementType.I64))
    loop.carry(state, loop(Slice(), loop(Concat(0), state, fixed), zero, end, one, zero))
    ones = loop(Broadcast3(), loop.constant(1), loop(ShapeOf3(ElementType.I64), fixed))
    loop.joined(loop(ReduceSum(keep_dims=True), ones, zero), 0)
    return m.done(*loop.done())
