"""Writes attention as ONNX Runtime's own MultiHeadAttention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irloop.dialects.contrib.attention import MultiHeadAttention
from irloop.dialects.onnx.activation import Softmax13
from irloop.dialects.onnx.elementwise import Add, Div, Mul
from irloop.dialects.onnx.matmul import MatMul
from irloop.dialects.onnx.shape import Expand, Reshape, Reshape14, Transpose
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.types import DynamicDim, ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.stored import stored

__all__ = ["FuseAttention"]

_RESHAPES = (Reshape, Reshape14)

#: The permutation that exchanges positions and heads: from [batch, positions, heads, size] to
#: [batch, heads, positions, size] and back.
_HEADS = (0, 2, 1, 3)
#: The permutation for keys, whose positions become the last axis.
_KEYS = (0, 2, 3, 1)
_LAST = (0, 1, 3, 2)


@dataclass
class _Attention:
    """softmax(scale * q @ k' + bias) @ v, with q, k and v [batch, positions, heads * size]."""

    query: Value
    key: Value
    value: Value
    bias: Value | None
    heads: int
    scale: float


class FuseAttention(NodePass):
    """Replaces attention of several heads by MultiHeadAttention of ONNX Runtime.

    Given::

        q, k, v = Transpose(Reshape([B, P, N * H] to [B, P, N, H]))
        y = Reshape(Transpose(Softmax(scale * q @ Transpose(k) + bias) @ v))    [B, P, N * H]

    Result::

        y = com.microsoft.MultiHeadAttention(q, k, v, bias)

    The heads have to be separated and joined by Reshape and Transpose. Only then is
    MultiHeadAttention faster, because it takes data whose heads are not separated. Sizes of the
    batch, and of the scores if there is a bias, have to be numbers or have names.
    """

    name = "fuse_attention"
    dialects = frozenset({"onnx"})

    operations = _RESHAPES

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        attention = _found(node)
        if attention is None:
            return None
        inputs: tuple[Value | None, ...] = (attention.query, attention.key, attention.value)
        if attention.bias is not None:
            inputs = (*inputs, None, None, _spread(w, attention.bias, attention.query))
        op = MultiHeadAttention(num_heads=attention.heads, scale=attention.scale)
        return w.rewriter.insert(op, inputs, before=node, name=f"{node.name}/{op.type}").output


def _spread(forms: NodeWriter, bias: Value, query: Value) -> Value:
    """Expand an attention bias [batch, heads, 1, keys] to [batch, heads, queries, keys].

    ONNX Runtime would not broadcast the axis of queries. Their number is the size of axis 1 of
    `query`. A bias whose axis 2 does not have size 1 is returned unchanged.
    """
    positions, given = shape_of(query).dim(1), shape_of(bias).dim(2)
    if given != 1 or positions == 1:
        return bias
    if isinstance(positions, int):
        return forms(Expand(), bias, forms.constant([1, 1, positions, 1]))
    count = forms.unsqueeze(forms.size_of(query, 1), [0])
    target = forms.concat([forms.constant([1, 1]), count, forms.constant([1])], 0)
    return forms(Expand(), bias, target)


def _found(joined: Node) -> _Attention | None:
    """Find the attention pattern that ends in `joined`, the Reshape that joins the heads.

    Returns None if the nodes before it do not form an attention.
    """
    attended = _input_of(joined.inputs[0], Transpose, _HEADS)
    if attended is None or not isinstance(attended.producer.op, MatMul):
        return None
    weights, values = attended.producer.inputs
    value = None if values is None else _separated(values, _HEADS)
    dims = shape_of(joined.output).dims
    if weights is None or value is None or dims is None or len(dims) != 3:
        return None
    softmax = weights.producer.op
    scores = _input_of(weights, Softmax13)
    if not isinstance(softmax, Softmax13) or softmax.axis not in (-1, 3) or scores is None:
        return None
    for logits, bias in _sums(scores):
        match = _of_scores(logits)
        if match is None:
            continue
        query, key, heads, scale = match
        if bias is not None and not _is_broadcastable_bias(bias, query, key, heads):
            continue
        if value[1] != heads or dims[2] != shape_of(value[0]).dim(2):
            continue
        if not _keeps_batch(joined) or element_of(query) is not ElementType.F32:
            continue
        if all(_is_equal(query, item, 0) for item in (key, value[0])):
            return _Attention(query, key, value[0], bias, heads, scale)
    return None


def _sums(scores: Value) -> Iterator[tuple[Value, Value | None]]:
    """Yield the ways to read `scores` as a sum of scores and a bias.

    The first pair is (`scores`, None). If `scores` is a + b, the pairs (a, b) and (b, a) follow.
    """
    yield scores, None
    node = scores.producer
    if isinstance(node.op, Add) and node.inputs[0] is not None and node.inputs[1] is not None:
        yield node.inputs[0], node.inputs[1]
        yield node.inputs[1], node.inputs[0]


def _of_scores(scores: Value) -> tuple[Value, Value, int, float] | None:
    """The query and the key before their heads are separated, the number of heads, and the scale.

    None if `scores` is not a product of a query and a key with a positive scale.
    """
    product, scale = _unscaled(scores)
    if not isinstance(product.producer.op, MatMul):
        return None
    left, right = product.producer.inputs
    if left is None or right is None:
        return None
    (left, factor), (right, other) = _unscaled(left), _unscaled(right)
    key = _separated(right, _KEYS)
    if key is None and (turned := _input_of(right, Transpose, _LAST)) is not None:
        turned, more = _unscaled(turned)
        other *= more
        key = _separated(turned, _HEADS)
    query = _separated(left, _HEADS)
    total = scale * factor * other
    if query is None or key is None or query[1] != key[1] or not total > 0:
        return None
    return query[0], key[0], query[1], total


def _unscaled(value: Value) -> tuple[Value, float]:
    """Remove multiplications and divisions by constants from the end of `value`.

    Returns the value before these operations, and the constant factor by which they scale it.
    """
    scale = 1.0
    while isinstance(value.producer.op, Mul | Div):
        first, second = value.producer.inputs
        is_product = isinstance(value.producer.op, Mul)
        if is_product and first is not None and _number(first) is not None:
            first, second = second, first
        number = None if second is None else _number(second)
        if first is None or number is None or (number == 0 and not is_product):
            break
        scale = scale * number if is_product else scale / number
        value = first
    return value, scale


def _number(value: Value) -> float | None:
    """Return the number that a constant contains, or None if it may not be a scale.

    It must have one element and a rank of at most 4. A higher rank would add axes to the attention
    scores, which have rank 4.
    """
    tensor = stored(value)
    if tensor is None or tensor.count != 1 or len(tensor.shape) > 4:
        return None
    return float(tensor.numpy().reshape(()))


def _separated(value: Value, perm: tuple[int, ...]) -> tuple[Value, int] | None:
    """Match a split into heads: return the data before it and the number of heads, else None.

    The pattern is `value` = Transpose(Reshape(data), `perm`), where data is [batch, positions,
    heads * size] and the Reshape makes it [batch, positions, heads, size].
    """
    split = _input_of(value, Transpose, perm)
    data = _input_of(split, _RESHAPES)
    if split is None or data is None or not _keeps_batch(split.producer):
        return None
    match shape_of(data).dims, shape_of(split).dims:
        case (_, _, total), (_, _, int(heads), int(size)) if total == heads * size:
            return data, heads
    return None


def _keeps_batch(reshape: Node) -> bool:
    """Return whether a Reshape is known to keep the batch and position axes (0 and 1).

    The caller ensures that the later axes hold equally many elements before and after the Reshape,
    so if one of the two axes is kept, the other is kept, too.
    """
    data, target = reshape.inputs[:2]
    if data is None or target is None:
        return False
    op = target.producer.op
    if isinstance(op, Constant) and list(op.tensor.numpy()[:1]) == [0]:
        return True
    return any(_is_equal(data, reshape.output, axis) for axis in (0, 1))


def _is_equal(one: Value, other: Value, axis: int) -> bool:
    dim = shape_of(one).dim(axis)
    return _is_known(dim) and dim == shape_of(other).dim(axis)


def _input_of(
    value: Value | None, type: type[Op] | tuple[type[Op], ...], perm: tuple[int, ...] = ()
) -> Value | None:
    """Return the first input of the operation that computes `value`, if it is of class `type`.

    A Transpose must also have the permutation `perm`. Otherwise, the result is None.
    """
    if value is None or not isinstance(value.producer.op, type):
        return None
    op = value.producer.op
    if isinstance(op, Transpose) and tuple(op.perm or ()) != perm:
        return None
    return value.producer.inputs[0]


def _is_broadcastable_bias(bias: Value, query: Value, key: Value, heads: int) -> bool:
    """Return whether the bias can be broadcast to the attention scores.

    That is, its shape is [batch or 1, heads or 1, queries or 1, keys]. The sizes come from `query`
    [batch, queries, ...] and `key` [batch, keys, ...], and must be known.
    """
    given, keys = shape_of(bias).dims, shape_of(key).dim(1)
    if given is None or len(given) != 4 or not _is_known(keys) or given[3] != keys:
        return False
    wanted = (shape_of(query).dim(0), heads, shape_of(query).dim(1))
    return all(
        one == 1 or (_is_known(one) and one == other)
        for one, other in zip(given[:3], wanted, strict=True)
    )


def _is_known(dim: object) -> bool:
    """Return whether `dim` is a dimension that is a number or has a name.

    Dimensions of the same name are equal.
    """
    return isinstance(dim, int) or (isinstance(dim, DynamicDim) and dim.symbol is not None)
