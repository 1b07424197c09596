"""OVN140: a reduction of a tensor of rank 3, followed by arithmetic with a constant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from irloop.analysis.patterns import (
    number_of,
)
from irloop.analysis.plugin import is_constant
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Add,
)
from irloop.dialects.openvino.reduction import ReduceSum, Reduction
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ReductionOfRank3"]

#: Maximum number of elementwise operations that are visited; the plugin fuses fewer than this.
_FUSED = 32


class ReductionOfRank3(
    Fault,
    code="OVN140",
    engine="openvino",
    title="A reduction of a tensor of rank 3 and arithmetic with a constant",
    effect=Effect.WRONG,
    fix="Reduce a tensor of rank 4: add an axis of size 1 beside the axis, and reduce both.",
):
    """A reduction of a tensor of rank 3 and arithmetic with a constant.

    What happens:
        The plugin computes the arithmetic together with the reduction, and reads elements of the
        constant at wrong positions along axis 1.
    Where:
        A reduction of a tensor of rank 3 along its first or its last axis, followed by elementwise
        operations, of which one reads a constant that differs along axis 1. The Gaussian naive
        Bayes classifier of scikit-learn has this pattern. Of integers, also a reduction along the
        second or the last axis that meets a constant of one element.
    What irloop does:
        Conversion to IR adds an axis of size 1 and reduces both axes.
    """

    operations = (Reduction,)

    def find(self, node: Node) -> Iterator[str]:
        if reduced_wrongly(node) is not None:
            yield f"{node.name!r} reduces one of three axes, and arithmetic with a constant follows"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Add an axis of size 1 to a reduction of rank 3 whose result meets a constant in
        arithmetic.

        Given::

            y [N, C] = ReduceSum(x [N, C, L], 2)    z = Add(y, Const [1, C])

        Result::

            w [N, C, 1, L] = Unsqueeze(x, 2)    y = ReduceSum(w, [2, 3])    z = Add(y, Const [1, C])

        The new axis is reduced, too. If the reduction keeps its axis, an Unsqueeze restores it.
        Fault OVN140 is the reason."""
        axis = reduced_wrongly(node)
        op, data = node.op, node.inputs[0]
        if axis is None or data is None or not isinstance(op, Reduction):
            return
        place = w.constant([axis])
        wide = w(Unsqueeze(), data, place)
        made = w(replace(op, keep_dims=False), wide, w.constant([axis, axis + 1]))
        if op.keep_dims:
            made = w(Unsqueeze(), made, place)
        w.rewriter.replace_node(node, [made])


def reduced_wrongly(node: Node) -> int | None:
    """Return the axis of a reduction that OpenVINO may compute wrongly, or None otherwise.

    OpenVINO may fail if three conditions hold. The operand has rank 3. The node reduces a single
    axis, which is given by a constant and is the first or the last. An elementwise operation with a
    constant of several elements reads the result, directly or after other elementwise operations.
    Of integers, it also fails for the second and the last axis and a constant of one element.
    """
    if not isinstance(node.op, Reduction) or len(node.inputs) < 2:
        return None
    data, axis = node.inputs[0], number_of(node.inputs[1])
    if data is None or shape_of(data).rank != 3 or axis is None or not -3 <= axis < 3:
        return None
    axis, is_integer = axis % 3, element_of(data).is_integer
    if axis == 1 and not is_integer:
        return None
    least = 1 if axis and is_integer else 2
    return axis if _meets_a_constant(node.output, least) else None


def _meets_a_constant(value: Value, least: int) -> bool:
    """Return whether `value` reaches an operation with a constant of at least so many elements.

    The operation must be elementwise and read `value` directly or through a short chain of
    elementwise operations. Each value of the chain must have only one reader. OpenVINO's CPU plugin
    fuses such a chain with the operation that computes `value`.

    No operation of the chain may broadcast its value to a larger shape, because the plugin does not
    fuse such an operation.
    """
    for _ in range(_FUSED):
        readers = {user for user, _ in value.uses}
        if len(readers) != 1:
            return False
        (user,) = readers
        if not user.op.elementwise or len(user.outputs) != 1:
            return False
        others = (item for item in user.inputs if item is not None and item is not value)
        counts = (shape_of(item).count() for item in others if is_constant(item))
        if any(count is None or count >= least for count in counts):
            return True
        if _grows(value, user.output):
            return False
        value = user.output
    return False


def _grows(value: Value, result: Value) -> bool:
    """Return whether an axis of size 1 in `value` is known to be larger in `result`."""
    before, after = shape_of(value).dims, shape_of(result).dims
    if before is None or after is None or len(before) != len(after):
        return False
    pairs = zip(before, after, strict=True)
    return any(old == 1 and isinstance(new, int) and new > 1 for old, new in pairs)


@ReductionOfRank3.case(
    "reduction_of_rank_3",
    "IR: rare forms",
    "OpenVINO Add-1",
    "The sum of both operands, element by element, whatever computes the first.",
    run(
        [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]],
        [[[13, 27], [21, 35]], [[[16, 18], [30, 32]]]],
    ),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 2, 2, 2)
    total = m(ReduceSum(keep_dims=False), x, m.constant([2], ElementType.I64))
    first = m(ReduceSum(keep_dims=True), x, m.constant([0], ElementType.I64))
    return m.done(
        m(Add(), total, m.constant([[10, 20]])), m(Add(), first, m.constant([[[10], [20]]]))
    )
