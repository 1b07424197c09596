"""OVN102: a state computed in place in the memory of a slice."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop, same_memory
from irloop.analysis.shared_memory import is_copy, may_share, moving
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.dialects.openvino.shape import Squeeze
from irloop.dialects.wire_ends import states_of
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["ViewComputedInPlace"]


class ViewComputedInPlace(
    Fault,
    code="OVN102",
    engine="openvino",
    title="A state computed in place in the memory of a slice",
    effect=Effect.WRONG,
    passes=("body_barriers",),
    avoided_by=("body_copies",),
):
    """A state computed in place in the memory of a slice.

    What happens:
        The plugin computes the state in the memory of the slice. It then copies the next slice into
        this memory before it copies the state over the back edge: the state has a wrong value.
    Where:
        The next value of a state is computed elementwise from a Reshape, Squeeze, Unsqueeze or
        Transpose of a slice or of another state; or it is computed from a Concat, Split or
        VariadicSplit of them, if only axes of size 1 are in front of the axis of this operation.
        The second operand of a sum, product, maximum or minimum lends no memory unless the first is
        constant, nor does a value that the plugin has in another type.
    What irloop does:
        Conversion to IR copies the value in the body; for a model that is already IR, the
        pass body_barriers does this.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        others = moving(node.body())
        for state in states_of(node):
            own, value = state.parameter, state.following
            if same_memory(value) in others or is_copy(value):
                continue
            if may_share(value, others - {own}):
                yield f"the next value of state {own.name!r} is computed from a view"


@ViewComputedInPlace.case(
    "iterator_reads_a_view_of_a_slice",
    "TensorIterator: joined outputs",
    "OpenVINO TensorIterator-1",
    (
        "back_edges is a set of rules to transfer tensor values from body outputs at one "
        "iteration to body parameters at the next iteration."
    ),
    # the state that the last iteration reads is the previous slice plus one
    run([[[1, 2], [3, 4], [5, 6]], [0, 0]], [[4, 5], [[1, 4], [9, 16], [25, 36]]]),
)
def smallest() -> Model:
    m = IrModel()
    x, h = m.input("x", 3, 2), m.input("h", 2)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0), loop.state(h)
    flat = loop(Squeeze(), part, loop.constant([0], ElementType.I64))
    loop.carry(state, loop(Add(), flat, loop.constant([1, 1])))
    loop.last(state)
    loop.joined(loop(Multiply(), part, part), 0)
    return m.done(*loop.done())
