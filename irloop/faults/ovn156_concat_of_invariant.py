"""OVN156: after a Concat, an operation computed in place overwrites a loop's invariant value."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_invariant, loop_around, same_memory
from irloop.analysis.shared_memory import is_overwritten, joins_in_place
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Negative
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["ConcatOfInvariant"]


class ConcatOfInvariant(
    Fault,
    code="OVN156",
    engine="openvino",
    title="An invariant value of a loop overwritten in the memory of a Concat",
    effect=Effect.WRONG,
    passes=("body_barriers",),
    avoided_by=("body_copies",),
):
    """An invariant value of a loop overwritten in the memory of a Concat.

    What happens:
        The plugin places the invariant value directly in the output memory of the Concat, so that
        no iteration has to copy it. If an operation such as Subtract then writes its result into
        that memory, it overwrites the invariant value: the second iteration reads the result of the
        first one.
    Where:
        A Concat in the body of a Loop or TensorIterator reads an invariant parameter, or a state
        that never changes, and an operation that may be computed in place reads the Concat,
        directly or through operations without effect such as a Slice of everything. All axes in
        front of the joined one have size 1, and the sizes are known when the model is compiled.
    What irloop does:
        Conversion to IR lets the Concat read a copy of the value; for a model that is already IR,
        the pass body_barriers does this.
    """

    operations = (Concat,)

    def find(self, node: Node) -> Iterator[str]:
        place = loop_around(node)
        if place is None or not joins_in_place(node):
            return
        given = [value for value in node.inputs if value is not None]
        if not any(is_invariant(place[1], same_memory(value)) for value in given):
            return
        if is_overwritten(node.output, viewed=True):
            yield f"Concat {node.name!r} reads an invariant input of its loop"


@ConcatOfInvariant.case(
    "openvino_loop_concat_of_an_invariant",
    "Loop-5: states",
    "OpenVINO Loop-5",
    "An invariant input is the same in every iteration.",
    run(
        [[[1], [2]], [[5], [6], [7]], [[4]]],
        [
            [[-1], [-2], [-5], [-1], [-2], [-6], [-1], [-2], [-7]],
            [[-4, -4, -4], [5, 6, 7]],
        ],
    ),
)
def smallest() -> Model:
    m = IrModel()
    x, y, h = m.input("x", 2, 1), m.input("y", 3, 1), m.input("h", 1, 1)
    loop = m.loop(m.constant(3, ElementType.I64))
    fixed, part, state = loop.invariant(x), loop.slice(y, 0), loop.state(h)
    loop.carry(state, state)
    loop.joined(loop(Negative(), loop(Concat(axis=0), fixed, part)), 0, 0, -1, 3, 3)
    loop.joined(loop(Negative(), loop(Concat(axis=0), state, loop(Negative(), part))), 1)
    return m.done(*loop.done())
