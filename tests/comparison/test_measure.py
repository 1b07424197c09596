"""Distances between arrays, worked out by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irloop.budget import Budget
from irloop.comparison.measure import Tolerance, agree, measure, ulps, within
from irloop.comparison.verdict import Verdict, drift, verdict_of
from irloop.errors import LimitError


def test_ulps_count_representable_values() -> None:
    one = np.array([1.0, -1.0, 0.0], np.float32)
    after = np.nextafter(one, np.float32(10))
    assert ulps(one, after) == 1
    assert ulps(one, one) == 0
    # Both zeros are the same value; the smallest denormals are its neighbours.
    assert ulps(np.array([0.0]), np.array([-0.0])) == 0
    tiny = np.array([5e-324])
    assert ulps(-tiny, tiny) == 2
    assert ulps(np.array([1, 2]), np.array([1, 3])) is None


def test_ulps_of_half_types() -> None:
    half = np.array([1.0], np.float16)
    assert ulps(half, np.array([1.0 + 2**-10], np.float16)) == 1
    brain = np.array([1.0], ml_dtypes.bfloat16)
    assert ulps(brain, np.array([1.0 + 2**-6], ml_dtypes.bfloat16)) == 2


def test_absolute_relative_and_the_smallest_tolerance() -> None:
    x, y = np.array([1.0, 100.0]), np.array([1.5, 101.0])
    found = measure(x, y, Tolerance(0.0, 0.75))
    assert found.absolute == 1.0
    assert found.relative == 0.5
    # 0.5 <= t + t * 1 and 1 <= t + t * 100: the first inequality needs the larger t.
    assert found.smallest == 0.25
    assert found.wrong == 1
    assert found.worst == (1,)
    assert measure(x, y, Tolerance(found.smallest, found.smallest)).equal


def test_nan_and_infinity() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert measure(x, x.copy(), Tolerance()).equal
    y = x.copy()
    y[1] = 1e30
    found = measure(x, y, Tolerance())
    assert not found.equal
    assert found.worst == (1,)
    assert found.absolute == np.inf


def test_integers_are_exact_at_any_size() -> None:
    big = np.array([2**62, 2**63 - 1])
    assert measure(big, big, Tolerance()).equal
    found = measure(big, big - 1, Tolerance())
    assert found.wrong == 2
    assert found.absolute == 1
    wide = np.array([2**64 - 1], np.uint64)
    assert measure(wide, wide - np.uint64(2), Tolerance()).absolute == 2


def test_strings_and_empty_arrays_are_compared() -> None:
    words = np.array(["a", "b"], object)
    assert measure(words, words.copy(), Tolerance()).equal
    assert measure(words, np.array(["a", "c"], object), Tolerance()).worst == (1,)
    empty = np.zeros((0, 3), np.float32)
    assert measure(empty, empty, Tolerance()).equal


def test_verdicts_of_arrays() -> None:
    rows = np.arange(12.0).reshape(4, 3)
    later = np.vstack([rows[:1] * 9 - 5, rows[:-1]])
    cases = [
        (rows, rows[::-1].copy(), Verdict.REVERSED),
        (rows, later, Verdict.SHIFTED),
        (later, rows, Verdict.SHIFTED),
        (rows, rows.reshape(2, 2, 3), Verdict.STACKED),
        (rows, rows.T.copy(), Verdict.SHAPE),
        (rows, rows[:3], Verdict.COUNT),
        (rows, rows[1:], Verdict.COUNT),
        (rows[:0], np.zeros((0, 7)), Verdict.ZERO_SHAPE),
        (rows, rows.astype(np.float32), Verdict.TYPE),
        (rows, np.where(rows == 5, np.nan, rows), Verdict.NAN),
        (rows, rows * 1.001, Verdict.DRIFT),
        (rows, np.where(rows == 5, 99, rows), Verdict.VALUES),
        # All parts are equal, so a wrong part is not a shifted one.
        (np.ones((4, 3)), np.vstack([np.zeros((1, 3)), np.ones((3, 3))]), Verdict.VALUES),
    ]
    for x, y, wanted in cases:
        assert verdict_of(x, y, Tolerance())[0] is wanted
    assert verdict_of(rows, rows * 0, Tolerance(), [rows * 0])[0] is Verdict.NOT_UPDATED


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_drift_is_the_factor_an_iteration(factor: float) -> None:
    found = drift([1e-6 * factor**at for at in range(10)])
    assert found == pytest.approx(factor)
    assert drift([1e-6, 0.0]) is None


@pytest.mark.parametrize(
    ("dtype", "value", "near", "far"),
    [
        (np.float64, 1.0, 1.0 + 5e-7, 1.0 + 5e-6),
        (np.float32, 1.0, 1.0 + 5e-5, 1.0 + 5e-4),
        (np.float16, 1.0, 1.0 + 2**-8, 1.0 + 2**-5),
        (ml_dtypes.bfloat16, 1.0, 1.0 + 2**-5, 1.0 + 2**-3),
        # Near 1, numbers are 2**-3 apart with four bits, and 2**-2 with three.
        (ml_dtypes.float8_e4m3fn, 1.0, 1.0 + 2**-3, 1.0 + 2**-2),
        (ml_dtypes.float8_e5m2, 1.0, 1.0 + 2**-2, 1.0 + 2**-1),
        (np.int8, 1, 1, 2),
        (np.int64, 2**62, 2**62, 2**62 + 1),
        (np.bool_, True, True, False),
        (object, "a", "a", "b"),
    ],
    ids=str,
)
def test_each_element_type_has_its_tolerance(dtype: Any, value: Any, near: Any, far: Any) -> None:
    wanted = np.array([value], dtype)
    assert measure(wanted, np.array([near], dtype), Tolerance()).equal
    assert not measure(wanted, np.array([far], dtype), Tolerance()).equal


def test_an_engine_that_computes_f64_in_f32_has_the_tolerance_of_f32() -> None:
    x, y = np.array([1.0]), np.array([1.0 + 5e-5])
    assert not measure(x, y, Tolerance()).equal
    assert measure(x, y, Tolerance(single=True)).equal


def test_arrays_of_many_parts_are_measured_as_a_whole() -> None:
    """The largest element, the worst element and the first wrong element are in three different
    parts.
    """
    x = np.zeros((3, 400_000), np.float32)
    x[2, 5] = 100.0
    y = x.copy()
    y[0, 7], y[1, 9], y[2, 399_999] = 1.5e-3, 0.5, 0.25
    found = measure(x, y, Tolerance(1e-4, 0.0))
    # 1e-4 of a tenth of 100 is allowed for each element: 1e-3.
    assert (found.equal, found.wrong, found.worst) == (False, 3, (1, 9))
    assert found.absolute == 0.5
    assert found.smallest == 0.5
    assert int(within(x, y, Tolerance(1e-4, 0.0)).sum()) == x.size - 3
    assert not agree(x, y, Tolerance(1e-4, 0.0))
    assert agree(x, y, Tolerance(1e-4, 1.0))
    y[0, 7] = 0.9e-3
    assert measure(x, y, Tolerance(1e-4, 0.0)).wrong == 2


def test_equal_bits_are_equal_and_nan_alone_has_no_ulp_distance() -> None:
    nothing = np.full(5, np.nan, np.float32)
    assert measure(nothing, nothing.copy(), Tolerance()).ulp is None
    mixed = np.array([np.nan, np.inf, -0.0], np.float32)
    found = measure(mixed, mixed.copy(), Tolerance())
    assert (found.equal, found.ulp, found.absolute) == (True, 0, 0.0)
    assert measure(np.array([0.0]), np.array([-0.0]), Tolerance()).equal


def test_comparing_costs_steps() -> None:
    x = np.zeros(10_000_000, np.float32)
    with Budget(operations=1000).entered(), pytest.raises(LimitError, match="comparing values"):
        measure(x, x, Tolerance())


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_masks_of_the_lowest_number_and_of_infinity_are_equal(name: str) -> None:
    """-3.4028235e38 and -inf mask alike; a sum of two such masks overflows in some engines."""
    dtype = np.dtype(name)
    largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    x = np.array([1, -largest, largest], dtype)
    found = measure(x, np.array([1, -np.inf, np.inf], dtype), Tolerance())
    assert (found.equal, found.absolute) == (True, 0.0)
    assert not measure(x, np.array([1, np.inf, -np.inf], dtype), Tolerance()).equal
    assert not measure(x, np.array([-np.inf, -largest, largest], dtype), Tolerance()).equal
    assert not measure(x / dtype.type(4), x * dtype.type(np.inf), Tolerance()).equal
