"""OVN147: a NaN that an operation turns into a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.sources import sources
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.activation import (
    Clamp,
    HardSigmoid,
    LogSoftmax,
    ReLU,
    SoftMax1,
    SoftMax8,
)
from irloop.dialects.openvino.comparison import (
    IsNaN,
    Select,
)
from irloop.dialects.openvino.elementwise import (
    Exp,
    Maximum,
    Minimum,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["NanBecomesANumber"]

#: The operations in which OpenVINO loses a NaN.
LOSING = (Clamp, Exp, HardSigmoid, Maximum, Minimum, ReLU)

#: The operations that turn infinities into NaN.
MAKING = (LogSoftmax, SoftMax1, SoftMax8)

#: Constants with more elements than this are not read.
_MOST_ELEMENTS = 1 << 22


class NanBecomesANumber(
    Fault,
    code="OVN147",
    engine="openvino",
    title="A NaN that an operation turns into a number",
    effect=Effect.WRONG,
    fix="Replace f(x) by Select(IsNaN(x), x, f(x)).",
):
    """A NaN that an operation turns into a number.

    What happens:
        Exp of NaN is inf, ReLU of NaN is 0, Clamp of NaN is its lower bound, and Maximum and
        Minimum of NaN and y are y. So an undefined result looks like a valid one.
    Where:
        An Exp, ReLU, Clamp, HardSigmoid, Maximum or Minimum reads a value that is computed from a
        Softmax of a value with constant infinities. A Softmax of nothing but -inf is NaN, for
        example because a mask excludes every element, or because the range of allowed values is
        empty.
    What irloop does:
        Conversion to IR selects the NaN where the input of the operation is NaN.
    """

    operations = LOSING
    beside = MAKING

    def find(self, node: Node) -> Iterator[str]:
        for value in lost_nans(node):
            yield f"{value.name!r} may be NaN, and {node.name!r} turns it into a number"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Select the NaN of a masked Softmax where Exp, ReLU, Clamp, ... would lose it.

        Given::

            s = Select(mask, x, Const -inf)    p = Softmax(s)    y = Exp(p)

        Result::

            s = Select(mask, x, Const -inf)    p = Softmax(s)    y = Select(IsNaN(p), p, Exp(p))

        Exp of NaN is inf in OpenVINO.
        """
        lost = lost_nans(node)
        inputs = [value for value in node.inputs if value is not None]
        kept = w(node.op, *inputs)
        for value in lost:
            kept = w(Select(), w(IsNaN(), value), value, kept)
        w.rewriter.replace_node(node, [kept])


def lost_nans(node: Node) -> list[Value]:
    """Return the inputs in which OpenVINO may lose a NaN when it computes `node`.

    The result of the node is then a number where it should be NaN. A Softmax gives NaN for a row
    that holds only -inf. An input may therefore hold NaNs if it depends on a Softmax or LogSoftmax
    that itself depends on a constant with a row of infinities, such as an attention mask. An input
    is not returned if a Select after the node already restores its NaN.
    """
    if not isinstance(node.op, LOSING) or not element_of(node.output).is_float:
        return []
    data = node.inputs if isinstance(node.op, Maximum | Minimum) else node.inputs[:1]
    found = [value for value in dict.fromkeys(data) if value is not None]
    return [value for value in found if not _is_kept(node, value) and _may_be_nan(value)]


def _is_kept(node: Node, value: Value) -> bool:
    """Return whether NaNs in `value` survive `node`, because a later Select restores them.

    The Select chooses `value` where it is NaN, and the result of `node` elsewhere.
    """
    return any(
        user.inputs[1] is value and _is_nan_of(user.inputs[0], value)
        for user in _selects_after(node)
    )


def _selects_after(node: Node) -> Iterator[Node]:
    """The Selects whose last operand is the output of a node, or of another such Select."""
    pending = [node]
    for found in pending:
        users = [user for user, place in found.output.uses if place == 2]
        selects = [user for user in users if isinstance(user.op, Select)]
        yield from selects
        pending += selects


def _is_nan_of(test: Value | None, value: Value) -> bool:
    if test is None or not isinstance(test.producer.op, IsNaN):
        return False
    return test.producer.inputs[0] is value


def _may_be_nan(value: Value) -> bool:
    return any(
        isinstance(node.op, MAKING)
        and any(
            _is_infinite(source)
            for source in sources(item.producer for item in node.inputs if item is not None)
        )
        for node in sources([value.producer])
    )


def _is_infinite(node: Node) -> bool:
    """Return whether a node is a constant in which some row has only infinities.

    A row lies along the last axis. Constants with very many elements, and types narrower than 16
    bits, are not examined: for them the result is False.
    """
    if not isinstance(node.op, Constant):
        return False
    tensor = node.op.tensor
    count = tensor.type.shape.count()
    if not tensor.type.element.is_float or not count or count > _MOST_ELEMENTS:
        return False
    if tensor.type.element.bits < ElementType.F16.bits:
        return False
    import numpy as np

    infinite = np.isinf(tensor.numpy())
    return bool(infinite.all(-1).any()) if infinite.ndim else bool(infinite)


@NanBecomesANumber.case(
    "openvino_exp_of_nan",
    "IR: rare forms",
    "OpenVINO Exp-1",
    "The exponential of each element; that of NaN is NaN.",
    run([[True, False], [7, 8]], [[False, False]]),
    # The sum of no probabilities is 0, and 0 / 0 is NaN.
    run([[False, False], [7, 8]], [[True, True]]),
)
def smallest() -> Model:
    m = IrModel()
    allowed, x = m.input("allowed", None, element=ElementType.BOOLEAN), m.input("x", None)
    kept = m(Select(), allowed, x, m.constant(float("-inf"), ElementType.F32))
    return m.done(m(IsNaN(), m(Exp(), m(SoftMax8(0), kept))))
