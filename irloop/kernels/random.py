"""Random numbers: OpenVINO's Philox generator, bit for bit, and ONNX's distributions.

Philox4x32-10: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.lists import listed
from irloop.kernels.work import spend_each

__all__ = [
    "bernoulli",
    "multinomial",
    "normal",
    "normal_like",
    "philox_multinomial",
    "philox_uniform",
    "uniform",
    "uniform_like",
]

Array = np.ndarray[Any, np.dtype[Any]]
Distribution = Callable[[np.random.Generator, tuple[int, ...]], Array]

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def _philox(count: int, key: int, counter: int) -> Array:
    """Generate `count` blocks of four u32; block n has the counter (n, `counter`)."""
    budget.reserve(100 * count, "random numbers")
    spend_each(count, 200, "random numbers")
    numbers = np.arange(count, dtype=np.uint64)
    second = np.uint64(counter & (2**64 - 1))
    words = [
        numbers & _LOW,
        numbers >> _HALF,
        np.full_like(numbers, second & _LOW),
        np.full_like(numbers, second >> _HALF),
    ]
    keys = [key & 0xFFFFFFFF, (key >> 32) & 0xFFFFFFFF]
    for _ in range(10):
        first = words[0] * np.uint64(_MULTIPLIERS[0])
        third = words[2] * np.uint64(_MULTIPLIERS[1])
        words = [
            (third >> _HALF) ^ words[1] ^ np.uint64(keys[0]),
            third & _LOW,
            (first >> _HALF) ^ words[3] ^ np.uint64(keys[1]),
            first & _LOW,
        ]
        keys = [(k + step) & 0xFFFFFFFF for k, step in zip(keys, _KEY_STEPS, strict=True)]
    return np.stack(words, axis=-1).astype(np.uint32)


def _unit(words: Array, dtype: np.dtype[Any]) -> Array:
    """Floats in [0, 1): random bits as the mantissa of a number in [1, 2), minus 1."""
    if dtype == np.float64:
        high, low = words[0::2].astype(np.uint64), words[1::2].astype(np.uint64)
        bits = ((high & np.uint64(0xFFFFF)) << _HALF) | low | np.uint64(0x3FF << 52)
        wide: Array = bits.view(np.float64) - 1.0
        return wide
    if dtype == np.float32:
        singles = (words & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)
        return singles.view(np.float32) - np.float32(1)
    mantissa, one = (10, 0x3C00) if dtype == np.float16 else (7, 0x3F80)
    halves = (words & np.uint32(2**mantissa - 1)).astype(np.uint16) | np.uint16(one)
    narrow: Array = halves.view(dtype) - dtype.type(1)
    return narrow


def philox_uniform(
    dtype: np.dtype[Any], global_seed: int, op_seed: int
) -> Callable[[Array, Array, Array], Array]:
    """Make a kernel that returns uniform numbers of the type `dtype`, as OpenVINO generates them.

    The kernel takes the shape, the lower bound (included) and the upper bound (excluded). If both
    seeds are 0, every run returns different numbers.
    """
    double = dtype.itemsize == 8

    def run(shape: Array, low: Array, high: Array) -> Array:
        key, counter = global_seed, op_seed
        if key == 0 and counter == 0:
            key = int(np.random.default_rng().integers(1, 2**63))
        dims = tuple(listed(shape))
        count = math.prod(dims)
        words = _philox(-(-count * (2 if double else 1) // 4), key, counter).reshape(-1)
        first, last = low.reshape(-1)[0], high.reshape(-1)[0]
        if dtype.kind in "iu":
            span = int(last) - int(first)
            raw = words.astype(np.uint64)
            if double:
                raw = (raw[1::2] << _HALF) | raw[0::2]
            values = (raw % np.uint64(span)).astype(np.int64) + int(first)
        else:
            values = _unit(words, dtype) * dtype.type(last - first) + dtype.type(first)
        return values[:count].reshape(dims).astype(dtype)

    return run


def philox_multinomial(
    dtype: np.dtype[Any], global_seed: int, op_seed: int, *, replace: bool, logs: bool
) -> Callable[[Array, Array], Array]:
    """Make a kernel that samples class indices with probabilities proportional to weights.

    The weights are [batch, classes] or [classes]; the result is [..., samples]. With
    `logs`, the weights are given by their logarithms. The random numbers come from Philox;
    the sampled class is the first whose cumulative probability is greater than the random
    number.
    """
    uniform_numbers = philox_uniform(np.dtype(np.float32), global_seed, op_seed)

    def run(weights: Array, samples: Array) -> Array:
        count = int(samples.reshape(-1)[0])
        rows = np.atleast_2d(weights).astype(np.float64)
        shares = np.exp(rows) if logs else np.array(rows)
        shape = np.array([len(rows), count])
        drawn = uniform_numbers(shape, np.zeros(1, np.float32), np.ones(1, np.float32))
        chosen = np.empty((len(rows), count), dtype)
        spend_each(count, 20_000 + 5 * rows.size, "drawing samples")
        for draw in range(count):
            limits = np.cumsum(shares, axis=1)
            reached = drawn[:, draw, None] * limits[:, -1:] < limits
            chosen[:, draw] = reached.argmax(axis=1)
            if not replace:
                shares[np.arange(len(rows)), chosen[:, draw]] = 0
        return chosen.reshape((*weights.shape[:-1], count))

    return run


def _generator(seed: float | None) -> np.random.Generator:
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng(struct.unpack("<I", struct.pack("<f", seed))[0])


def _drawn(
    distribution: Distribution, shape: tuple[int, ...], dtype: np.dtype[Any], seed: float | None
) -> Array:
    # The generator draws in f64.
    budget.reserve(2 * 8 * math.prod(shape), "random numbers")
    spend_each(math.prod(shape), 50, "random numbers")
    return distribution(_generator(seed), shape).astype(dtype)


def _normal(mean: float, scale: float) -> Distribution:
    return lambda generator, shape: np.asarray(generator.normal(mean, scale, shape))


def _uniform(low: float, high: float) -> Distribution:
    return lambda generator, shape: np.asarray(generator.uniform(low, high, shape))


def normal(
    shape: tuple[int, ...], mean: float, scale: float, dtype: np.dtype[Any], seed: float | None
) -> Callable[[], Array]:
    """Make a kernel that draws normally distributed numbers in the given shape.

    `scale` is the standard deviation. Without a `seed`, every call draws different numbers; with
    one, all draw the same.
    """
    return lambda: _drawn(_normal(mean, scale), shape, dtype, seed)


def normal_like(
    mean: float, scale: float, dtype: np.dtype[Any] | None, seed: float | None
) -> Callable[[Array], Array]:
    """Make a kernel that draws normally distributed numbers in the shape of its operand.

    `scale` is the standard deviation. The numbers have the type `dtype` or, if `dtype` is None, the
    type of the operand.
    """
    return lambda like: _drawn(_normal(mean, scale), like.shape, dtype or like.dtype, seed)


def uniform(
    shape: tuple[int, ...], low: float, high: float, dtype: np.dtype[Any], seed: float | None
) -> Callable[[], Array]:
    """Make a kernel that returns uniformly distributed numbers in a fixed shape."""
    return lambda: _drawn(_uniform(low, high), shape, dtype, seed)


def uniform_like(
    low: float, high: float, dtype: np.dtype[Any] | None, seed: float | None
) -> Callable[[Array], Array]:
    """Return a function that draws uniformly distributed numbers in the shape of its input.

    The numbers lie between `low` and `high`. Their type is `dtype` or, if that is None, the type of
    the input.
    """
    return lambda like: _drawn(_uniform(low, high), like.shape, dtype or like.dtype, seed)


def bernoulli(dtype: np.dtype[Any] | None, seed: float | None) -> Callable[[Array], Array]:
    """Make a kernel that draws 1 with the probability given by its input, else 0.

    The result has the type `dtype`, or the type of the input if `dtype` is None. Without a `seed`,
    every call draws different numbers; with one, all draw the same.
    """

    def run(chance: Array) -> Array:
        budget.reserve(2 * 8 * chance.size, "random numbers")
        drawn = _generator(seed).uniform(0.0, 1.0, chance.shape) < chance.astype(np.float64)
        return np.asarray(drawn).astype(dtype or chance.dtype)

    return run


def multinomial(samples: int, dtype: np.dtype[Any], seed: float | None) -> Callable[[Array], Array]:
    """Make a kernel that samples classes by unnormalised log-probabilities.

    It maps the log-probabilities [batch, classes] to class indices [batch, samples].
    """

    def run(logits: Array) -> Array:
        wide = logits.astype(np.float64)
        weights = np.exp(wide - wide.max(axis=1, keepdims=True))
        limits = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        compared = samples * limits.size
        budget.reserve(2 * compared + 24 * samples * len(limits), "drawing samples")
        spend_each(compared, 3, "drawing samples")
        drawn = _generator(seed).uniform(0.0, 1.0, (len(limits), samples))
        chosen = (drawn[:, :, None] >= limits[:, None, :-1]).sum(axis=2)
        return np.asarray(chosen).astype(dtype)

    return run
