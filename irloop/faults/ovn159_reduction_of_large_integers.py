"""OVN159: reductions of large integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.operands import axes_of
from irloop.analysis.ranges import may_be_large
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.padding import Pad
from irloop.dialects.openvino.reduction import (
    ReduceL1,
    ReduceL2,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    Reduction,
)
from irloop.dialects.openvino.search import CumSum, TopK3
from irloop.dialects.openvino.shape import Squeeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ReductionOfLargeIntegers"]


class ReductionOfLargeIntegers(
    Fault,
    code="OVN159",
    engine="openvino",
    title="A reduction of integers with more than 24 bits",
    effect=Effect.WRONG,
    fix="Take the last of the running sums of CumSum for a sum, and TopK with k = 1 for a maximum.",
):
    """A reduction of integers with more than 24 bits.

    What happens:
        The CPU plugin reduces integers in f32, whose numbers have 24 bits: the maximum of 16777217
        and 5 is 16777216.
    Where:
        A reduction of i32, i64, u32 or u64, unless its data are known to be sizes, positions, small
        constants or numbers computed from them.
    What irloop does:
        Conversion to IR writes sums of i32 and i64 as running sums, and maxima and minima along
        axes of known sizes as TopK. Other reductions are left as they are.
    """

    # Few models reduce such numbers, and from IR to ONNX the result becomes exact.
    concerns_conversion = False
    operations = (ReduceL1, ReduceL2, ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum)

    def find(self, node: Node) -> Iterator[str]:
        if is_reduced_in_f32(node):
            element = element_of(node.output)
            yield f"{node.op.type} {node.name!r} of {element} may need more than 24 bits"

    def is_repaired(self, node: Node) -> bool:
        if not isinstance(node.op, ReduceSum | ReduceMax | ReduceMin) or not is_reduced_in_f32(
            node
        ):
            return False
        data, axes = node.inputs[0], _axes(node)
        if data is None or not axes or element_of(data) not in (ElementType.I32, ElementType.I64):
            return False
        sizes = [shape_of(data).dim(axis) for axis in axes]
        if 0 in sizes:
            return False
        return isinstance(node.op, ReduceSum) or all(isinstance(size, int) for size in sizes)

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Write sums of large integers as running sums, and maxima and minima as TopK.

        Given::

            y = ReduceSum(x [N, 5], 1)    z = ReduceMax(x [N, 5], 1)

        Result::

            y = Squeeze(Gather(CumSum(x, 1), Const [-1], 1), 1)
            z = Squeeze(TopK(x, 1, axis=1), 1)

        OpenVINO reduces in f32, but computes running sums and TopK exactly. An axis of unknown size
        may be empty, so a zero is appended to it before its running sum. Other reductions are not
        supported, nor are unsigned integers: from 2^31 on, OpenVINO takes them for negative."""
        op, result, axes = node.op, node.inputs[0], _axes(node)
        assert isinstance(op, Reduction)
        assert result is not None
        assert axes is not None
        for axis in axes:
            if isinstance(op, ReduceSum):
                result = _total(w, result, axis)
            else:
                result = _extreme(w, op, result, axis)
        if not op.keep_dims:
            result = w(Squeeze(), result, w.constant(axes))
        w.rewriter.replace_node(node, [result])


def is_reduced_in_f32(node: Node) -> bool:
    """Return whether `node` is a reduction of integers that may need more than 24 bits."""
    data = node.inputs[0] if isinstance(node.op, Reduction) else None
    return data is not None and may_be_large(data)


def _total(w: NodeWriter, value: Value, axis: int) -> Value:
    """Emit the sum of `value` along `axis`, which stays as an axis of size 1."""
    shape = shape_of(value)
    if not isinstance(shape.dim(axis), int):
        assert shape.rank is not None, "the reduction has axes of known positions"
        none = w.constant([0] * shape.rank)
        one = w.constant([int(at == axis) for at in range(shape.rank)])
        value = w(Pad(), value, none, one, w.constant(0, element_of(value)))
    place = w.constant(axis)
    return w(Gather8(), w(CumSum(), value, place), w.constant([-1]), place)


def _extreme(w: NodeWriter, op: Reduction, value: Value, axis: int) -> Value:
    """Emit the maximum or minimum of `value` along `axis`, which stays as an axis of size 1."""
    mode = "max" if isinstance(op, ReduceMax) else "min"
    topk = TopK3(axis=axis, mode=mode, sort="value")
    return w.rewriter.insert(
        topk,
        (value, w.constant(1)),
        before=w.before,
        name=f"{w.stem}/TopK",
        n_outputs=2,
    ).outputs[0]


def _axes(node: Node) -> list[int] | None:
    """The axes of a reduction; None if they or the rank of the data are not known."""
    data, axes = node.inputs[0], axes_of(node)
    rank = None if data is None else shape_of(data).rank
    return None if rank is None or axes is None else sorted({axis % rank for axis in axes})


@ReductionOfLargeIntegers.case(
    "reduction_of_large_integers",
    "IR: rare forms",
    "OpenVINO ReduceSum-1",
    "The sum and the maximum of a list.",
    run([[1, 2]], [3, 2]),
    run([[16777217, -16777215, 5]], [7, 16777217]),
)
def smallest() -> Model:
    m = IrModel()
    x, axis = m.input("x", None, element=ElementType.I32), m.constant([0], ElementType.I64)
    return m.done(m(ReduceSum(), x, axis), m(ReduceMax(), x, axis))
