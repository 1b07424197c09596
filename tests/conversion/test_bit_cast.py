"""Conversion of BitCast to arithmetic in OpenVINO, compared with views of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.dialects.onnx.convert import BitCast
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import Shape, TensorType, element_type_of

Array = np.ndarray[Any, np.dtype[Any]]


def converted(source: Any, target: Any) -> Model:
    """An IR with a BitCast of a list from one NumPy type to another."""
    graph = Graph("model")
    build = Builder(graph)
    data = build.parameter("x", TensorType(element_type_of(np.dtype(source)), Shape.of(None)))
    build.result(build(BitCast(element_type_of(np.dtype(target))), data), "y")
    return pipelines.to_openvino(Model(graph, "onnx", 0, {"": 26}, {}, None))[0]


def check(array: Array, target: Any) -> None:
    (found,) = Session(converted(array.dtype, target)).run([array]).values()
    np.testing.assert_array_equal(found, array.view(target))


RANDOM = np.random.default_rng(11)

#: Normal numbers of all magnitudes, both zeros, both infinities.
FLOATS = np.concatenate(
    [
        (RANDOM.uniform(1, 2, 300) * 2.0 ** RANDOM.integers(-126, 128, 300)).astype(np.float32),
        -(2.0 ** np.arange(-126, 128)).astype(np.float32),
        np.array([0.0, -0.0, np.inf, -np.inf, 1.1754944e-38, 3.4028235e38], np.float32),
    ]
)


def test_floats_to_integers_of_the_same_bits() -> None:
    check(FLOATS, np.int32)


def test_integers_to_floats_of_the_same_bits() -> None:
    check(FLOATS.view(np.int32), np.float32)


def test_nan_has_the_bits_that_engines_produce() -> None:
    nan = np.array([np.nan], np.float32)
    (bits,) = Session(converted(np.float32, np.int32)).run([nan]).values()
    assert bits.tolist() == [0x7FC00000]
    (back,) = Session(converted(np.int32, np.float32)).run([bits]).values()
    assert np.isnan(back).all()


@pytest.mark.parametrize(
    ("source", "target"),
    [(np.int8, np.uint8), (np.uint8, np.int8), (np.int16, np.uint16), (np.uint16, np.int16)],
)
def test_signed_integers_to_unsigned_and_back(source: Any, target: Any) -> None:
    limits = np.iinfo(source)
    check(np.arange(limits.min, limits.max + 1, 7).astype(source), target)


def test_wide_numbers_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="read the bits of f64 as i64"):
        converted(np.float64, np.int64)
