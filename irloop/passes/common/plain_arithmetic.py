"""Rewrites operations that OpenVINO 2021.4 reads, but computes wrongly or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from irloop.dialects.einsum import Equation
from irloop.dialects.openvino import comparison, convert, elementwise, matmul, shape
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["PlainArithmetic"]

#: Returns the value that replaces the output of a node, or None if the node need not change.
Form = Callable[[NodeWriter, Node], Value | None]


def _aligned(c: NodeWriter, node: Node) -> Value | None:
    """Emit a binary operation with NumPy's broadcasting, which replaces one with PaddlePaddle's.

    Returns the new result. If necessary, axes of size 1 are appended to the second operand. Returns
    None if `node` does not use PaddlePaddle's broadcasting, or if the rank of an operand is
    unknown.
    """
    op, (left, right) = node.op, node.inputs
    assert isinstance(op, elementwise.Binary)
    ranks = [None if value is None else shape_of(value).rank for value in (left, right)]
    if not op.is_pdpd or left is None or right is None or None in ranks:
        return None
    whole, own = (rank or 0 for rank in ranks)
    behind = 0 if op.pdpd_axis == -1 else whole - op.pdpd_axis - own
    if behind > 0:
        right = c(shape.Unsqueeze(), right, c.constant(list(range(own, own + behind))))
    return c(replace(op, auto_broadcast="numpy", auto_broadcast_axis=None), left, right)


def _compared_with_zero(c: NodeWriter, node: Node) -> Value | None:
    """Return NotEqual(x, 0) as a replacement for `node`, a Convert of x to boolean.

    Returns None if `node` converts to another type, or if x is boolean, a string or of unknown
    type.
    """
    op, value = node.op, node.inputs[0]
    assert isinstance(op, convert.Convert)
    if value is None or op.destination_type is not ElementType.BOOLEAN:
        return None
    element = element_of(value)
    if element in (ElementType.BOOLEAN, ElementType.DYNAMIC, ElementType.STRING):
        return None
    return c(comparison.NotEqual(), value, c.constant(0, element))


def _logical(c: NodeWriter, node: Node) -> Value | None:
    op, (left, right) = node.op, node.inputs
    assert isinstance(op, comparison.Xor)
    if left is None or right is None:
        return None
    made = comparison.LogicalXor(op.auto_broadcast, op.auto_broadcast_axis)
    return c(made, left, right)


def _with_result_labels(c: NodeWriter, node: Node) -> Value | None:
    """Write the result labels of an Einsum explicitly: "ij,jk" becomes "ij,jk->ik".

    Returns None if the equation already has "->".
    """
    op = node.op
    assert isinstance(op, matmul.Einsum)
    if "->" in op.equation:
        return None
    result = "".join(Equation.parse(op.equation).result)
    given = [value for value in node.inputs if value is not None]
    return c(matmul.Einsum(f"{op.equation}->{result}"), *given)


class PlainArithmetic(NodePass):
    """Rewrites operations that OpenVINO 2021.4 reads, but computes differently or not at all.

    Given::

        a = Add(x [2,3,4], b [3], pdpd axis 1)
        t = Convert(x, boolean)    s = Xor(t, u)   e = Einsum("ij,jk", x, y)

    Result::

        a = Add(x, Unsqueeze(b, [1]))
        t = x != 0                 s = LogicalXor(t, u)   e = Einsum("ij,jk->ik", x, y)

    PaddlePaddle's broadcasting (pdpd) is kept if the rank of an operand is unknown.
    """

    name = "plain_arithmetic"
    dialects = frozenset({"openvino"})
    operations = (elementwise.Binary, convert.Convert, matmul.Einsum)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        return _form_of(node.op)(w, node)


def _form_of(op: Op) -> Form:
    match op:
        case comparison.Xor():
            return _logical
        case convert.Convert():
            return _compared_with_zero
        case matmul.Einsum():
            return _with_result_labels
    return _aligned
