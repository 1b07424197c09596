"""Limits trip counts that loop bodies capture to the largest number that OpenVINO can count to."""

from __future__ import annotations

from irloop.dialects.openvino.comparison import Less, Select
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Maximum
from irloop.dialects.openvino.shape import Reshape, Squeeze
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Invariant
from irloop.graph.model import Model, Use, Value
from irloop.graph.types import ElementType
from irloop.passes.base import ModelPass
from irloop.passes.forms import Emitter
from irloop.passes.session import Session

__all__ = ["COUNTABLE", "LimitCapturedCounts"]

#: OpenVINO counts in 32 bits: larger trip counts mean no limit.
COUNTABLE = 2**31 - 1

#: Operations between a captured trip count and the Loop that uses it.
_BETWEEN = (Convert, Less, Maximum, Reshape, Select, Squeeze)


class LimitCapturedCounts(ModelPass):
    """Limits a model input to 2^31 - 1 where a body uses it as a trip count.

    Given::

        M: input i64      y = Loop(3, true, M):  n: M   z = Loop(n, ...)

    Result::

        M: input i64      m = Select(M as f32 < 2^31, M, 2^31 - 1)
        y = Loop(3, true, m):  n: m   z = Loop(n, ...)

    OpenVINO 2026.4 passes only the low 32 bits of M to bodies. Only a conversion to f32 reads all
    bits.
    """

    name = "limit_captured_counts"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        found = [
            (value, uses)
            for value in model.graph.inputs
            if element_of(value) is ElementType.I64 and shape_of(value).count() == 1
            if (uses := [use for use in value.uses if _is_captured_count(use)])
        ]
        if not found:
            return False
        rewriter = Session(model).rewriter(model.graph)
        first = next(iter(model.graph.nodes), None)
        for value, uses in found:
            c = Emitter(rewriter, first, value.producer.name)
            size = c.emit(Convert(ElementType.F32), value)
            small = c.emit(Less(), size, c.constant(2.0**31, ElementType.F32))
            limited = c.emit(Select(), small, value, c.constant(COUNTABLE))
            for node, position in uses:
                rewriter.set_input(node, position, limited)
        return True


def _is_captured_count(use: Use) -> bool:
    """True if a body that captures this input of its node uses it as a trip count."""
    node, position = use
    return any(
        isinstance(port, Invariant)
        and port.external == position
        and _is_count(body.graph.inputs[port.parameter])
        for body in node.bodies
        for port in body.ports.inputs
    )


def _is_count(value: Value) -> bool:
    """True if a Loop uses `value` as its trip count, in this graph or in a body."""
    pending, seen = [value], set[Value]()
    while pending:
        item = pending.pop()
        if item in seen:
            continue
        seen.add(item)
        for use in item.uses:
            node, position = use
            if isinstance(node.op, Loop) and position == 0:
                return True
            if _is_captured_count(use):
                return True
            if isinstance(node.op, _BETWEEN):
                pending += node.outputs
    return False
