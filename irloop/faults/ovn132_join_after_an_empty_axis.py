"""OVN132: a loop output is concatenated along an axis that follows an axis of size 0."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop, scanned_across
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Add,
)
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.case import empty, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["JoinAfterAnEmptyAxis"]


class JoinAfterAnEmptyAxis(
    Fault,
    code="OVN132",
    engine="openvino",
    title="A loop output concatenated along an axis that follows an axis of size 0",
    effect=Effect.CRASH,
    fix="Join along axis 0, and transpose after the loop.",
    avoided_by=("scan_axes",),
):
    """A loop output concatenated along an axis that follows an axis of size 0.

    What happens:
        The plugin divides by the number of elements of the axes before the joined one, and the
        process ends with SIGFPE. Slices have no such fault.
    Where:
        A Loop or TensorIterator concatenates values along an axis other than 0, and an earlier axis
        is 0 or not known before the model runs.
    What irloop does:
        Conversion to IR joins such values along axis 0, with a Transpose in the body and one after
        the loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for port in scanned_across(node) if is_loop(node) else ():
            name = f"output {port.external} of {node.name!r}"
            yield f"{name} is joined along axis {port.axis}, and an axis before it may be empty"


@JoinAfterAnEmptyAxis.case(
    "openvino_loop_joins_after_an_empty_axis",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "axis is specified for outputs whose values are concatenated over all iterations.",
    run([3, [1, 2]], [[[2, 4, 8], [4, 8, 16]]]),
    run([2, empty(0)], [empty(0, 2)]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=ElementType.I64))
    state = loop.state(m.input("x", None))
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.joined(loop(Unsqueeze(), double, loop.constant([1], ElementType.I64)), 1)
    return m.done(*loop.done())
