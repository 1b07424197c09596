"""OVN133: Abs of a Concat of rank 1 that has another reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Abs,
)
from irloop.dialects.openvino.shape import Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["AbsOfAConcat"]


class AbsOfAConcat(
    Fault,
    code="OVN133",
    engine="openvino",
    title="Abs of a Concat of rank 1 that has another reader",
    effect=Effect.WRONG,
    fix="Compute the Abs with another dimension: Squeeze(Abs(Unsqueeze(x, 0)), 0).",
    repairs_always=True,
):
    """Abs of a Concat of rank 1 that has another reader.

    What happens:
        OpenVINO moves the Abs to the operands of the Concat. All other readers then get absolute
        values, too, and so does the model output if the Concat is one.
    Where:
        An Abs reads the result of a Concat of rank 1 that something else reads, too. Among the
        elementwise operations, the fault was found with Abs only.
    What irloop does:
        Conversion to IR writes Squeeze(Abs(Unsqueeze(x, 0)), 0).
    """

    operations = (Abs,)

    def find(self, node: Node) -> Iterator[str]:
        if overwrites_its_concat(node):
            yield f"Abs {node.name!r} changes a Concat that something else reads, too"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Compute the Abs of a Concat of rank 1 with other readers in two dimensions.

        Given::

            c [2] = Concat(x, x)    y [2] = Abs(c)    z [2] = Exp(c)

        Result::

            c [2] = Concat(x, x)    u [1,2] = Unsqueeze(c, 0)    a [1,2] = Abs(u)
            y [2] = Squeeze(a, 0)    z [2] = Exp(c)

        OpenVINO would compute z from the absolute values. Maximum(c, -c) is not an alternative,
        because it may be -0 for 0.
        """
        data = node.inputs[0]
        assert data is not None
        first = w.constant([0])
        wide = w(Abs(), w(Unsqueeze(), data, first))
        w.rewriter.replace_node(node, [w(Squeeze(), wide, first)])


def overwrites_its_concat(node: Node) -> bool:
    """Return whether `node` is an Abs of a Concat that OpenVINO would apply for other readers of
    the Concat, too.

    This happens if the result of the Concat has rank 1 (or an unknown rank) and also has
    another reader. The other reader then gets absolute values.
    """
    value = node.inputs[0] if isinstance(node.op, Abs) else None
    if value is None or not isinstance(value.producer.op, Concat):
        return False
    return shape_of(value).rank in (1, None) and len(value.uses) > 1


@AbsOfAConcat.case(
    "abs_of_a_concat",
    "IR: rare forms",
    "OpenVINO Concat-1",
    "The output has the elements of all inputs in turn, whatever reads it.",
    run([[-3]], [[-3, -3], [3, 3]]),
    run([[-4]], [[-4, -4], [4, 4]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 1)
    both = m(Concat(axis=0), x, x)
    return m.done(both, m(Abs(), both))
