"""OVN114: a state that grows and is not an output of the loop."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop, number_of
from irloop.analysis.states import resizing_states
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.gather import GATHERS
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.dialects.openvino.slicing import Concat
from irloop.dialects.wire_ends import Inward, outward
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.loops import LastValue
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["GrowingStateIsNoOutput"]


class GrowingStateIsNoOutput(
    Fault,
    code="OVN114",
    engine="openvino",
    title="A state that grows and is not a loop output",
    effect=Effect.REFUSAL,
    fix="Make the state an output of the Loop.",
    avoided_by=("growing_states",),
):
    """A state that grows and is not an output of the loop.

    What happens:
        The inference ends with an error: object is not initialized.
    Where:
        The size of a state changes from iteration to iteration, and nothing reads its last value:
        OpenVINO removes outputs without readers.
    What irloop does:
        Conversion to IR gives the initial value a size that the plugin does not know. Otherwise the
        plugin would assume the sizes of the initial value in all iterations.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        shown = {
            item.result
            for item in outward(node, node.body())
            if isinstance(item.port, LastValue) and item.output.is_used
        }
        for state in resizing_states(node):
            own = state.parameter
            if state.result not in shown and own.is_used and not _only_first(state, node):
                yield f"state {own.name!r} may change its size and is not a loop output"


def _only_first(state: Inward, node: Node) -> bool:
    """Return whether a body with unknown sizes only gathers elements that the initial value has.

    OpenVINO then reads the right ones, although it assumes the size of the initial value.
    """
    own = state.parameter
    if all(value is own or shape_of(value).is_static for value in node.body().graph.inputs):
        return False
    dims = () if state.outer is None else shape_of(state.outer).dims
    for reader, position in own.uses:
        if not isinstance(reader.op, GATHERS) or position != 0:
            return False
        place, axis = (number_of(value) for value in reader.inputs[1:3])
        size = dims[0] if dims else 0
        if axis != 0 or place is None or not isinstance(size, int) or not 0 <= place < size:
            return False
    return True


@GrowingStateIsNoOutput.case(
    "openvino_loop_growing_state_is_no_output",
    "Loop-5: states",
    "OpenVINO Loop-5",
    "Back edges transfer values from the body's outputs to its parameters of the next iteration.",
    # the sums of the growing state are 3, 4 and 5
    run([3, [1, 2], 0], [12]),
    run([1, [1, 2], 0], [3]),
)
def smallest() -> Model:
    m = IrModel()
    n, x, y = m.input("n", element=ElementType.I64), m.input("x", 2), m.input("y")
    loop = m.loop(n)
    state, total = loop.state(x, dims=[None]), loop.state(y)
    more = loop(
        Add(), total, loop(ReduceSum(keep_dims=False), state, loop.constant([0], ElementType.I64))
    )
    loop.carry(state, loop(Concat(0), state, loop.constant([1])))
    loop.carry(total, more)
    loop.last(more)
    return m.done(*loop.done())
