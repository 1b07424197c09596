"""OVN103: softmax, normalisation or rotation of an invariant value in a loop body."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_invariant, loop_around, same_memory
from irloop.analysis.shared_memory import begins_in_place
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.activation import GRN, LogSoftmax, SoftMax1, SoftMax8
from irloop.dialects.openvino.elementwise import Add, Exp, Subtract
from irloop.dialects.openvino.normalization import MVN1, MVN2, MVN6
from irloop.dialects.openvino.slicing import Slice, VariadicSplit
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["SoftmaxOfInvariant"]


class SoftmaxOfInvariant(
    Fault,
    code="OVN103",
    engine="openvino",
    title="Softmax, normalisation or rotation of an invariant value in a loop body",
    effect=Effect.WRONG,
    passes=("hoist_invariants", "body_barriers"),
    avoided_by=("body_copies",),
):
    """Softmax, normalisation or rotation of an invariant value in a loop body.

    What happens:
        The plugin computes the operation in place, in the memory of the invariant value: the second
        iteration computes the softmax of the first one's result.
    Where:
        A SoftMax, a LogSoftmax, a GRN, or an MVN with an elementwise operation after it, in
        the body of a Loop or TensorIterator reads an invariant parameter. The fault also
        occurs with groups of operations that the plugin fuses to a SoftMax, an MVN or a
        rotary position embedding. In such an embedding, the halves of a value
        (VariadicSplit, Slice) are multiplied by cosines and sines, subtracted, added and
        concatenated.
    What irloop does:
        Conversion to IR computes the operation before the loop, or on a copy of the value.
    """

    operations = (
        *(SoftMax1, SoftMax8, LogSoftmax, GRN, MVN1, MVN2, MVN6),
        *(Exp, Subtract, VariadicSplit, Slice),
    )

    def find(self, node: Node) -> Iterator[str]:
        value = next(iter(node.inputs), None)
        if value is None or not (_is_in_place(node) or begins_in_place(node, value)):
            return
        place = loop_around(node)
        if place is not None and is_invariant(place[1], same_memory(value)):
            yield f"{node.op.type} {node.name!r} reads an invariant input of its loop"


def _is_in_place(node: Node) -> bool:
    if isinstance(node.op, SoftMax1 | SoftMax8 | LogSoftmax | GRN):
        return True
    if not isinstance(node.op, MVN1 | MVN2 | MVN6):
        return False
    readers = [user for user, _ in node.output.uses]
    return len(readers) == 1 and readers[0].op.elementwise


@SoftmaxOfInvariant.case(
    "openvino_loop_softmax_of_an_invariant",
    "Loop-5: states",
    "OpenVINO Loop-5",
    "An invariant input is the same in every iteration.",
    # softmax of (ln 3, 0) is (3/4, 1/4)
    run([2, [[1.0986122886681098, 0]], [[0, 0]]], [[[1.5, 0.5]]]),
)
def smallest() -> Model:
    m = IrModel()
    n, x, h = m.input("n", element=ElementType.I64), m.input("x", 1, 2), m.input("h", 1, 2)
    loop = m.loop(n)
    fixed, state = loop.invariant(x), loop.state(h)
    total = loop(Add(), state, loop(SoftMax1(axis=1), fixed))
    loop.carry(state, total)
    loop.last(total)
    return m.done(*loop.done())
