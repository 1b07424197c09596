"""OVN129: a Concat of one value that several operations read."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Abs,
    Negative,
)
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node

__all__ = ["ConcatOfOne"]


class ConcatOfOne(
    Fault,
    code="OVN129",
    engine="openvino",
    title="A Concat of one value that several operations read",
    effect=Effect.WRONG,
    fix="Let the readers read the input of the Concat.",
):
    """A Concat of one value that several operations read.

    What happens:
        The plugin gives the Concat the memory of its input, and computes one of the readers in that
        memory. The other readers then read the result of that reader.
    Where:
        A Concat has one input, and its output has several readers.
    What irloop does:
        Conversion to IR writes no Concat of one value.
    """

    operations = (Concat,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Concat) or len(node.inputs) != 1:
            return
        readers = node.outputs[0].uses
        if len(readers) > 1:
            yield f"Concat {node.name!r} has one input and {len(readers)} readers"


@ConcatOfOne.case(
    "concat_of_one",
    "IR: rare forms",
    "OpenVINO Concat-1",
    "One input or more; of one input the output is that input.",
    run([[1, -2, 3]], [[1, -2, 3], [1, 2, 3], [-1, 2, -3]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", None)
    same = m(Concat(0), x)
    return m.done(same, m(Abs(), same), m(Negative(), same))
