"""GroupQueryAttention: several query heads share one head of keys and values, kept in a cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from irloop.dialects import inference
from irloop.dialects.contrib.attention import heads_of, joined
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.normalization import divided_by_rms, widened
from irloop.dialects.contrib.rotary import rotated
from irloop.dialects.contrib.steps import Steps
from irloop.dialects.writing.known_inputs import needed_dims, needed_element, needed_size
from irloop.dialects.writing.sizes import Sizes
from irloop.dialects.writing.writer import RefusedError
from irloop.graph.arguments import Arguments
from irloop.graph.model import Value
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_TYPE,
    Dim,
    ElementType,
    Shape,
    TensorType,
    ValueType,
)

__all__ = ["GroupQueryAttention"]

#: The score of a hidden position.
HIDDEN = -3.4028234663852886e38

#: Inputs of one element type: query, key, value, cosines, sines, bias, sink, norm weights. The
#: caches may have another.
_ALIKE = (0, 1, 2, 7, 8, 10, 11, 14, 15)


class GroupQueryAttention(ContribOp, type="GroupQueryAttention", inputs=(7, 17), outputs=None):
    """Attention of queries to cached and new keys and values.

    Inputs:

    - query [batch, positions, heads * size], or query, keys and values side by side;
    - key and value;
    - the caches of the keys and of the values [batch, key heads, length, size];
    - the index of the last position of each item, which is its length minus 1;
    - the largest length of an item;
    - tables of cosines and sines, with one row for each position;
    - the position numbers, which select rows of these tables;
    - an attention bias, which is added to the scores;
    - a score for each head that only counts in the denominator of the softmax.

    Outputs 1 and 2 are the caches, to which the new keys and values are appended.
    """

    operands = (
        "query: T, key?: T, value?: T, past_key?: C, past_value?: C, seqlens_k: i32,"
        " total_sequence_length: i32, cos_cache?: T, sin_cache?: T, position_ids?: i64,"
        " attention_bias?: T, head_sink?: T, k_scale?: f32, v_scale?: f32, q_norm_weight?: T,"
        " k_norm_weight?: T, query_seqlens?: i32 -> T, present_key: C, present_value: C,"
        " output_qk?: T where T: bf16 | f16 | f32, C: bf16 | f16 | f32 | f8e4m3 | i8 | u8"
    )

    num_heads: int
    kv_num_heads: int
    causal: int = 1
    do_rotary: int = 0
    k_quant_type: str = "NONE"
    v_quant_type: str = "NONE"
    kv_cache_bit_width: int = 0
    local_window_size: int = -1
    k_norm_epsilon: float | None = None
    q_norm_epsilon: float | None = None
    qk_norm_epsilon: float = 9.999999974752427e-07
    qk_output: int = 0
    rotary_interleaved: int = 0
    scale: float = 0.0
    sliding_window_cache: int = 0
    smooth_softmax: int = -1
    softcap: float = 0.0

    omissible: ClassVar[frozenset[int]] = frozenset({1, 2, 3, 4})

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 1, 2)
        inference.same_element(args, *_ALIKE)
        inference.same_element(args, 3, 4)
        query = args.shape(0).dims
        element = args.element(0)
        if query is None or len(query) != 3:
            return [UNKNOWN_TYPE] * args.n_outputs
        width = query[2]
        size: Dim = UNKNOWN_DIM
        if isinstance(width, int):
            packed = 0 if args.has(1) else 2 * self.kv_num_heads
            size = width // (self.num_heads + packed)
        hidden = self.num_heads * size if isinstance(size, int) else UNKNOWN_DIM
        # Without a past, the caches hold the new keys and values only.
        own = args.shape(1).dims if args.has(1) else query
        length: Dim = UNKNOWN_DIM if args.has(3) or own is None or len(own) < 2 else own[1]
        result: ValueType = TensorType(element, Shape((*query[:2], hidden)))
        cache: ValueType = TensorType(
            args.element(3) if args.has(3) else element,
            Shape((query[0], self.kv_num_heads, length, size)),
        )
        return [result, cache, cache, TensorType(element, Shape.of_rank(4))][: args.n_outputs]

    def _require_plain(self, s: Steps, norms: Sequence[Value | None]) -> None:
        """Refuse caches, outputs and normalisations that the decomposition does not support.

        ONNX Runtime's CPU kernel lacks these features, or they need a cache in another form.
        `norms` holds the weights that normalise the queries and the keys; None where nothing is
        normalised.

        Raises:
            RefusedError: if the cache is quantized or a sliding window, if the scores are
                an output, or if only the queries or only the keys are normalised.
        """
        if self.k_quant_type != "NONE" or self.v_quant_type != "NONE":
            raise RefusedError("its cache is quantized")
        if self.sliding_window_cache:
            raise RefusedError(
                "its cache is a sliding window (sliding_window_cache), which drops old positions"
            )
        if self.qk_output or s.n_outputs > 3:
            raise RefusedError("it returns its scores (qk_output)")
        if (norms[0] is None) != (norms[1] is None):
            raise RefusedError("it normalises only the queries or only the keys")

    def decompose(
        self,
        s: Steps,
        query: Value,
        key: Value | None,
        value: Value | None,
        past_key: Value | None,
        past_value: Value | None,
        last_places: Value,
        total: Value,
        cos: Value | None,
        sin: Value | None,
        position_ids: Value | None,
        addend: Value | None,
        sink: Value | None,
        k_scale: Value | None,
        v_scale: Value | None,
        q_norm: Value | None,
        k_norm: Value | None,
        query_lengths: Value | None,
    ) -> Sequence[Value]:
        if query_lengths is not None:
            raise RefusedError("its queries have lengths of their own (query_seqlens)")
        self._require_plain(s, (q_norm, k_norm))
        q, k, v = self._heads(s, query, key, value)
        if q_norm is not None and k_norm is not None:
            q = self._normed(s, q, q_norm, self.q_norm_epsilon)
            k = self._normed(s, k, k_norm, self.k_norm_epsilon)
        places = s.size_of(query, 1)
        length = s.as_scalar(s.convert(total, ElementType.I64))
        last = s.convert(s.reshape(last_places, [-1]), ElementType.I64)
        used = s.add(s.unsqueeze(last, [1]), s.i64(1))
        # A first prompt fills the cache from its start, regardless of the padding of its items.
        is_first = s.equal(places, length)
        before = s.select(is_first, s.scalar(0, used), s.subtract(used, places))
        rows = s.add(s.unsqueeze(s.numbers_below(places), [0]), before)
        if self.do_rotary:
            if cos is None or sin is None:
                raise RefusedError("it rotates, but has no tables of cosines and sines")
            turned = rows
            if position_ids is not None:
                # In a first prompt ONNX Runtime reads only the first position number and counts up
                # from it.
                ids = s.convert(position_ids, ElementType.I64)
                start = s.slice(s.slice(ids, [0], [1], [0]), [0], [1], [1])
                turned = s.select(
                    is_first, s.add(start, s.unsqueeze(s.numbers_below(places), [0])), ids
                )
            q, k = self._rotated(s, q, k, cos, sin, turned)
        keys, values = k, v
        if past_key is not None and past_value is not None:
            index, empty = self._cache_index(s, past_key, places, length, before)
            keys = self._appended(s, past_key, k, index, empty)
            values = self._appended(s, past_value, v, index, empty)
        size = needed_size(s, q, 3, "the size of a head")
        scores = self._scores(s, q, keys, addend, size)
        hidden = self._hidden(s, keys, rows, used) if self.causal else None
        if hidden is not None:
            scores = s.select(hidden, s.scalar(HIDDEN, scores), scores)
        weights = self._weights(s, scores, sink)
        if hidden is not None and self.local_window_size > 0:
            # A padding position whose window lies beyond the end of the item has no visible key.
            weights = s.select(hidden, s.scalar(0.0, weights), weights)
        found = s.op("MatMul", weights, self._shared(s, values))
        result = s.convert(found, needed_element(s, query))
        return [joined(s, result, self.num_heads * size), keys, values][: s.n_outputs]

    def _heads(
        self, s: Steps, query: Value, key: Value | None, value: Value | None
    ) -> tuple[Value, Value, Value]:
        """Query, key and value as [batch, heads, positions, size]."""
        if key is None or value is None:
            width = needed_size(s, query, 2, "the size of the query")
            size = width // (self.num_heads + 2 * self.kv_num_heads)
            sizes = [size * self.num_heads, *[size * self.kv_num_heads] * 2]
            query, key, value = s.split(query, 2, sizes)
        return (
            heads_of(s, query, self.num_heads),
            heads_of(s, key, self.kv_num_heads),
            heads_of(s, value, self.kv_num_heads),
        )

    def _normed(self, s: Steps, x: Value, weight: Value, epsilon: float | None) -> Value:
        wide = widened(s, x)
        number = self.qk_norm_epsilon if epsilon is None else epsilon
        found = divided_by_rms(s, wide, widened(s, weight), -1, number)[0]
        return s.convert(found, needed_element(s, x))

    def _rotated(
        self, s: Steps, q: Value, k: Value, cos: Value, sin: Value, places: Value
    ) -> tuple[Value, Value]:
        # The positions of padding may be negative, so clamp them to the first row of the tables.
        rows = s.maximum(s.convert(places, ElementType.I64), s.i64(0))
        angles = [s.unsqueeze(s.gather(table, rows, 0), [1]) for table in (cos, sin)]
        turn = bool(self.rotary_interleaved)
        return (
            rotated(s, q, *angles, interleaved=turn),
            rotated(s, k, *angles, interleaved=turn),
        )

    def _cache_index(
        self, s: Steps, past: Value, places: Value, length: Value, before: Value
    ) -> tuple[Value, Value]:
        """For each position of the new cache, find the position from which its entry is copied.

        `past` is the old cache [batch, heads, positions, size], `places` is the number of new
        positions, and `length` is the least number of positions of the new cache. `before` [batch,
        1] is the number of old entries that are kept.

        Returns two tensors [batch, position]. The first is an index into the concatenation of the
        old cache with the new keys or values. The second is true where there is nothing to copy.
        """
        room = s.size_of(past, 2)
        slot = s.unsqueeze(s.numbers_below(s.maximum(room, length)), [0])
        fresh = s.subtract(slot, before)
        is_old = s.less(fresh, s.scalar(0, fresh))
        index = s.select(is_old, s.minimum(slot, room), s.add(fresh, room))
        last = s.subtract(s.add(room, places), s.scalar(1, room))
        return s.minimum(index, last), s.logical_not(s.op("Or", is_old, s.less(fresh, places)))

    def _appended(self, s: Steps, past: Value, new: Value, index: Value, empty: Value) -> Value:
        """Emit the new key or value cache from old entries `past` and `new` entries.

        `past` and `new` are [batch, heads, positions, head size]. `index` [batch, position] picks
        the entries of the new cache from `past` followed by `new`. Where `empty` [batch, position]
        is true, an entry is 0. The result has the element type of `past`.
        """
        both = s.concat([past, s.convert(new, needed_element(s, past))], 2)
        size = needed_size(s, new, 3, "the size of a head")
        sizes = Sizes(s)
        batch, length = sizes.of(index, 2)
        shape = sizes.list([batch, self.kv_num_heads, length, size])
        spread = s.expand(s.unsqueeze(index, [1, 3]), shape)
        found = s.op("GatherElements", both, spread, axis=2)
        return s.select(s.unsqueeze(empty, [1, 3]), s.scalar(0, found), found)

    def _shared(self, s: Steps, x: Value) -> Value:
        """Repeat the key heads of `x` [batch, key heads, ...] for all query heads.

        f16 is widened to f32.
        """
        times = self.num_heads // self.kv_num_heads
        wide = widened(s, x)
        if times == 1:
            return wide
        size = needed_size(s, x, 3, "the size of a head")
        repeated = s.expand(s.unsqueeze(wide, [2]), s.i64([1, 1, times, 1, 1]))
        # The shape stays a constant, although no -1 is inferred for an empty batch.
        return s.reshape_to(repeated, s.i64([0, self.num_heads, -1, size]))

    def _scores(self, s: Steps, q: Value, keys: Value, addend: Value | None, size: int) -> Value:
        scale = self.scale or 1 / math.sqrt(size)
        scores = s.op("MatMul", widened(s, q), s.swap_last(self._shared(s, keys)))
        scores = s.multiply(scores, s.scalar(scale, scores))
        if self.softcap:
            cap = s.scalar(self.softcap, scores)
            scores = s.multiply(s.op("Tanh", s.divide(scores, cap)), cap)
        if addend is None:
            return scores
        return s.add(scores, self._extended(s, widened(s, addend), keys))

    def _extended(self, s: Steps, addend: Value, keys: Value) -> Value:
        """Append zeros to the attention bias until its last axis has the length of the cache."""
        own = needed_dims(s, addend)
        if own[3] is not None and own[3] == needed_dims(s, keys)[2]:
            return addend
        sizes = Sizes(s)
        rest = s.as_list(s.subtract(s.size_of(keys, 2), s.size_of(addend, 3)))
        zeros = s.expand(s.scalar(0.0, addend), sizes.list([*sizes.of(addend)[:3], rest]))
        return s.concat([addend, zeros], 3)

    def _hidden(self, s: Steps, keys: Value, rows: Value, used: Value) -> Value:
        """Return a mask [batch, 1, queries, keys], true for keys that a query must not see.

        These are the keys after the query and the unused positions of the cache. With a local
        window, they also include the keys before the window. `rows` holds the position of each
        query, and `used` the number of used positions in the cache of each item.
        """
        own = s.unsqueeze(rows, [1, 3])
        columns = s.reshape(s.numbers_below(s.size_of(keys, 2)), [1, 1, 1, -1])
        last = s.subtract(s.unsqueeze(used, [1, 3]), s.i64(1))
        hidden = s.greater(columns, s.minimum(own, last))
        if self.local_window_size <= 0:
            return hidden
        before = s.subtract(own, s.i64(self.local_window_size))
        return s.op("Or", hidden, s.logical_not(s.greater(columns, before)))

    def _weights(self, s: Steps, scores: Value, sink: Value | None) -> Value:
        if sink is None and self.smooth_softmax != 1:
            return s.softmax(scores, -1)
        extra = (
            s.scalar(0.0, scores)
            if sink is None
            else s.reshape(widened(s, sink), [1, self.num_heads, 1, 1])
        )
        most = s.maximum(s.reduce("Max", scores, [-1]), extra)
        powers = s.op("Exp", s.subtract(scores, most))
        rest = s.op("Exp", s.subtract(extra, most))
        return s.divide(powers, s.add(s.reduce("Sum", powers, [-1]), rest))
