"""OVN151: a Range whose step points away from its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.ranges import bounds_of, is_never_negative
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Less, Select
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Add,
    Maximum,
    Minimum,
)
from irloop.dialects.openvino.generate import Range, Range4
from irloop.dialects.openvino.shape import Reshape, Squeeze, Unsqueeze
from irloop.faults.case import empty, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["RangeThatPointsAway"]


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
        A Range with a start, stop or step that is not constant, unless its bounds show that
        stop does not lie before start.
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

        For a negative step, the pass inserts a Minimum instead of the Maximum. For a step whose
        sign is not known, it inserts a Minimum, a Maximum, and a Select of the right one."""
        start, stop, step = (value for value in node.inputs if value is not None)
        steps = bounds_of(step)
        if steps.low >= 0 or steps.high <= 0:
            limited = w(Maximum() if steps.low >= 0 else Minimum(), stop, start)
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
    are_constant = all(isinstance(value.producer.op, Constant) for value in (start, stop, step))
    if are_constant or _is_stopped(stop, start):
        return False
    begins, ends, steps = (bounds_of(value) for value in (start, stop, step))
    if steps.low >= 0:
        is_sure = _is_limited(stop, start, Maximum) or _is_further(stop, start)
        return not (is_sure or ends.low >= begins.high)
    if steps.high <= 0:
        return not (_is_limited(stop, start, Minimum) or ends.high <= begins.low)
    return True


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
        term is begin and is_never_negative(other)
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
