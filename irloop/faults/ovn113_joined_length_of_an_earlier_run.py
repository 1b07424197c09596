"""OVN113: a joined output of a loop that runs zero times."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.ranges import may_not_run
from irloop.analysis.shared_memory import readers_of
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.control_flow import If
from irloop.dialects.openvino.elementwise import Add, Negative
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3
from irloop.dialects.openvino.slicing import Slice, StridedSlice
from irloop.faults.case import empty, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Concatenated
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType

__all__ = ["JoinedLengthOfAnEarlierRun"]


class JoinedLengthOfAnEarlierRun(
    Fault,
    code="OVN113",
    engine="openvino",
    title="A joined output of a loop that runs zero times",
    effect=Effect.STALE,
    fix="Cut the output by the number of iterations that ran.",
    avoided_by=("joined_outputs",),
):
    """A joined output of a loop that runs zero times.

    What happens:
        The output keeps the length that it had when the loop last ran: in an earlier inference of
        the same compiled model, or in an earlier iteration of a loop around it. If the trip count
        is constant, the output has the length for that count already in the first inference, and
        its elements are uninitialised memory.
    Where:
        A Loop that may run zero times has a concatenated output.
    What irloop does:
        Conversion to IR cuts the output to the number of iterations that ran.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not may_not_run(node):
            return
        for port in node.body().ports.outputs:
            if isinstance(port, Concatenated) and not _is_cut(node.outputs[port.external]):
                yield f"output {port.external} is not cut to the iterations that ran"


def _is_cut(value: Value) -> bool:
    """Return whether a joined output has no readers other than slices, ShapeOf and If.

    Such readers may cut the output to the right length: a slice does so directly, the result of a
    ShapeOf may decide where to cut, and a branch of an If may contain the slice.
    """
    cutting = (Slice, StridedSlice, If, ShapeOf, ShapeOf3)
    return all(isinstance(user.op, cutting) for user in readers_of(value))


@JoinedLengthOfAnEarlierRun.case(
    "openvino_loop_that_stopped_early_runs_zero_times",
    "Loop-5: trip count and condition",
    "OpenVINO Loop-5",
    "input (trip_count, cond): for (int i = 0; i < trip_count && cond; ++i) { cond = ...; }",
    run([5, [1], [5]], [[8], [-1, -2, -4]]),
    run([0, [7], [5]], [[7], empty(0)]),
)
def smallest() -> Model:
    m = IrModel()
    n, x, limit = m.input("n", element=ElementType.I64), m.input("x", 1), m.input("limit", 1)
    loop = m.loop(n)
    state, bound = loop.state(x), loop.invariant(limit)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.condition(loop(Less(), double, bound))
    loop.last(double)
    loop.joined(loop(Negative(), state), 0)
    return m.done(*loop.done())
