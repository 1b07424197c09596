"""Limits trip counts to numbers that OpenVINO can count to."""

from __future__ import annotations

from irloop.dialects.openvino.comparison import Less, Select
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Maximum, Minimum, Subtract
from irloop.dialects.openvino.shape import Reshape, Squeeze, Unsqueeze
from irloop.faults.repair import Known, Repair
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Carried, Invariant
from irloop.graph.model import Model, Node, Use, Value
from irloop.graph.op import Parameter
from irloop.graph.types import ElementType
from irloop.graph.walk import reached
from irloop.passes.base import ModelPass
from irloop.passes.session import Session
from irloop.passes.writers import writer_at

__all__ = ["LimitCounts", "is_long_count"]

#: The trip count that replaces larger ones; adding a small number to it does not overflow.
UNREACHED = 2**30

#: Operations that may occur between a trip count and the Loop that uses it.
_BETWEEN = (Add, Convert, Maximum, Minimum, Reshape, Select, Squeeze, Subtract, Unsqueeze)


class LimitCounts(Repair, ModelPass):
    """Limits each model input that Loops, in the main graph or in bodies, use as a trip count.

    Given::

        M: input i64      y = Loop(M, true, M):  s: M   z = Loop(s, ...)    s' = s - 1

    Result::

        M: input i64      m = Select(M as f32 < 2^31, M, 2^30)
        y = Loop(m, true, m):  s: m   z = Loop(s, ...)   s' = s - 1

    OpenVINO 2026.4 reads only the low 32 bits of M, so 2^32 would mean no iteration (fault
    OVN171). Only a conversion to f32 reads all bits. The limit of 2^30 iterations is too large to
    be reached before the condition ends the Loop.
    """

    name = "limit_counts"
    after = ("unread_slices",)
    dialects = frozenset({"openvino"})

    def had(self, node: Node, known: Known) -> bool:
        return is_long_count(node)

    def run_on_model(self, model: Model) -> bool:
        counts = [
            (value, uses)
            for value in model.graph.inputs
            if (uses := _long_counts(value)) and not self.transformation_callback(value.producer)
        ]
        if not counts:
            return False
        rewriter = Session(model).rewriter(model.graph)
        first = next(iter(model.graph.nodes), None)
        for value, uses in counts:
            c = writer_at(model, rewriter, first, value.producer.name)
            size = c(Convert(ElementType.F32), value)
            small = c(Less(), size, c.constant(2.0**31, ElementType.F32))
            limited = c(Select(), small, value, c.constant(UNREACHED))
            for node, position in uses:
                rewriter.set_input(node, position, limited)
        return True


def is_long_count(node: Node) -> bool:
    """Return whether `node` is an i64 model input that is used as a trip count of a Loop, without a
    limit.

    OpenVINO reads only the low 32 bits of a trip count. An input that a Select already limits
    before every such use does not count.
    """
    if not isinstance(node.op, Parameter) or node.owner is not None:
        return False
    return bool(_long_counts(node.output))


def _long_counts(value: Value) -> list[Use]:
    """Return the uses through which an i64 value becomes a trip count that is not limited.

    A use by a Select that limits the count is left out: an earlier conversion has inserted it. The
    result is empty if `value` is not i64, or is not known to have exactly one element.
    """
    if element_of(value) is not ElementType.I64 or shape_of(value).count() != 1:
        return []
    return [use for use in value.uses if _leads_to_count(use) and not _is_limit(use[0])]


def _is_limit(node: Node) -> bool:
    """Return whether `node` is a limit of a trip count, as the pass `LimitCounts` inserts it.

    It compares the count as f32. The export of a Loop to ONNX compares it with 0, as i64.
    """
    condition = node.inputs[0] if isinstance(node.op, Select) else None
    while condition is not None and isinstance(condition.producer.op, Convert):
        # OVN157 converts the conditions of Selects.
        condition = condition.producer.inputs[0]
    if condition is None or not isinstance(condition.producer.op, Less):
        return False
    count = condition.producer.inputs[0]
    return count is not None and element_of(count) is ElementType.F32


def _leads_to_count(use: Use) -> bool:
    """Return whether a use of a value makes it the trip count of a Loop.

    The value may reach the Loop through operations such as Add, Minimum and Reshape (`_BETWEEN`),
    and into bodies as an invariant or as the initial value of a state.
    """
    return any(
        isinstance(node.op, Loop) and position == 0 for node, position in reached([use], _further)
    )


def _further(use: Use) -> list[Use]:
    node, position = use
    inner = [
        body.graph.input(port.parameter)
        for body in node.bodies
        for port in body.ports.inputs
        if isinstance(port, Invariant | Carried) and port.external == position
    ]
    outputs = node.outputs if isinstance(node.op, _BETWEEN) else ()
    return [further for value in (*inner, *outputs) for further in value.uses]
