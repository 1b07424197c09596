"""Attention of one new position to a cache, and attention of batches without padding."""

from __future__ import annotations

import math
from collections.abc import Sequence

from irloop.dialects import inference
from irloop.dialects.contrib.attention import FILTER, Scores, attended, heads_of, joined
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

__all__ = ["DecoderMaskedMultiHeadAttention", "PackedAttention"]


def placed(s: Steps, buffer: Term, x: Term, position: Term) -> Term:
    """Write `x` into a buffer [batch, heads, length, size] at `position` of the length axis.

    `x` is [batch, heads, 1, size], and `position` is a vector [1]. Returns the changed buffer.
    """
    places = s.range(0, s.size(buffer, 2))
    here = s.reshape(s.op("Equal", places, position), [1, 1, -1, 1])
    return s.select(here, x, buffer)


class DecoderMaskedMultiHeadAttention(
    ContribOp, type="DecoderMaskedMultiHeadAttention", inputs=(1, 11), outputs=None
):
    """Attention of one new position over cached keys and values, or over those of an encoder.

    The query is [batch, 1, size]. For self-attention, key and value have the same shape as the
    query; they are appended to the cache. For cross-attention, key and value come from an encoder,
    as [batch, heads, keys, head size], and the cache is not read. The mask [batch, keys] is 1 for
    a visible key. With `past_present_share_buffer`, the cache has room for more positions than are
    in use, and input 7 is the number of positions in use.
    """

    operands = (
        "query: T, key?: T, value?: T, mask?: i32, attention_bias?: T, past_key?: T, past_value?:"
        " T, past_sequence_length?: i32, beam_width?: i32, cache_indirection?: i32, bias?: T -> T,"
        " present_key?: T, present_value?: T, scores?: f16 | f32 where T: f16 | f32"
    )

    num_heads: int
    mask_filter_value: float = FILTER
    output_qk: int = 0
    past_present_share_buffer: int = 0
    scale: float = 0.0

    def decompose(
        self,
        s: Steps,
        query: Term,
        key: Term | None,
        value: Term | None,
        mask: Term | None,
        addend: Term | None,
        past_key: Term | None,
        past_value: Term | None,
        past_length: Term | None,
        beams: Term | None,
        indirection: Term | None,
        bias: Term | None,
    ) -> Sequence[Term]:
        if indirection is not None:
            raise CannotDecomposeError("its cache is shared by beams (cache_indirection)")
        if key is None or value is None:
            raise CannotDecomposeError("its query, keys and values are packed")
        heads = self.num_heads
        if key.rank == 4:
            own = query
            if bias is not None:
                own = query + s.slice(bias, 0, 0, query.dim(2, "the size of the query"))
            q, k, v = heads_of(s, own, heads), key, value
        else:
            projected = [query, key, value]
            if bias is not None:
                sizes = [item.dim(2, "the size of a projection") for item in projected]
                parts = s.split(bias, 0, sizes)
                projected = [item + part for item, part in zip(projected, parts, strict=True)]
            q, k, v = (heads_of(s, item, heads) for item in projected)
        present = (k, v)
        if key.rank == 3 and past_key is not None and past_value is not None:
            if self.past_present_share_buffer and past_length is not None:
                at = s.reshape(s.convert(past_length, ElementType.I64), [1])
                present = (placed(s, past_key, k, at), placed(s, past_value, v, at))
                k, v = (s.slice(item, 2, 0, at + 1) for item in present)
            else:
                k, v = s.concat(2, past_key, k), s.concat(2, past_value, v)
                present = (k, v)
        scale = self.scale or 1 / math.sqrt(q.dim(3, "the size of a head"))
        scores = Scores(scale, mask, self.mask_filter_value, bias=addend)
        result, totals = attended(s, q, k, v, scores)
        width = heads * v.dim(3, "the size of a head of the values")
        return [joined(s, result, width), *present, totals][: s.n_outputs]


class PackedAttention(ContribOp, type="PackedAttention", inputs=(5, 6)):
    """Attention of sequences that are stored without padding.

    Inputs:

    - the tokens [tokens, size] of all items, one item after the other;
    - weights and bias, as in Attention;
    - the offsets [batch, positions] of all positions in the flattened padded batch: first those of
      the tokens, then those of the padding;
    - the number of tokens before each item, and the total [batch + 1];
    - optionally, an attention bias, which is added to the scores of the padded batch.
    """

    operands = (
        "x: T, weights: T, bias: T, token_offset: i32, cumulative_sequence_length: i32,"
        " attention_bias?: T -> T where T: f16 | f32"
    )

    num_heads: int
    qkv_hidden_sizes: tuple[int, ...] = ()
    scale: float = 0.0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 1, 2, 5)
        tokens = args.shape(0).dims
        width = args.shape(1).dims
        size: Dim = UNKNOWN_DIM
        if len(self.qkv_hidden_sizes) == 3:
            size = self.qkv_hidden_sizes[2]
        elif width is not None and len(width) == 2 and isinstance(width[1], int):
            size = width[1] // 3
        return [TensorType(args.element(0), Shape.of(tokens[0] if tokens else None, size))]

    def decompose(
        self,
        s: Steps,
        x: Term,
        weights: Term,
        bias: Term,
        offsets: Term,
        before: Term,
        addend: Term | None,
    ) -> Term:
        width = weights.dim(1, "the size of the weights")
        sizes = self.qkv_hidden_sizes or (width // 3,) * 3
        projected = x @ weights + bias
        # Token t of the batch without padding is at offsets[t] of the padded batch.
        batch, places, tokens = s.size(offsets, 0), s.size(offsets, 1), s.size(x, 0)
        flat = s.convert(s.reshape(offsets, [-1]), ElementType.I64)
        used = s.slice(flat, 0, 0, tokens)
        zeros = s.expand(s.like(0.0, x), [s.op("Mul", batch, places), width])
        padded = s.op("ScatterND", zeros, s.unsqueeze(used, 1), projected)
        rows = s.reshape(padded, s.vector([batch, places, width]))
        q, k, v = (heads_of(s, part, self.num_heads) for part in s.split(rows, 2, sizes))
        numbers = s.convert(before, ElementType.I64)
        lengths = s.slice(numbers, 0, 1) - s.slice(numbers, 0, 0, -1)
        seen = s.unsqueeze(s.range(0, places), 0) < s.unsqueeze(lengths, 1)
        scale = self.scale or 1 / math.sqrt(sizes[0] // self.num_heads)
        mask = s.convert(seen, ElementType.I32)
        result, _ = attended(s, q, k, v, Scores(scale, mask, bias=addend))
        whole = s.reshape(joined(s, result, sizes[2]), [-1, sizes[2]])
        return s.gather(whole, used, 0)
