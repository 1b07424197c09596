"""OVN173: attention over a number of positions that changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import has_one_constant_element
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.activation import SoftMax1, SoftMax8
from irloop.dialects.openvino.elementwise import Divide, Exp, Multiply, Subtract
from irloop.dialects.openvino.matmul import Einsum, MatMul
from irloop.dialects.openvino.reduction import ReduceMax, ReduceSum
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Op

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["AttentionOfChangingLength"]


class AttentionOfChangingLength(
    Fault,
    code="OVN173",
    engine="openvino",
    title="Attention over a number of positions that changes",
    effect=Effect.WRONG,
    fix="Compile with SNIPPETS_MODE DISABLE, or multiply with Maximum(p, p) of the weights p.",
):
    """Attention over a number of positions that changes.

    What happens:
        The CPU plugin compiles both products and the Softmax as one operation. If the first run has
        one position, the numbers are wrong whenever there are as many positions as fit into a
        register (16) or more: in a later inference of the same compiled model, and in a later
        iteration of a loop that appends to its memory.
    Where:
        MatMul(Softmax(MatMul(q, k)), v), in which the number of keys is not known in advance,
        without a mask; the first product may be scaled by a constant or have activations, and
        each product may be an Einsum. The Softmax may be written with Exp, ReduceSum and Divide.
        Nothing else reads the values between the products.
    What irloop does:
        Conversion to IR inserts Maximum(p, p) between the Softmax, whose result is p, and the
        second product.
    """

    operations = (MatMul, Einsum)
    beside = (SoftMax1, SoftMax8, Exp)

    def find(self, node: Node) -> Iterator[str]:
        for position in weights_of_unknown_length(node):
            yield f"input {position} of {node.name!r} is a Softmax over an axis of unknown size"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Copy the weights of the second product.

        Given::

            p = Softmax(MatMul(q, k))    y = MatMul(p, v)

        Result::

            p = Softmax(MatMul(q, k))    y = MatMul(Maximum(p, p), v)
        """
        for position in weights_of_unknown_length(node):
            weights = node.inputs[position]
            assert weights is not None
            w.rewriter.set_input(node, position, w.own_copy(weights))


def weights_of_unknown_length(node: Node) -> list[int]:
    """The operands of a product that OpenVINO compiles together with the operations before it.

    Such an operand is a Softmax over a last axis of unknown size, and the operand of the Softmax is
    another product, perhaps scaled by constants and with activations. Each of these values must
    have one reader. A MatMul has weights on its left only.
    """
    operands = enumerate(node.inputs[:1] if isinstance(node.op, MatMul) else node.inputs)
    return [at for at, value in operands if value is not None and _are_weights(value)]


def _are_weights(value: Value) -> bool:
    dims = shape_of(value).dims
    is_open = dims is not None and len(dims) > 1 and not isinstance(dims[-1], int)
    return is_open and _scores(value) is not None


def _scores(weights: Value) -> Value | None:
    """The product of matrices that a Softmax over the last axis normalises; None if none does."""
    value, readers = _normalised(weights)
    while value is not None and len(value.uses) == readers:
        node, readers = value.producer, 1
        if isinstance(node.op, MatMul | Einsum):
            return value
        value = node.inputs[0] if _is_kept(node) else None
    return None


def _normalised(weights: Value) -> tuple[Value | None, int]:
    """The operand of a Softmax that nothing but one product reads, and its number of readers.

    OpenVINO recognises exp(x) / sum(exp(x)), too, in which x may be y - max(y).
    """
    node = weights.producer
    rank = shape_of(weights).rank
    if len(weights.uses) != 1 or rank is None:
        return None, 0
    if isinstance(node.op, SoftMax1 | SoftMax8):
        return (node.inputs[0], 1) if node.op.axis in (-1, rank - 1) else (None, 0)
    powers, total = node.inputs if isinstance(node.op, Divide) else (None, None)
    if (
        powers is None
        or not isinstance(powers.producer.op, Exp)
        or not _is_of(total, ReduceSum, powers)
    ):
        return None, 0
    operand = powers.producer.inputs[0]
    if operand is None or not isinstance(operand.producer.op, Subtract):
        return operand, 1
    scores, largest = operand.producer.inputs
    return (scores, 2) if _is_of(largest, ReduceMax, scores) else (operand, 1)


def _is_of(value: Value | None, reduction: type[Op], operand: Value | None) -> bool:
    """Return whether `value` is this reduction of `operand`."""
    if value is None or not isinstance(value.producer.op, reduction):
        return False
    return value.producer.inputs[0] is operand


def _is_kept(node: Node) -> bool:
    """Return whether OpenVINO compiles a node between the products together with them.

    These are operations on single elements, and products or quotients with a constant number.
    """
    if isinstance(node.op, Multiply | Divide):
        return has_one_constant_element(node.inputs[1])
    return node.op.elementwise and len(node.inputs) == 1


@AttentionOfChangingLength.case(
    "openvino_attention_of_changing_length",
    "IR: rare forms",
    "OpenVINO SoftMax-8, MatMul-1",
    "exp(x) divided by the sum of exp(x) along the axis: equal scores have equal weights.",
    # The keys are 0, so the result is the mean of the values.
    run([[[1]], [[0]], [[3]]], [[[3]]]),
    run([[[1]], [[0]] * 20, [[value] for value in range(20)]], [[[9.5]]]),
)
def smallest() -> Model:
    m = IrModel()
    queries, keys, values = m.input("q", 1, 1), m.input("k", None, 1), m.input("v", None, 1)
    scores = m(MatMul(transpose_b=True), queries, keys)
    return m.done(m(MatMul(), m(SoftMax8(axis=-1), scores), values))
