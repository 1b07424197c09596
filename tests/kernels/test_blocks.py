"""Functions that compute in blocks, for long and strided arrays, against formulas in f64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irloop.budget import Budget
from irloop.errors import LimitError
from irloop.kernels import activation, elementwise, normalization, special
from irloop.kernels.blocks import BLOCK

FUNCTIONS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "relu": (activation.relu, lambda x: np.where(x > 0, x, 0)),
    "sigmoid": (activation.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "swish": (activation.swish, lambda x: x / (1 + np.exp(-x))),
    "hard_swish": (activation.hard_swish, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "h_sigmoid": (activation.h_sigmoid, lambda x: np.clip(x + 3, 0, 6) / 6),
    "clamp": (activation.clamp(-0.5, 2.25), lambda x: np.clip(x, -0.5, 2.25)),
    "gelu_erf": (
        activation.gelu_erf,
        lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    ),
    "gelu_tanh": (
        activation.gelu_tanh,
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "erf": (special.erf, np.vectorize(math.erf)),
    "cube": (lambda x: elementwise.power(x, np.full((), 3, x.dtype)), lambda x: x**3),
    "inverse square": (
        lambda x: elementwise.power(x + x.dtype.type(20), np.full((1,) * x.ndim, -2, x.dtype)),
        lambda x: 1 / (x + 20) ** 2,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", [1, 255, 256, BLOCK, BLOCK + 1, 3 * BLOCK - 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_block_is_computed(name: str, size: int, dtype: Any) -> None:
    function, formula = FUNCTIONS[name]
    x = (np.random.default_rng(size).standard_normal(size) * 3).astype(dtype)
    found = function(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, formula(x.astype(np.float64)), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_strided_data_and_scalars(name: str) -> None:
    function, formula = FUNCTIONS[name]
    x = np.random.default_rng(5).standard_normal((70, 50, 9)).astype(np.float32)
    turned = x.transpose(2, 0, 1)[:, ::2]
    np.testing.assert_allclose(
        function(turned), formula(turned.astype(np.float64)), rtol=2e-6, atol=1e-6
    )
    scalar = np.asarray(np.float32(0.75))
    np.testing.assert_allclose(function(scalar), formula(np.float64(0.75)), rtol=2e-6)
    assert np.shape(function(scalar)) == ()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", [3, BLOCK + 3])
def test_nan_stays_nan(name: str, size: int) -> None:
    function, _ = FUNCTIONS[name]
    x = np.ones(size, np.float32)
    x[[0, -1]] = np.nan
    found = function(x)
    assert np.isnan(found[[0, -1]]).all()
    assert not np.isnan(found[1:-1]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("exponent", "wanted"),
    [
        (3, [-8, 8, -0.0, 0, -np.inf, np.inf, np.nan]),
        (4, [16, 16, 0, 0, np.inf, np.inf, np.nan]),
        (-1, [-0.5, 0.5, -np.inf, np.inf, -0.0, 0, np.nan]),
        (-4, [0.0625, 0.0625, np.inf, np.inf, 0, 0, np.nan]),
        (0, [1, 1, 1, 1, 1, 1, 1]),
        (2.5, [np.nan, 2**2.5, 0, 0, np.inf, np.inf, np.nan]),
        (np.inf, [np.inf, np.inf, 0, 0, np.inf, np.inf, np.nan]),
    ],
)
def test_powers_of_signed_numbers(dtype: Any, exponent: float, wanted: list[float]) -> None:
    """The values of IEEE 754's pow, which NumPy computes slowly for negative bases."""
    x = np.tile(np.array([-2, 2, -0.0, 0, -np.inf, np.inf, np.nan], dtype), 100)
    found = elementwise.power(x, np.full((), exponent, dtype))
    np.testing.assert_allclose(found, np.tile(wanted, 100), rtol=1e-6)
    numbers = ~np.isnan(found)
    np.testing.assert_array_equal(
        np.signbit(found[numbers]), np.signbit(np.tile(wanted, 100)[numbers])
    )


def test_error_function_of_single_precision_is_rounded_correctly() -> None:
    """The expected values come from the C library in f64, with an error below one unit in the last
    place of f64.
    """
    near = np.linspace(-6, 6, 200_001)
    small = np.logspace(-44, 1, 20_001)
    x = np.concatenate([near, small, -small]).astype(np.float32)
    wanted = np.array([math.erf(float(item)) for item in x]).astype(np.float32)
    np.testing.assert_array_equal(special.erf(x), wanted)
    edges = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)
    found = special.erf(edges)
    np.testing.assert_array_equal(found, [1, -1, np.nan, 0, 0])
    np.testing.assert_array_equal(np.signbit(found[[1, 3, 4]]), [True, False, True])


@pytest.mark.parametrize("largest", [1023.5, 1024, 1e9, np.float32(3.4e38), np.inf])
def test_error_function_of_large_numbers_beside_small_ones(largest: float) -> None:
    x = np.array([0.5, 4.0004, -5, 700.3, largest, -largest, -0.25, 0.0, -0.0], np.float32)
    wanted = np.array([math.erf(float(item)) for item in x]).astype(np.float32)
    found = special.erf(x)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    assert special.erf(x[:0]).size == 0


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_error_function_of_all_values_of_16_bits(dtype: Any) -> None:
    """More elements than there are values are looked up."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    x = x[np.isfinite(x.astype(np.float32))]
    wanted = np.array([math.erf(float(item)) for item in x]).astype(dtype)
    found = special.erf(np.stack([x, x], 1))
    assert found.dtype == x.dtype
    for column in found.T:
        np.testing.assert_array_equal(column.astype(np.float32), wanted.astype(np.float32))
    edges = np.array([np.inf, -np.inf, np.nan], dtype)
    many = special.erf(np.tile(edges, 1 << 15)).astype(np.float32)
    np.testing.assert_array_equal(many[:3], [1, -1, np.nan])


def test_error_function_of_doubles_counts_as_work() -> None:
    """250 ns for an element; 1 << 20 elements take 52,429 steps of 5 microseconds."""
    x = np.zeros(1 << 20)
    with Budget(operations=52_429).entered():
        special.erf(x)
    with Budget(operations=52_000).entered(), pytest.raises(LimitError):
        special.erf(x)


@pytest.mark.parametrize("shape", [(2, 5, 130, 130), (3, 700, 9), (1, 3, 20, 20, 50), (2, 4, 3)])
@pytest.mark.parametrize("turned", [False, True])
def test_batch_normalisation_of_large_data(shape: tuple[int, ...], turned: bool) -> None:
    random = np.random.default_rng(1)
    x = random.standard_normal(shape).astype(np.float32)
    x = np.asfortranarray(x) if turned else x
    scale, bias, mean = random.standard_normal((3, shape[1])).astype(np.float32)
    variance = (random.random(shape[1]) + 0.1).astype(np.float32)
    found = normalization.batch_norm(1e-3)(x, scale, bias, mean, variance)
    wide = [
        item.astype(np.float64).reshape(1, -1, *(1,) * (len(shape) - 2))
        for item in (scale, bias, mean, variance)
    ]
    wanted = (x - wide[2]) / np.sqrt(wide[3] + 1e-3) * wide[0] + wide[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert found.dtype == np.float32
