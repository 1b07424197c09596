"""Attention of ONNX Runtime: with merged projections, or of queries, keys and values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from irloop.dialects import inference, shapes
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.normalization import widened
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

__all__ = ["Attention", "MultiHeadAttention"]

#: The value that is added to the score of a hidden key, if no attribute gives another value.
FILTER = -10000.0


@dataclass
class Scores:
    """The scale, the masks and the attention bias that are applied to scores before their softmax.

    `filter` is the number that is added to a score where `mask` hides the key. `past` is the number
    of positions before the first query, as a one-element vector.
    """

    scale: float
    mask: Term | None = None
    filter: float = FILTER
    causal: bool = False
    past: Term | None = None
    bias: Term | None = None


def heads_of(s: Steps, x: Term, heads: int) -> Term:
    """Reshape and transpose [batch, positions, heads * size] to [batch, heads, positions, size]."""
    size = x.dim(2, "the size of a projection") // heads
    return s.transpose(s.reshape(x, [0, 0, heads, size]), (0, 2, 1, 3))


def joined(s: Steps, x: Term, size: int) -> Term:
    """Join the heads: reshape [batch, heads, positions, d] to [batch, positions, heads * d].

    `size` is heads * d.
    """
    return s.reshape(s.transpose(x, (0, 2, 1, 3)), [0, 0, size])


def attended(s: Steps, query: Term, key: Term, value: Term, scores: Scores) -> tuple[Term, Term]:
    """Return softmax(scores) @ value, and the scores before the softmax.

    The scores are query @ transpose(key) * scale, plus the bias and the masks. The argument
    `scores` holds this scale, the bias and the masks. All operands and results are 4-D.
    """
    logits = widened(s, query) @ s.swap_last(widened(s, key)) * scores.scale
    # ONNX Runtime adds the bias before the mask. Where all keys of a query are masked, the large
    # negative number of the mask leaves few digits of the sum.
    if scores.bias is not None:
        logits = logits + widened(s, scores.bias)
    if scores.mask is not None:
        logits = logits + mask_added(s, scores.mask, key, scores.filter)
    if scores.causal:
        hidden = later_places(s, query, key, scores.past)
        logits = s.select(hidden, s.like(-3.4028234663852886e38, logits), logits)
    weights = s.softmax(logits)
    return s.convert(weights @ widened(s, value), query.element), s.convert(logits, query.element)


def later_places(s: Steps, query: Term, key: Term, past: Term | None) -> Term:
    """Return a boolean mask [queries, keys] that is true where causal attention hides a key.

    Query q does not see the keys k > q + `past`, where `past` is the number of positions before the
    first query. If `past` is None, it counts as 0, and the last query sees all keys, even if there
    are more keys than queries; ONNX Runtime does the same.
    """
    count = s.size(query, 2)
    rows, columns = s.unsqueeze(s.range(0, count), 1), s.unsqueeze(s.range(0, s.size(key, 2)), 0)
    if past is not None:
        return columns > rows + past
    hidden = columns > rows
    queries, keys = query.dims[2], key.dims[2]
    if queries is not None and keys is not None and keys <= queries:
        return hidden
    return s.op("And", hidden, rows < count - 1)


def mask_added(s: Steps, mask: Term, key: Term, filter: float) -> Term:
    """Return what a mask adds to the attention scores: 0 for a visible key, else `filter`.

    The result can be broadcast to [batch, heads, queries, keys]. `key` is [batch, heads, keys,
    size]. A mask [batch, keys] or [batch, queries, keys] is positive for a visible key. A mask with
    one axis gives the range of keys that each batch item sees; `seen_by_lengths` lists its forms.

    Raises:
        CannotDecomposeError: for a mask of another form.
    """
    zero = s.constant(0.0, ElementType.F32)
    return s.select(seen_by(s, mask, key), zero, s.constant(filter, ElementType.F32))


def seen_by(s: Steps, mask: Term, key: Term) -> Term:
    """Return a boolean mask that is true where a query may attend to a key.

    The result can be broadcast to [batch, heads, queries, keys]. `key` is [batch, heads, keys,
    size]. `mask` has one of the forms that `mask_added` accepts.

    Raises:
        CannotDecomposeError: for a mask of another form.
    """
    if mask.rank == 1:
        return seen_by_lengths(s, mask, key)
    if mask.rank not in (2, 3):
        raise CannotDecomposeError(f"its mask has {mask.rank} dimensions, 1 to 3 are supported")
    return s.unsqueeze(mask > 0, *((1, 2) if mask.rank == 2 else (1,)))


def seen_by_lengths(s: Steps, mask: Term, key: Term) -> Term:
    """Return a mask [batch, 1, 1, keys] that is true for the keys that each item may attend to.

    These are the keys from the first position of the item up to, but excluding, its length. Without
    first positions, they start at 0.

    `mask` is a vector: the lengths [batch], the lengths and first positions [2 * batch], or the
    lengths and the offsets of queries and keys in a packed batch [3 * batch + 2]; the offsets are
    ignored.

    Raises:
        CannotDecomposeError: if `mask` has another number of entries.
    """
    entries, items = mask.dims[0], key.dims[0]
    known = entries is not None and items is not None
    if known and entries not in (items, 2 * (items or 0), 3 * (items or 0) + 2):
        raise CannotDecomposeError(f"its mask has {entries} entries for a batch of {items}")
    batch = s.size(key, 0)
    numbers = s.convert(mask, ElementType.I64)
    places = s.reshape(s.range(0, s.size(key, 2)), [1, 1, 1, -1])
    seen = places < s.reshape(s.slice(numbers, 0, 0, batch), [-1, 1, 1, 1])
    if known and entries != 2 * (items or 0):
        return seen
    first = s.slice(numbers, 0, batch, s.op("Add", batch, batch))
    if not known:
        # Items without a given start begin at position 0.
        has_starts = s.op("Equal", s.size(mask, 0), s.op("Add", batch, batch))
        padded = s.concat(0, numbers, s.expand(s.i64([0]), [batch]))
        first = s.slice(padded, 0, batch, s.op("Add", batch, batch))
        first = s.select(has_starts, first, 0)
    return s.op("And", seen, s.op("Not", places < s.reshape(first, [-1, 1, 1, 1])))


def self_attention(
    s: Steps,
    projected: Term,
    sizes: tuple[int, int, int],
    heads: int,
    scale: float,
    masks: tuple[Term | None, float, bool],
    past: Term | None,
    addend: Term | None,
) -> list[Term]:
    """Self-attention of `projected`, which holds query, key and value side by side.

    `sizes` are the widths of query, key and value on the last axis. `masks` holds the mask (or
    None), the number that is added to a score where the mask is 0, and True if later positions are
    hidden. `past` holds the earlier keys and values [2, batch, heads, positions, size]. `addend` is
    added to the scores. Returns the result and, if the node has a second output, all keys and
    values in the form of `past`.
    """
    parts = s.split(projected, -1, sizes)
    query, key, value = (heads_of(s, part, heads) for part in parts)
    mask, filter, causal = masks
    scores = Scores(scale or 1 / math.sqrt(sizes[0] // heads), mask, filter, causal, bias=addend)
    if past is not None:
        old_key, old_value = s.split(past, 0, [1, 1])
        scores.past = s.size(past, 3)
        key = s.concat(2, s.squeeze(old_key, 0), key)
        value = s.concat(2, s.squeeze(old_value, 0), value)
    result, _ = attended(s, query, key, value, scores)
    outputs = [joined(s, result, sizes[2])]
    if s.n_outputs > 1:
        outputs.append(s.concat(0, s.unsqueeze(key, 0), s.unsqueeze(value, 0)))
    return outputs


class Attention(ContribOp, type="Attention", inputs=(2, 7), outputs=None):
    """Self-attention of x: a projection by one matrix, and attention with several heads.

    Inputs: x [batch, positions, size]; the weights of query, key and value side by side; their
    bias; a mask (1 for a visible key: [batch, keys] or [batch, positions, keys]; or the lengths
    [batch], or lengths and first positions [2 * batch]); the past keys and values [2, batch, heads,
    past, head size]; an attention bias, which is added to the scores. Output 1 holds the past
    followed by the new keys and values.
    """

    operands = (
        "x: T, weights: T, bias?: T, mask?: i32, past?: T, attention_bias?: T,"
        " past_sequence_length?: i32 -> T, present?: T where T: bf16 | f16 | f32"
    )

    num_heads: int
    do_rotary: int = 0
    mask_filter_value: float = FILTER
    past_present_share_buffer: int = 0
    qkv_hidden_sizes: tuple[int, ...] = ()
    rotary_embedding_dim: int = 0
    scale: float = 0.0
    unidirectional: int = 0

    def sizes(self, width: int) -> tuple[int, int, int]:
        """Return the sizes of the query, the key and the value.

        They are the attribute `qkv_hidden_sizes`, or else three equal parts of `width`, the size of
        all three together.
        """
        if len(self.qkv_hidden_sizes) == 3:
            query, key, value = self.qkv_hidden_sizes
            return query, key, value
        return width // 3, width // 3, width // 3

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 1, 2, 4, 5)
        x, weights = args.shape(0).dims, args.shape(1).dims
        batch, places = x[:2] if x is not None and len(x) == 3 else (UNKNOWN_DIM, UNKNOWN_DIM)
        width = weights[1] if weights is not None and len(weights) == 2 else None
        value = self.sizes(width)[2] if isinstance(width, int) else UNKNOWN_DIM
        result: ValueType = TensorType(args.element(0), Shape.of(batch, places, value))
        past = args.shape(4).dims if args.has(4) else None
        total, size = (places if not args.has(4) else UNKNOWN_DIM), UNKNOWN_DIM
        if past is not None and len(past) == 5:
            total = shapes.total((past[3], places))
        if isinstance(value, int):
            size = value // max(self.num_heads, 1)  # type: ignore[assignment]
        shape = Shape.of(2, batch, self.num_heads, total, size)
        present: ValueType = TensorType(args.element(0), shape)
        return [result, present][: args.n_outputs]

    def decompose(
        self,
        s: Steps,
        x: Term,
        weights: Term,
        bias: Term | None,
        mask: Term | None,
        past: Term | None,
        addend: Term | None,
        past_length: Term | None,
    ) -> Sequence[Term]:
        if self.do_rotary:
            raise CannotDecomposeError(
                "ONNX Runtime supports do_rotary of this operation on CUDA only"
            )
        if self.past_present_share_buffer or past_length is not None:
            raise CannotDecomposeError("its past and present share a buffer")
        width = weights.dim(1, "the size of the weights")
        sizes = self.sizes(width)
        if sum(sizes) != width or any(size % self.num_heads for size in sizes):
            raise CannotDecomposeError(
                f"its weights have {width} columns, but the sizes are {sizes}"
            )
        projected = x @ weights
        return self_attention(
            s,
            projected if bias is None else projected + bias,
            sizes,
            self.num_heads,
            self.scale,
            (mask, self.mask_filter_value, bool(self.unidirectional)),
            past,
            addend,
        )


class MultiHeadAttention(ContribOp, type="MultiHeadAttention", inputs=(1, 10), outputs=None):
    """Attention of queries to keys and values that are already projected; adds their bias.

    The inputs are one of these:

    - query, key and value, each [batch, positions, size];
    - query [batch, positions, size], with key and value of an encoder, each [batch, heads, keys,
      head size];
    - query [batch, positions, size], with key and value in one tensor [batch, keys, heads, 2, head
      size];
    - query, key and value in one tensor [batch, positions, heads, 3, head size].

    The mask is the same as in Attention. Outputs 1 and 2 are the past keys and values followed by
    the new keys and values, output 3 the scores before their softmax.
    """

    operands = (
        "query: T, key?: T, value?: T, bias?: T, mask?: i32, attention_bias?: T, past_key?: T,"
        " past_value?: T, past_sequence_length?: i32, cache_indirection?: i32 -> T, present_key?:"
        " T, present_value?: T, scores?: bf16 | f16 | f32 where T: bf16 | f16 | f32"
    )

    num_heads: int
    mask_filter_value: float = FILTER
    scale: float = 0.0
    unidirectional: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 1, 2, 3, 5, 6, 7)
        query, value = args.shape(0).dims, args.shape(2).dims if args.has(2) else None
        element = args.element(0)
        if args.n_outputs > 1 or query is None or len(query) != 3 or value is None:
            return super().infer(args)
        size: Dim = UNKNOWN_DIM
        if len(value) == 3:
            size = value[2]
        elif len(value) == 4 and isinstance(value[1], int) and isinstance(value[3], int):
            size = value[1] * value[3]
        return [TensorType(element, Shape((*query[:2], size)))]

    def decompose(
        self,
        s: Steps,
        query: Term,
        key: Term | None,
        value: Term | None,
        bias: Term | None,
        mask: Term | None,
        addend: Term | None,
        past_key: Term | None,
        past_value: Term | None,
        past_length: Term | None,
        indirection: Term | None,
    ) -> Sequence[Term]:
        if past_length is not None or indirection is not None:
            raise CannotDecomposeError("its past and present share a buffer")
        q, k, v = self._heads(s, query, key, value, bias)
        size = q.dim(3, "the size of a head")
        scores = Scores(
            self.scale or 1 / math.sqrt(size),
            mask,
            self.mask_filter_value,
            bool(self.unidirectional),
            bias=addend,
        )
        if past_key is not None and past_value is not None:
            scores.past = s.size(past_key, 2)
            k, v = s.concat(2, past_key, k), s.concat(2, past_value, v)
        result, totals = attended(s, q, k, v, scores)
        width = self.num_heads * v.dim(3, "the size of a head of the values")
        return [joined(s, result, width), k, v, totals][: s.n_outputs]

    def _heads(
        self, s: Steps, query: Term, key: Term | None, value: Term | None, bias: Term | None
    ) -> tuple[Term, Term, Term]:
        """Query, key and value as [batch, heads, positions, size], with the bias added."""
        heads = self.num_heads
        if query.rank == 5:
            parts = [s.squeeze(part, 3) for part in s.split(query, 3, [1, 1, 1])]
            q, k, v = self._biased(s, parts, bias)
            return q, k, v
        if key is None:
            raise CannotDecomposeError("it has neither keys nor a packed query")
        own = s.reshape(query, [0, 0, heads, query.dim(2, "the size of the query") // heads])
        if key.rank == 5:
            parts = [s.squeeze(part, 3) for part in s.split(key, 3, [1, 1])]
            q, k, v = self._biased(s, [own, *parts], bias)
            return q, k, v
        if value is None:
            raise CannotDecomposeError("it has keys, but no values")
        if key.rank == 4:
            # Keys and values from an encoder already include their bias; only the query needs it.
            (q,) = self._biased(s, [own], bias)
            return q, key, value
        sizes = [item.dim(2, "the size of a projection") // heads for item in (key, value)]
        others = [
            s.reshape(item, [0, 0, heads, size])
            for item, size in zip((key, value), sizes, strict=True)
        ]
        q, k, v = self._biased(s, [own, *others], bias)
        return q, k, v

    def _biased(self, s: Steps, parts: Sequence[Term], bias: Term | None) -> list[Term]:
        """Add the bias to the query, key and value, and swap the axes of positions and heads.

        `parts` holds all three, or only the query. A part is [batch, positions, heads, size], and
        its result is [batch, heads, positions, size]. `bias` is the concatenation of the biases of
        the parts; None means no bias.
        """
        turned, start = [], 0
        for part in parts:
            size = part.dim(3, "the size of a head")
            added = part
            if bias is not None:
                own = s.slice(bias, 0, start, start + self.num_heads * size)
                added = part + s.reshape(own, [self.num_heads, size])
            start += self.num_heads * size
            turned.append(s.transpose(added, (0, 2, 1, 3)))
        return turned
