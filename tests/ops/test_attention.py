"""Attention and rotary embeddings: kernels and inference against ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx.attention import Attention, LinearAttention, RotaryEmbedding

BACKEND_OPS = "Attention RotaryEmbedding LinearAttention"


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_shares_of_many_keys_are_a_whole() -> None:
    """A bf16 sum that adds the keys one by one would stop growing at 256."""
    keys = np.zeros((1, 1, 4099, 1), ml_dtypes.bfloat16)
    ones = np.ones_like(keys)
    found = Attention().kernel()(keys[:, :, :1], keys, ones)
    np.testing.assert_allclose(found.astype(np.float32), 1.0, rtol=0.02)


def test_equal_keys_share_the_attention() -> None:
    """Two equal keys give the mean of their values; a third key may not be attended to yet."""
    ones = np.ones((1, 1, 3, 2), np.float32)
    values = np.array([2, 4, 9], np.float32).reshape(1, 1, 3, 1)
    found = Attention(is_causal=1).kernel()(ones, ones, values)
    np.testing.assert_allclose(found.reshape(-1), [2, 3, 5], rtol=1e-6)


def test_a_query_that_may_attend_to_no_key_gets_zeros() -> None:
    ones = np.ones((1, 1, 2, 2), np.float32)
    mask = np.array([[True, False], [False, False]])
    found = Attention().kernel()(ones, ones, ones, mask)
    assert found[0, 0].tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize(("interleaved", "expected"), [(1, [-2, 1, -4, 3]), (0, [-3, -4, 1, 2])])
def test_rotary_embedding_by_a_quarter_turn_swaps_and_negates_the_halves(
    interleaved: int, expected: list[int]
) -> None:
    """(a, b) becomes (-b, a), for adjacent elements or for elements half the size apart."""
    data = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 1, 4)
    cosines, sines = np.zeros((1, 1, 2), np.float32), np.ones((1, 1, 2), np.float32)
    found = RotaryEmbedding(interleaved=interleaved).kernel()(data, cosines, sines)
    assert found.reshape(-1).tolist() == expected


def test_linear_attention_adds_key_times_value_in_each_step() -> None:
    """With one number per head, each step adds key * value to the state, and the query multiplies
    the state.
    """
    op = LinearAttention(q_num_heads=1, kv_num_heads=1, update_rule="linear", scale=1.0)
    steps = np.array([1, 2, 3], np.float32).reshape(1, 3, 1)
    ones = np.ones_like(steps)
    found, state = op.kernel(2)(ones, ones, steps)
    assert found.reshape(-1).tolist() == [1, 3, 6]
    assert state.tolist() == [[[[6.0]]]]
