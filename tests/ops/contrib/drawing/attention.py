"""Random attention and rotary embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.contrib.against_runtime import Case
from tests.ops.contrib.drawing.draw import TOLERANCES, Array, Draw, Drawer, trimmed

__all__ = ["DRAWERS", "mask_of"]


def ones(d: Draw, *shape: int) -> Array:
    """A mask of zeros and ones; each row contains a one."""
    found = (d.random.random(shape) < 0.7).astype(np.int32)
    found[..., d.size(0, shape[-1] - 1)] = 1
    return found


def mask_of(d: Draw, batch: int, queries: int, keys: int, forms: str = "0rrlp3") -> Array | None:
    """A mask in one of its forms: none, per row, lengths, lengths and starts, or
    three-dimensional.
    """
    match d.pick(forms):
        case "r":
            return ones(d, batch, keys)
        case "l":
            return d.random.integers(1, keys + 1, batch).astype(np.int32)
        case "p":
            start = d.random.integers(0, keys, batch)
            end = [d.size(int(first) + 1, keys) for first in start]
            return np.array([*end, *start], np.int32)
        case "3":
            return ones(d, batch, queries, keys)
        case "k":
            # Three vectors in sequence: lengths, and offsets of queries and of keys.
            lengths = d.random.integers(1, keys + 1, batch)
            offsets = [np.arange(batch + 1) * size for size in (queries, keys)]
            return np.concatenate([lengths, *offsets]).astype(np.int32)
    return None


def addend(d: Draw, batch: int, heads: int, queries: int, keys: int) -> Array | None:
    """A tensor to add to the scores, or None."""
    if d.chance(0.7):
        return None
    return d.floats(d.pick([1, batch]), d.pick([1, heads]), queries, keys)


def attention(d: Draw) -> Case:
    """Attention."""
    batch, places, hidden, heads = d.size(1, 3), d.size(1, 4), d.size(2, 6), d.size(1, 3)
    size = d.size(1, 4)
    words = d.words(unidirectional=(0, 1), scale=(0.3,), mask_filter_value=(-2.0, -1e4))
    value = size
    past = d.size(0, 3) if d.chance(0.3) else None
    if past is None and d.chance(0.2):
        value = d.size(1, 4)
        words["qkv_hidden_sizes"] = [heads * size, heads * size, heads * value]
    width = heads * (2 * size + value)
    keys = places + (past or 0)
    inputs = trimmed(
        [
            d.floats(batch, places, hidden),
            d.floats(hidden, width, scale=0.5),
            # ONNX Runtime 1.31 crashes without a bias (ORT117).
            d.floats(width),
            mask_of(d, batch, places, keys),
            None if past is None else d.floats(2, batch, heads, past, size),
            addend(d, batch, heads, places, keys) if past is None else None,
        ]
    )
    return Case(
        "Attention",
        inputs,
        outputs=2 if past is not None or d.chance(0.2) else 1,
        constants=d.constants([1, 2], inputs),
        opset=d.opset(),
        num_heads=heads,
        **words,
    )


def quantized_attention(d: Draw) -> Case:
    """QAttention."""
    batch, places, hidden, heads, size = (
        d.size(1, 3),
        d.size(1, 4),
        d.size(2, 6),
        d.size(1, 3),
        d.size(1, 4),
    )
    width = 3 * heads * size
    past = d.size(0, 3) if d.chance(0.3) else None
    element = d.pick([np.uint8, np.int8])
    by_column = d.chance(0.3)
    zero = d.codes(type=element, bits=4)
    inputs = trimmed(
        [
            d.codes(batch, places, hidden),
            # Seven bits are used because ONNX Runtime adds pairs of products in 16 bits on some
            # processors.
            d.codes(hidden, width, type=element, bits=7),
            d.floats(width),
            d.scale(),
            d.scale(width) if by_column else d.scale(),
            mask_of(d, batch, places, places + (past or 0)),
            d.codes() if d.chance() else None,
            zero if d.chance() else None,
            None if past is None else d.floats(2, batch, heads, past, size),
        ]
    )
    return Case(
        "QAttention",
        inputs,
        outputs=1 if past is None else 2,
        constants=d.constants([1, 2, 3, 4, 6, 7], inputs),
        opset=d.opset(),
        num_heads=heads,
        **d.words(unidirectional=(0, 1), scale=(0.3,), mask_filter_value=(-2.0, -1e4)),
    )


def multi_head(d: Draw) -> Case:
    """MultiHeadAttention."""
    batch, places, heads, size = d.size(1, 3), d.size(1, 4), d.size(1, 3), d.size(1, 4)
    form = d.pick(["self", "self", "cross", "past", "encoder"])
    keys = places if form in ("self", "past") else d.size(1, 5)
    value = size if form in ("past", "encoder") else d.size(1, 4)
    past = d.size(0, 3) if form == "past" else 0
    query = d.floats(batch, places, heads * size)
    if form == "encoder":
        key, values = d.floats(batch, heads, keys, size), d.floats(batch, heads, keys, value)
    else:
        key = d.floats(batch, keys, heads * size)
        values = d.floats(batch, keys, heads * value)
    # If keys and values come from an encoder, ONNX Runtime reads no bias for them.
    bias = d.maybe(heads * (2 * size + value), probability=0.4)
    inputs = trimmed(
        [
            query,
            key,
            values,
            bias,
            mask_of(d, batch, places, past + keys, "00rl3k"),
            addend(d, batch, heads, places, past + keys),
            d.floats(batch, heads, past, size) if form == "past" else None,
            d.floats(batch, heads, past, value) if form == "past" else None,
        ]
    )
    outputs: list[str] = ["y"]
    if form == "past" or d.chance(0.2):
        outputs += ["k", "v"]
    if d.chance(0.1):
        outputs = ["y", *([*outputs[1:], "", ""][:2]), "qk"]
    return Case(
        "MultiHeadAttention",
        inputs,
        outputs=outputs,
        declared=True,
        opset=d.opset(),
        num_heads=heads,
        **d.words(unidirectional=(0, 1), scale=(0.3,), mask_filter_value=(-2.0, -1e4)),
    )


def decoder(d: Draw) -> Case:
    """DecoderMaskedMultiHeadAttention."""
    batch, heads, size = d.size(1, 3), d.size(1, 3), d.size(1, 4)
    query = d.floats(batch, 1, heads * size)
    words: dict[str, Any] = d.words(scale=(0.3,), mask_filter_value=(-2.0, -1e4))
    if d.chance(0.4):
        keys = d.size(1, 5)
        pair = [d.floats(batch, heads, keys, size) for _ in range(2)]
        inputs = [query, *pair, mask_of(d, batch, 1, keys, "0r")]
        return Case(
            "DecoderMaskedMultiHeadAttention",
            trimmed(inputs),
            opset=d.opset(),
            declared=True,
            num_heads=heads,
            **words,
        )
    used, room = d.size(0, 3), d.size(0, 2)
    past = [d.floats(batch, heads, used + room + 1, size) for _ in range(2)]
    keys = used + 1
    inputs = [
        query,
        d.floats(*query.shape),
        d.floats(*query.shape),
        mask_of(d, batch, 1, keys, "0r"),
        d.floats(1, heads, 1, keys) if d.chance(0.3) else None,
        *past,
        np.array([used], np.int32),
        np.array([1], np.int32) if d.chance(0.3) else None,
        None,
        d.maybe(3 * heads * size),
    ]
    return Case(
        "DecoderMaskedMultiHeadAttention",
        trimmed(inputs),
        outputs=["y", "k", "v"],
        declared=True,
        opset=d.opset(),
        num_heads=heads,
        past_present_share_buffer=1,
        **words,
    )


def angles(d: Draw, count: int, half: int, type: Any = np.float32) -> list[Array]:
    """Tables of cosines and sines."""
    found = d.floats(count, half)
    return [np.cos(found).astype(type), np.sin(found).astype(type)]


def rotary(d: Draw) -> Case:
    """RotaryEmbedding."""
    element = np.dtype(d.pick([np.float32, np.float32, np.float16]))
    batch, places, heads = d.size(1, 3), d.size(1, 4), d.size(1, 3)
    size = 8 * d.size(1, 2)
    half = size // 2
    words: dict[str, Any] = d.words(interleaved=(0, 1), scale=(1.0,))
    if d.chance(0.3):
        half = d.pick([2, 4])
        words |= {"rotary_embedding_dim": 2 * half, "num_heads": heads}
    count = 10
    if d.chance(0.4):
        rows = np.array([d.size(0, count - places)], np.int64)
    else:
        rows = d.random.integers(0, count, (batch, places))
    if d.chance():
        x = d.floats(batch, places, heads * size, type=element)
    else:
        x = d.floats(batch, heads, places, size, type=element)
        if d.chance(0.3):
            words["num_heads"] = heads
    inputs: list[Array | None] = [x, rows, *angles(d, count, half, element)]
    return Case(
        "RotaryEmbedding",
        inputs,
        constants=d.constants([2, 3], inputs),
        opset=d.opset(),
        tolerance=TOLERANCES.get(element, 1e-5),
        **words,
    )


def group_query(d: Draw) -> Case:
    """GroupQueryAttention."""
    element = np.dtype(d.pick([np.float32, np.float32, np.float32, np.float16]))
    batch, shared, times = d.size(1, 3), d.size(1, 2), d.size(1, 3)
    heads, size = shared * times, d.pick([8, 16, 32])
    is_step, rotates = d.chance(), d.chance()
    size = max(size, 16) if rotates else size
    words: dict[str, Any] = d.words(
        scale=(0.2,),
        softcap=(0.0, 2.0),
        local_window_size=(-1, 1, 2, 3),
        smooth_softmax=(0, 1, -1),
    )
    if is_step:
        old = d.size(1, 5)
        places = 1 if batch > 1 or d.chance(0.7) else d.size(2, 3)
        totals = [d.size(1, old) + places for _ in range(batch)]
    else:
        old, places = 0, d.size(1, 4)
        totals = [places if d.chance(0.7) else d.size(1, places) for _ in range(batch)]
        totals[0] = places
    total = max(totals)
    parts = [d.floats(batch, places, n * size, type=element) for n in (heads, shared, shared)]
    if d.chance(0.3):
        parts = [np.concatenate(parts, 2), None, None]  # type: ignore[list-item]
    inputs: list[Array | None] = [
        *parts,
        *(d.floats(batch, shared, old, size, type=element) for _ in range(2)),
        np.array(totals, np.int32) - 1,
        np.array(total, np.int32),
    ]
    inputs += [None] * 5
    if rotates:
        half = d.pick([size // 2, size // 2, 8])
        inputs[7:9] = angles(d, 12, half, element)
        words |= {"do_rotary": 1, **d.words(rotary_interleaved=(0, 1))}
        if d.chance(0.3):
            inputs[9] = d.random.integers(0, 12, (batch, places))
    if d.chance(0.2):
        inputs[10] = d.floats(d.pick([1, batch]), d.pick([1, heads]), places, total, type=element)
    if d.chance(0.2):
        inputs[11] = d.floats(heads, type=element)
        words.pop("smooth_softmax", None)
    return Case(
        "GroupQueryAttention",
        trimmed(inputs),
        outputs=3,
        constants=d.constants([7, 8], inputs),
        opset=d.opset(),
        tolerance=TOLERANCES.get(element, 2e-5),
        num_heads=heads,
        kv_num_heads=shared,
        **words,
    )


DRAWERS: dict[str, Drawer] = {
    "Attention": attention,
    "QAttention": quantized_attention,
    "MultiHeadAttention": multi_head,
    "DecoderMaskedMultiHeadAttention": decoder,
    "RotaryEmbedding": rotary,
    "GroupQueryAttention": group_query,
}
