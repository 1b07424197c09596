"""ONNX attention with caches, masks and windows; rotary embeddings; linear attention.

16-bit floats are rounded after each operation, as in the function body in the ONNX standard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.activation import staged_softmax
from irloop.kernels.matmul import A_SCORE, spend_product, widened
from irloop.kernels.work import spend_each

__all__ = ["Array", "Attention", "Function", "attention", "linear_attention", "rotary_embedding"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Attention:
    """Settings of an attention operation.

    The head counts are 0 for four-dimensional data, which has an axis of heads already. `left` and
    `right` bound the window of keys around a query; -1 means no bound. `mode` selects the fourth
    output: the scores (0), the scores after the soft cap (1), after the bias (2) or after softmax
    (3).
    """

    causal: bool = False
    query_heads: int = 0
    key_heads: int = 0
    scale: float | None = None
    softcap: float = 0.0
    precision: Any = None
    mode: int = 0
    left: int = -1
    right: int = -1


def _split_heads(x: Array, heads: int) -> Array:
    """Split [B, S, heads * D] into [B, heads, S, D]; data with four axes is returned unchanged."""
    if x.ndim == 4:
        return x
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def _joined_heads(x: Array) -> Array:
    """Join the heads: [B, heads, S, D] becomes [B, S, heads * D]."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def _product(left: Array, right: Array, dtype: np.dtype[Any]) -> Any:
    spend_product(left, right)
    return np.matmul(widened(left), widened(right)).astype(dtype, copy=False)


def _visible_keys(how: Attention, queries: int, keys: int, offset: Any) -> Array | None:
    """Return a mask [queries, keys] that is true where a query may attend to a key.

    The mask depends only on positions; `offset` is the position of the first query. None means that
    each query may attend to all keys.
    """
    if not how.causal and how.left < 0 and how.right < 0:
        return None
    distance = np.arange(queries)[:, None] + offset - np.arange(keys)
    seen = np.ones(distance.shape, dtype=bool)
    if how.causal:
        seen &= distance >= 0
    if how.left >= 0:
        seen &= distance <= how.left
    if how.right >= 0:
        seen &= -distance <= how.right
    return seen


def _bias(
    how: Attention,
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    mask: Array | None,
    past: int,
    lengths: Array | None,
) -> Array | None:
    """Return the bias to add to the attention scores, or None if there is nothing to add.

    The bias is the mask plus minus infinity for each key that a query must not attend to. A boolean
    mask becomes 0 (true) and minus infinity (false).

    Args:
        how: the settings, of which causal attention and the window matter here.
        shape: the numbers of queries and keys.
        dtype: the element type of the bias.
        mask: a boolean or additive mask; keys beyond its last axis are excluded.
        past: the number of cached keys before the first query.
        lengths: the number of valid keys of each batch item; it replaces `past`.
    """
    queries, keys = shape
    bias: Array | None = None
    if mask is not None:
        never = dtype.type(-np.inf)
        bias = np.where(mask, dtype.type(0), never) if mask.dtype.kind == "b" else mask
        missing = keys - mask.shape[-1]
        if missing > 0:
            widths = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
            bias = np.pad(bias, widths, constant_values=never)
    offset: Any = past
    if lengths is not None:
        offset = lengths.reshape(-1, 1, 1, 1) - queries
    limits = [_visible_keys(how, queries, keys, offset)]
    if lengths is not None:
        limits.append(np.arange(keys) < lengths.reshape(-1, 1, 1, 1))
    for seen in limits:
        if seen is not None:
            part = np.where(seen, dtype.type(0), dtype.type(-np.inf))
            bias = part if bias is None else bias + part
    return bias


_SOFTMAX = staged_softmax(-1)


def attention(how: Attention) -> Function:
    """Make a kernel for attention with caches, masks and windows.

    The kernel takes query, key, value and, optionally, the mask, the past key, the past value and
    the number of valid keys of each batch item. It returns the result, the present keys, the
    present values and the output that `how.mode` selects. With fewer key heads than query heads,
    each key head serves a group of query heads.
    """

    def apply(
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None = None,
        past_key: Array | None = None,
        past_value: Array | None = None,
        lengths: Array | None = None,
    ) -> tuple[Array, Array, Array, Array]:
        dtype, flat = query.dtype, query.ndim == 3
        q = _split_heads(query, how.query_heads)
        k, v = _split_heads(key, how.key_heads), _split_heads(value, how.key_heads)
        past = 0
        if past_key is not None and past_value is not None:
            past = past_key.shape[2]
            k = np.concatenate((past_key, k), axis=2)
            v = np.concatenate((past_value, v), axis=2)
        present = k, v
        shared = q.shape[1] // k.shape[1]
        if shared > 1:
            k, v = k.repeat(shared, axis=1), v.repeat(shared, axis=1)
        with np.errstate(all="ignore"):
            bias = _bias(how, (q.shape[2], k.shape[2]), dtype, mask, past, lengths)
            outputs = _attended(how, q, k, v, bias)
        result = _joined_heads(outputs[0]) if flat else outputs[0]
        return result, *present, outputs[1]

    return apply


def _attended(
    how: Attention, q: Array, k: Array, v: Array, bias: Array | None
) -> tuple[Array, Array]:
    dtype = q.dtype
    count = q.size // max(q.shape[-1], 1) * k.shape[-2]
    budget.reserve(6 * max(dtype.itemsize, 4) * count, "the scores of attention")
    spend_each(count, A_SCORE, "the scores of attention")
    scale = q.shape[-1] ** -0.5 if how.scale is None else how.scale
    root = np.asarray(scale**0.5).astype(dtype)
    scores = _product(q * root, (k * root).swapaxes(-1, -2), dtype)
    stages = [scores]
    if how.softcap > 0:
        cap = np.asarray(how.softcap).astype(dtype)
        scores = np.tanh(scores / cap) * cap
    stages.append(scores)
    if bias is not None:
        scores = scores + bias
    stages.append(scores)
    precision = dtype if how.precision is None else how.precision
    shares = _SOFTMAX(scores.astype(precision, copy=False)).astype(dtype, copy=False)
    if bias is not None:
        # A query that may attend to no key at all gets zeros.
        blind = np.isneginf(bias.max(axis=-1, keepdims=True))
        shares = np.where(blind, dtype.type(0), shares)
    stages.append(shares)
    return _product(shares, v, dtype), stages[how.mode].astype(dtype, copy=False)


def rotary_embedding(*, interleaved: bool, size: int, heads: int) -> Function:
    """Make a kernel that rotates pairs of elements by an angle that depends on their position.

    The data is [B, H, S, D] or [B, S, H * D].

    `size` is the number of elements of each head that are rotated; 0 means all. With `interleaved`,
    a pair is two neighbouring elements. Otherwise, element i of the first half of the rotated
    elements is paired with element i of the second half.
    """

    def apply(x: Array, cosines: Array, sines: Array, places: Array | None = None) -> Any:
        split = x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1)
        axis = 1 if x.ndim == 4 else 2
        cos, sin = (
            np.expand_dims(widened(cache if places is None else cache[places]), axis)
            for cache in (cosines, sines)
        )
        turned = size or split.shape[-1]
        result = widened(split).copy()
        half = turned // 2
        first, second = (
            (slice(0, turned, 2), slice(1, turned, 2))
            if interleaved
            else (slice(0, half), slice(half, turned))
        )
        a, b = result[..., first].copy(), result[..., second].copy()
        result[..., first] = cos * a - sin * b
        result[..., second] = sin * a + cos * b
        return result.reshape(x.shape).astype(x.dtype, copy=False)

    return apply


def linear_attention(*, rule: str, query_heads: int, key_heads: int, scale: float) -> Function:
    """Make a kernel for linear attention, which keeps a state [B, H, D, E] over all steps.

    Each step adds the outer product of its key and its value to the state, then multiplies the
    query by the state. `rule` can change the update in two ways:

    - If it starts with "gated", the state is first multiplied by exp(decay).
    - If it ends with "delta", beta * (value - key @ state) is added in place of the value.

    The kernel takes queries [B, T, `query_heads` * D], keys [B, T, H * D] and values [B, T, H * E],
    then optionally the initial state, decay and beta. H is `key_heads`, T the number of steps. It
    returns the outputs and the last state. The outputs are multiplied by `scale`; 0 means 1 /
    sqrt(D).
    """
    gated, corrected = rule.startswith("gated"), rule.endswith("delta")

    def steps(x: Array, heads: int) -> Array:
        """Rearrange [B, T, heads * D] to [T, B, heads, D], with one row for each time step."""
        wide = x.astype(np.float32)
        return wide.reshape(*x.shape[:2], heads, -1).transpose(1, 0, 2, 3)

    def apply(
        query: Array,
        key: Array,
        value: Array,
        past: Array | None = None,
        decay: Array | None = None,
        beta: Array | None = None,
    ) -> tuple[Array, Array]:
        q, k, v = steps(query, query_heads), steps(key, key_heads), steps(value, key_heads)
        shared = query_heads // key_heads
        count, batch, _, width = q.shape
        q = q.reshape(count, batch, key_heads, shared, width)
        factor = np.float32(scale or width**-0.5)
        with np.errstate(all="ignore"):
            fading = None if decay is None or not gated else np.exp(steps(decay, key_heads))
            rates = None
            if beta is not None and corrected:
                rates = steps(beta, 1 if beta.shape[-1] == 1 else key_heads)
            if past is None:
                state = np.zeros((batch, key_heads, width, v.shape[-1]), np.float32)
            else:
                state = past.astype(np.float32)
            read = np.empty((count, batch, key_heads, shared, v.shape[-1]), np.float32)
            spend_each(count, 50_000 + 5 * state.size, "linear attention")
            for step in range(count):
                if fading is not None:
                    state = state * fading[step][..., None]
                new = v[step]
                if rates is not None:
                    known = (k[step][..., None, :] @ state)[..., 0, :]
                    new = rates[step] * (new - known)
                state = state + k[step][..., None] * new[..., None, :]
                np.matmul(q[step], state, out=read[step])
        result = (read * factor).transpose(1, 0, 2, 3, 4).reshape(batch, count, -1)
        kept = query.dtype if past is None else past.dtype
        return result.astype(query.dtype, copy=False), state.astype(kept, copy=False)

    return apply
