"""OVN123: an output of an If whose size is known only at run time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import LogicalNot, LogicalOr
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.dialects.openvino.slicing import Slice
from irloop.dialects.wires import branch_ports
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import Builder, element_of, shape_of
from irloop.graph.model import Body, Model, Node, Value
from irloop.graph.op import Op, Result
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["BranchOutputLosesItsMemory"]


class BranchOutputLosesItsMemory(
    Fault,
    code="OVN123",
    engine="openvino",
    title="An output of an If whose size is known only at run time",
    effect=Effect.WRONG,
    fix="Read the output through a Slice from 0 to its ShapeOf.",
    repairs_always=True,
):
    """An output of an If whose size is known only at run time.

    What happens:
        Before the plugin computes the operations after the If, it infers their shapes and allocates
        their memory, up to an operation whose shape depends on values. It ignores that these
        operations still have to read the output of the If, and lets another value use the memory of
        this output. The output is lost if that value is larger than in any earlier inference or
        iteration. This also happens to an output of the model that the If computes, if the plugin
        converts its element type, because the conversion is an operation after the If.
    Where:
        An If has an output of unknown size, and an operation other than ShapeOf or Slice reads it.
    What irloop does:
        Conversion to IR lets operations read such an output through a Slice of the whole output.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            if loses_its_memory(value):
                yield f"output {value.index} of the If has a size that is known only at run time"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Let the readers of an If output of unknown size read it through a Slice of the whole
        output.

        Given::

            y [?, 4] = If(c, ...)    z = y + w

        Result::

            y [?, 4] = If(c, ...)    s = Slice(y, [0, 0], ShapeOf(y))    z = s + w

        The shape of this Slice depends on values, so the plugin allocates memory for the operations
        after it only once the If has run. The If itself stays.
        """
        for value in node.outputs:
            _read_by_slice(value, w)


def loses_its_memory(value: Value) -> bool:
    """Return whether OpenVINO may overwrite an output of an If before the output is read.

    This only concerns outputs of unknown size that are read by nodes other than ShapeOf and Slice:
    these two read an output early enough. Strings and scalars are safe, too.
    """
    if not isinstance(value.producer.op, ov.If) or not shape_of(value).rank:
        return False
    if shape_of(value).is_static or element_of(value) is ElementType.STRING:
        return False
    return any(not isinstance(user.op, ShapeOf3 | Slice) for user, _ in value.uses)


def _read_by_slice(value: Value, w: NodeWriter) -> None:
    """Insert a Slice of the whole value after an If output, and connect the readers to it.

    ShapeOf nodes still read the output itself. Nothing happens unless OpenVINO may overwrite the
    output before it is read (see `loses_its_memory`).
    """
    rank = shape_of(value).rank
    if rank is None or not loses_its_memory(value):
        return
    uses = [use for use in value.uses if not isinstance(use[0].op, ShapeOf3)]
    w = w.following()
    part = w(
        Slice(),
        value,
        w.constant([0] * rank),
        w(ShapeOf3(ElementType.I64), value),
        w.constant([1] * rank),
        w.constant(range(rank)),
    )
    for user, position in uses:
        w.rewriter.set_input(user, position, part)
    if any(isinstance(user.op, Result) for user, _ in uses):
        part.names, value.names = value.names, ()


def _branch(label: str, outer: Builder, x: Value, op: Op, operands: int) -> Body:
    body = outer.nested(label)
    given = body.parameter("given", x.type)
    body.result(body(op, *[given] * operands), body.names.fresh("result"))
    return Body(label, body.graph, branch_ports((1,), 1))


@BranchOutputLosesItsMemory.case(
    "openvino_if_is_an_output",
    "IR: rare forms",
    "OpenVINO If-8",
    "The outputs of If are the results of the branch that ran.",
    run(
        [True, [True, True, True, False], [[1, 2, 3, 4]]],
        [[True, True, True, False], [[2, 3, 4, 5]]],
    ),
    run([False, [True], [[1, 2]]], [[False], [[2, 3]]]),
)
def smallest() -> Model:
    m = IrModel()
    c, x = (
        m.input("c", element=ElementType.BOOLEAN),
        m.input("x", None, element=ElementType.BOOLEAN),
    )
    k = m.input("k", 1, None, element=ElementType.I64)
    bodies = (
        _branch("then", m.builder, x, LogicalOr(), 2),
        _branch("else", m.builder, x, LogicalNot(), 1),
    )
    node = m.builder.emit(ov.If(), c, x, n_outputs=1, bodies=bodies)
    return m.done(node.output, m(Add(), k, m.constant(1, ElementType.I64)))
