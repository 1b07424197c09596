"""OVN151: a Range whose step points away from its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irloop.analysis.sources import MOST, sources
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Less, Select
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Abs,
    Add,
    Maximum,
    Minimum,
    Multiply,
)
from irloop.dialects.openvino.gather import Gather, Gather7, Gather8
from irloop.dialects.openvino.generate import Range, Range4
from irloop.dialects.openvino.reduction import ReduceMax, ReduceMin, ReduceProd, ReduceSum
from irloop.dialects.openvino.shape import Reshape, ShapeOf, ShapeOf3, Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Concat, Slice, StridedSlice
from irloop.faults.case import empty, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["RangeThatPointsAway"]

#: Operations of which only input 0 decides which numbers the result has.
_CHOOSING = (
    Convert,
    Gather,
    Gather7,
    Gather8,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    Reshape,
    Slice,
    Squeeze,
    StridedSlice,
    Unsqueeze,
)

#: Operations whose result is not negative if no operand is.
_KEEPING = (Add, Concat, Maximum, Minimum, Multiply)

#: Operations whose result is never negative.
_SIZES = (Abs, ShapeOf, ShapeOf3)

#: Bounds and sizes are small; the elements of larger constants are not read.
_FEW = 64


class RangeThatPointsAway(
    Fault,
    code="OVN151",
    engine="openvino",
    title="A Range whose step points away from its end",
    effect=Effect.WRONG,
    fix="Replace stop by Maximum(stop, start), or by Minimum(stop, start) if step is negative.",
):
    """A Range whose step points away from its end.

    What happens:
        OpenVINO counts the steps without their sign: a Range from 0 to -3 with step 1 has the
        elements 0, 1 and 2. By the specification it is empty, as in ONNX.
    Where:
        A Range with a start, stop or step that is not constant, unless sizes show that stop does
        not lie before start.
    What irloop does:
        Conversion to IR replaces stop by Maximum(stop, start), or by Minimum(stop, start) for a
        negative step.
    """

    operations = (Range, Range4)

    def find(self, node: Node) -> Iterator[str]:
        if may_point_away(node):
            yield f"the step of {node.name!r} may point away from its end"

    def is_repaired(self, node: Node) -> bool:
        if not may_point_away(node):
            return False
        kinds = [
            ElementType.DYNAMIC if value is None else element_of(value) for value in node.inputs
        ]
        return ElementType.DYNAMIC not in kinds and kinds[0] == kinds[1]

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Limit the end of a Range by its start.

        Given::

            y = Range(0, n, 1)

        Result::

            m = Maximum(n, 0)    y = Range(0, m, 1)

        For a negative step, the pass inserts a Minimum instead of the Maximum. For a step that is
        not constant, it inserts a Minimum, a Maximum, and a Select of the right one. Fault OVN151
        is the reason."""
        start, stop, step = (value for value in node.inputs if value is not None)
        own = step.producer.op
        if isinstance(own, Constant):
            falls = bool((own.tensor.numpy() < 0).any())
            limited = w(Minimum() if falls else Maximum(), stop, start)
        else:
            falls_now = w(Less(), step, w.constant(0, element_of(step)))
            ends = [w(limit, stop, start) for limit in (Minimum(), Maximum())]
            limited = w(Select(), falls_now, *ends)
        w.rewriter.set_input(node, 1, limited)


def may_point_away(node: Node) -> bool:
    """Return whether a Range may point away from its stop, such as from 5 to 2 in steps of 1.

    The result is false if limits in the graph exclude this, and for operations other than
    Range. It is also false if start, stop and step are constants, because OpenVINO computes such a
    Range itself, and correctly.
    """
    if not isinstance(node.op, Range | Range4) or None in node.inputs:
        return False
    start, stop, step = (value for value in node.inputs if value is not None)
    delta = _constant(step)
    if delta is None:
        return not _is_stopped(stop, start)
    if _constant(start) is not None and _constant(stop) is not None:
        return False
    if not _is_never_negative(step):
        return not _is_limited(stop, start, Minimum)
    if _is_limited(stop, start, Maximum) or _is_further(stop, start):
        return False
    return not (_is_zero(start) and _is_never_negative(stop))


def _constant(value: Value) -> Tensor | None:
    op = value.producer.op
    return op.tensor if isinstance(op, Constant) else None


def _is_zero(value: Value) -> bool:
    tensor = _constant(value)
    return tensor is not None and tensor.count <= _FEW and not tensor.numpy().any()


def _is_limited(stop: Value, start: Value, bound: type[Op]) -> bool:
    """Return whether `stop` is computed by `bound` (Maximum or Minimum) from `start` and another
    value.
    """
    return isinstance(stop.producer.op, bound) and start in stop.producer.inputs


def _is_stopped(stop: Value, start: Value) -> bool:
    """Return whether `stop` lies in the direction of the step, whatever the sign of the step.

    This holds if `stop` is Select(step < 0, Minimum(start, x), Maximum(start, y)): it is at most
    `start` for negative steps, and at least `start` for others. The result is true for each Select
    of such a Minimum and such a Maximum, because the condition of the Select is not checked.
    """
    if not isinstance(stop.producer.op, Select) or None in stop.producer.inputs:
        return False
    _, falling, rising = (value for value in stop.producer.inputs if value is not None)
    return _is_limited(falling, start, Minimum) and _is_limited(rising, start, Maximum)


def _is_further(stop: Value, start: Value) -> bool:
    """Return whether `stop` is the sum of `start` and a value that is certainly not negative."""
    end, begin = _origin(stop), _origin(start)
    if not isinstance(end.producer.op, Add):
        return False
    terms = [_origin(value) for value in end.producer.inputs if value is not None]
    return any(
        term is begin and _is_never_negative(other)
        for term, other in zip(terms, reversed(terms), strict=True)
    )


def _origin(value: Value) -> Value:
    """Follow `value` back through conversions and reshapes; return the value before them.

    The operations are Convert, Reshape, Squeeze and Unsqueeze. If none of them produces `value`, it
    is returned itself.
    """
    while isinstance(value.producer.op, Convert | Reshape | Squeeze | Unsqueeze):
        source = value.producer.inputs[0]
        if source is None:
            break
        value = source
    return value


def _is_never_negative(value: Value) -> bool:
    """Return whether constants and sizes prove that no element of a value is negative."""
    for visited, node in enumerate(sources([value.producer], _deciding)):
        if visited == MOST or not _keeps_sign(node):
            return False
    return True


def _keeps_sign(node: Node) -> bool:
    """Return whether the result of a node is not negative where its operands are not."""
    if isinstance(node.op, Constant):
        tensor = node.op.tensor
        return tensor.count <= _FEW and not (tensor.numpy() < 0).any()
    return isinstance(node.op, _CHOOSING + _KEEPING + _SIZES)


def _deciding(node: Node) -> Sequence[Value | None]:
    """Return the inputs of a node that decide whether its result may be negative.

    For an operation that only chooses elements, such as Gather, this is the first input. For
    ShapeOf and Abs the list is empty, because their results are never negative.
    """
    if isinstance(node.op, _SIZES):
        return ()
    return node.inputs[:1] if isinstance(node.op, _CHOOSING) else node.inputs


@RangeThatPointsAway.case(
    "range_that_points_away",
    "IR: rare forms",
    "OpenVINO Range-4",
    "Range generates a sequence of numbers from start up to, but excluding, stop.",
    run([3], [[0, 1, 2]]),
    run([-3], [empty(0)]),
    run([0], [empty(0)]),
)
def smallest() -> Model:
    m = IrModel()
    stop = m.input("stop", element=ElementType.I64)
    numbers = m(
        Range4(output_type=ElementType.I64),
        m.constant(0, ElementType.I64),
        stop,
        m.constant(1, ElementType.I64),
    )
    return m.done(m(Convert(ElementType.F32), numbers))
