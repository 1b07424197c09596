"""Converts ONNX's attention and rotary embeddings to OpenVINO operations up to opset8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irloop import budget
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.dialects.onnx import attention as onnx
from irloop.dialects.openvino import comparison, elementwise, matmul
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import Dim, ElementType

__all__: list[str] = []

Attention = onnx.Attention | onnx.Attention23 | onnx.Attention24
NEVER = float("-inf")


@imports(onnx.Attention, onnx.Attention23, onnx.Attention24)
def import_attention(
    c: Import,
    op: Attention,
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    lengths: Value | None = None,
) -> Sequence[Value | None]:
    """Write Attention as two products: queries with keys, and their SoftMax with the values.

    Masks and other limits become a bias, which is added before the SoftMax. If there are past keys
    and values, a Concat appends the new keys and values to them.
    """
    rank = needed_rank(c, query)
    q = _split_heads(c, query, op.q_num_heads)
    keys, values = _split_heads(c, key, op.kv_num_heads), _split_heads(c, value, op.kv_num_heads)
    if past_key is not None and past_value is not None:
        keys = c.concat([past_key, keys], 2)
        values = c.concat([past_value, values], 2)
    k, v = (_shared(c, item, q) for item in (keys, values))
    places = _Places(c, op, q, k, past_key, lengths)
    bias = _bias(c, places, mask, q)
    result, scores = _attended(c, op, q, k, v, bias)
    if rank == 3:
        result = c.reshape(c.transpose(result, [0, 2, 1, 3]), [0, 0, -1])
    return [result, keys, values, scores][: len(c.node.outputs)]


def _split_heads(c: Import, x: Value, heads: int) -> Value:
    """Split [B, S, heads * D] into [B, heads, S, D]; data of rank 4 is returned unchanged."""
    if needed_rank(c, x) == 4:
        return x
    return c.transpose(c.reshape(x, [0, 0, heads, -1]), [0, 2, 1, 3])


def _shared(c: Import, x: Value, query: Value) -> Value:
    """Repeat the heads of `x` (keys or values) so that there is one for each query head.

    Without this, several adjacent query heads share one head of `x`.
    """
    have, want = shape_of(x).dim(1), shape_of(query).dim(1)
    if not isinstance(have, int) or not isinstance(want, int):
        raise c.refuse("the numbers of heads are not known", "declare the shapes of the inputs")
    if have == want:
        return x
    if not have or want % have:
        raise c.refuse(f"{want} heads of queries cannot share {have} heads of keys")
    budget.spend(want, "repeating heads")
    repeated = [head // (want // have) for head in range(want)]
    return c.gather(x, c.i64(repeated), 1)


@dataclass(frozen=True, slots=True)
class _Places:
    """Computes the positions of queries and keys, and which keys a query may attend to."""

    c: Import
    op: Attention
    query: Value
    key: Value
    past: Value | None
    lengths: Value | None

    def keys(self) -> Value:
        """The number of keys."""
        return self.c.size_of(self.key, 2)

    def limits(self) -> list[Value]:
        """Return the conditions that must all be true for a query to attend to a key.

        Each condition is a boolean tensor that broadcasts to [B, heads, queries, keys].
        """
        c, (left, right) = self.c, self.op.windows()
        conditions = []
        if self.op.is_causal or left >= 0 or right >= 0:
            rows, columns = self._queries(), c.numbers_below(self.keys())
            if self.op.is_causal:
                conditions.append(c(comparison.LessEqual(), columns, rows))
            if left >= 0:
                first = c.subtract(rows, c.i64(left))
                conditions.append(c(comparison.GreaterEqual(), columns, first))
            if right >= 0:
                last = c.add(rows, c.i64(right))
                conditions.append(c(comparison.LessEqual(), columns, last))
        if self.lengths is not None:
            conditions.append(c.less(c.numbers_below(self.keys()), self._each(self.lengths)))
        return conditions

    def _each(self, lengths: Value) -> Value:
        """Reshape a list [B] to [B, 1, 1, 1]."""
        return self.c.reshape(self.c.as_i64(lengths), [-1, 1, 1, 1])

    def _queries(self) -> Value:
        """The position of each query among the keys: [queries, 1], or [B, 1, queries, 1]."""
        c = self.c
        count = c.size_of(self.query, 2)
        numbers = c.unsqueeze(c.numbers_below(count), [1])
        if self.lengths is not None:
            return c.add(numbers, c.subtract(self._each(self.lengths), count))
        if self.past is not None:
            return c.add(numbers, c.size_of(self.past, 2))
        return numbers


def _bias(c: Import, places: _Places, mask: Value | None, like: Value) -> Value | None:
    """The attention bias: the mask, and minus infinity for keys that a query may not attend to.

    None if there is no mask and a query may attend to all keys.
    """
    zero, never = c.scalar(0.0, like), c.scalar(NEVER, like)
    bias = None
    if mask is not None:
        boolean = element_of(mask) is ElementType.BOOLEAN
        whole = c.select(mask, zero, never) if boolean else mask
        bias = _widened(c, c.convert(whole, element_of(like)), places, never)
    for limit in places.limits():
        part = c.select(limit, zero, never)
        bias = part if bias is None else c.add(bias, part)
    return bias


def _widened(c: Import, mask: Value, places: _Places, never: Value) -> Value:
    """Pad the last axis of the attention mask to the number of keys.

    The added elements are `never`, which masks their keys.
    """
    rank = needed_rank(c, mask, "mask")
    have, want = shape_of(mask).dim(-1), shape_of(places.key).dim(2)
    if isinstance(have, int) and have == want:
        return mask
    missing = c.subtract(places.keys(), c.size_of(mask, rank - 1))
    begins = c.i64([0] * rank)
    ends = c.as_list(missing)
    if rank > 1:
        ends = c.concat([c.i64([0] * (rank - 1)), ends], 0)
    return c.pad(mask, begins, ends, never)


def _attended(
    c: Import, op: Attention, q: Value, k: Value, v: Value, bias: Value | None
) -> tuple[Value, Value]:
    root = _root_of_scale(c, op, q)
    scaled = (c.multiply(item, root) for item in (q, k))
    scores = c(matmul.MatMul(transpose_b=True), *scaled)
    stages = [scores]
    if op.softcap > 0:
        cap = c.scalar(op.softcap, scores)
        bent = c(elementwise.Tanh(), c.divide(scores, cap))
        scores = c.multiply(bent, cap)
    stages.append(scores)
    if bias is not None:
        scores = c.add(scores, bias)
    stages.append(scores)
    element = element_of(scores)
    exact = scores
    if op.softmax_precision is not None:
        exact = c.convert(scores, op.softmax_precision)
    shares = c.convert(c.softmax(exact, 3), element)
    if bias is not None:
        # A query that may attend to no key gets zeros. (If all scores are minus infinity,
        # OpenVINO's CPU returns the lowest finite number as their maximum.)
        seen = c.greater(bias, c.scalar(NEVER, bias))
        sees = c.reduce("Or", seen, [-1])
        shares = c.select(sees, shares, c.scalar(0.0, shares))
    stages.append(shares)
    values = c.convert(v, element)
    return c(matmul.MatMul(), shares, values), stages[op.qk_matmul_output_mode]


def _root_of_scale(c: Import, op: Attention, query: Value) -> Value:
    """Return the square root of the scale that is applied to the products of queries and keys.

    Queries and keys are both multiplied by this root, so that their products stay small.
    """
    if op.scale is not None:
        return c.scalar(op.scale**0.5, query)
    size: Dim = shape_of(query).dim(3)
    if isinstance(size, int):
        # If the size is 0, the tensor is empty, and any scale is right.
        return c.scalar(max(size, 1) ** -0.25, query)
    number = c.convert_always(c.size_of(query, 3), element_of(query))
    return c(elementwise.Power(), number, c.scalar(-0.25, query))


@imports(onnx.RotaryEmbedding)
def import_rotary_embedding(
    c: Import,
    op: onnx.RotaryEmbedding,
    data: Value,
    cosines: Value,
    sines: Value,
    places: Value | None = None,
) -> Value:
    """Write RotaryEmbedding as products and sums that rotate pairs of elements.

    A Gather first reads the cosines and sines of the positions, if positions are given. Slices take
    the pairs apart, and a Concat joins them again.
    """
    rank = needed_rank(c, data)
    split = data if rank == 4 else c.reshape(data, [0, 0, op.num_heads, -1])
    if places is not None:
        cosines, sines = (c.gather(item, places, 0) for item in (cosines, sines))
    cos, sin = (c.unsqueeze(item, [1 if rank == 4 else 2]) for item in (cosines, sines))
    size: Dim = op.rotary_embedding_dim or shape_of(split).dim(3)
    if not isinstance(size, int):
        raise c.refuse("the size of its heads is not known", "declare the shapes of the inputs")
    a, b = _pairs(c, split, size, interleaved=op.interleaved != 0)
    real = c.subtract(c.multiply(cos, a), c.multiply(sin, b))
    imaginary = c.add(c.multiply(sin, a), c.multiply(cos, b))
    turned = _joined(c, real, imaginary, interleaved=op.interleaved != 0)
    if shape_of(split).dim(3) != size:
        rest = c.slice(split, [size], [TO_THE_END], [3])
        turned = c.concat([turned, rest], 3)
    return turned if rank == 4 else c.reshape(turned, [0, 0, -1])


def _pairs(c: Import, x: Value, size: int, *, interleaved: bool) -> tuple[Value, Value]:
    """Return the first and the second elements of the pairs that a rotary embedding rotates.

    The pairs lie in the first `size` elements of the last axis. With `interleaved`, the elements of
    a pair are adjacent. Otherwise the first one lies in the first half of the `size` elements, and
    the second one in the second half.
    """
    if interleaved:
        first = c.slice(x, [0], [size], [3], [2])
        return first, c.slice(x, [1], [size], [3], [2])
    half = size // 2
    return c.slice(x, [0], [half], [3]), c.slice(x, [half], [size], [3])


def _joined(c: Import, first: Value, second: Value, *, interleaved: bool) -> Value:
    if not interleaved:
        return c.concat([first, second], 3)
    pairs = c.concat([c.unsqueeze(item, [4]) for item in (first, second)], 4)
    return c.reshape(pairs, [0, 0, 0, -1])
