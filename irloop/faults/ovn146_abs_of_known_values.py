"""OVN146: an Abs of rank 1 that depends on constants and sizes alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irloop.analysis.sources import is_computed_from_inputs
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Abs,
    Multiply,
    Subtract,
)
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3, Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["AbsOfKnownValues"]


class AbsOfKnownValues(
    Fault,
    code="OVN146",
    engine="openvino",
    title="An Abs of rank 1 that depends on constants and sizes alone",
    effect=Effect.WRONG,
    fix="Compute the Abs with another dimension: Squeeze(Abs(Unsqueeze(x, 0)), 0).",
):
    """An Abs of rank 1 that depends on constants and sizes alone.

    What happens:
        OpenVINO assumes that such values are sizes, which are not negative, and removes the Abs:
        the absolute value of 1 - 2 is -1.
    Where:
        The operand of an Abs is a vector that is computed from ShapeOf and constants, such as the
        distance of two positions in a sequence (Range of a size, Subtract, Abs) or the row of a
        table that Gather reads. An Abs of a Concat is affected, too, if one operand of the Concat
        is computed in this way.
    What irloop does:
        Conversion to IR writes Squeeze(Abs(Unsqueeze(x, 0)), 0).
    """

    operations = (Abs,)

    def find(self, node: Node) -> Iterator[str]:
        if leaves_out_abs(node):
            yield f"{node.name!r} depends on constants and sizes alone"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Compute the Abs of a value of rank 1 in two dimensions.

        This applies if the value depends only on constants and sizes.

        Given::

            n [1] = ShapeOf(x)    d [1] = Subtract(n, Const 2)    y [1] = Abs(d)

        Result::

            n [1] = ShapeOf(x)    d [1] = Subtract(n, Const 2)
            u [1,1] = Unsqueeze(d, 0)    a [1,1] = Abs(u)    y [1] = Squeeze(a, 0)
        """
        data = node.inputs[0]
        assert data is not None
        first = w.constant([0])
        wide = w(Abs(), w(Unsqueeze(), data, first))
        w.rewriter.replace_node(node, [w(Squeeze(), wide, first)])


def leaves_out_abs(node: Node) -> bool:
    """Return whether `node` is an Abs that OpenVINO would wrongly remove.

    OpenVINO assumes that a vector computed from constants and shapes alone holds sizes, which are
    not negative. An Abs of such a vector is removed, and so is an Abs of a Concat with one such
    operand. An operand of unknown rank counts as a vector, unless it is the result of an Unsqueeze.

    The Abs of a Constant stays correct, because OpenVINO folds it. If the graph is too large to
    search, the result is True.
    """
    data = node.inputs[0] if isinstance(node.op, Abs) else None
    if data is None or shape_of(data).rank not in (1, None):
        return False
    if shape_of(data).rank is None and isinstance(data.producer.op, Unsqueeze):
        return False
    parts = data.producer.inputs if isinstance(data.producer.op, Concat) else (data,)
    return any(
        part is not None
        and not isinstance(part.producer.op, Constant)
        and not is_computed_from_inputs(part.producer, _inputs_unless_a_shape)
        for part in parts
    )


def _inputs_unless_a_shape(node: Node) -> Sequence[Value | None]:
    """Return the inputs of a node, but none for a ShapeOf.

    A ShapeOf does not read the elements of its operand.
    """
    return () if isinstance(node.op, ShapeOf | ShapeOf3) else node.inputs


@AbsOfKnownValues.case(
    "openvino_abs_of_known_values",
    "IR: rare forms",
    "OpenVINO Abs-1",
    "The absolute value of each element, whatever it is computed from.",
    run([[[1, 2]]], [[2, 1], [3, 4]]),
    run([[[1, 2]] * 5], [[2, 1], [3, 4]]),
)
def smallest() -> Model:
    m = IrModel()
    sizes = m(ShapeOf3(), m.input("x", None, 2))
    table, zero = m.constant([[3, -4], [-1, 2]], ElementType.I64), m.constant(0, ElementType.I64)
    row = m(Gather8(), table, zero, zero)
    return m.done(
        m(Abs(), m(Subtract(), sizes, m.constant([3], ElementType.I64))),
        m(Abs(), m(Multiply(), row, m.constant([1, 1], ElementType.I64))),
    )
