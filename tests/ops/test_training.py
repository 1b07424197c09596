"""Steps of optimisers: kernels and inference against hand arithmetic and PyTorch's formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irloop.dialects.onnx.training import Adagrad, Adam, Momentum
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import UNKNOWN_SHAPE, ElementType, Shape, TensorType

BACKEND_DOMAIN = "ai.onnx.preview.training"
BACKEND_OPS = "Adagrad Adam Momentum"


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


@pytest.mark.parametrize("opset", [6, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


def f32(*items: float) -> Any:
    return np.array(items, np.float32)


def step(op: Any, count: int, *tensors: Any, n_outputs: int = 2) -> list[Any]:
    rate, number = np.array(0.5, np.float32), np.array(count, np.int64)
    return [x.tolist() for x in op.kernel(n_outputs)(rate, number, *tensors)]


def test_first_step_of_momentum_counts_the_gradient_whole() -> None:
    op = Momentum(alpha=0.5, beta=0.25, mode="standard", norm_coefficient=0.0)
    # v = 0.5 * 2 + 1 * 4 = 5, x = 10 - 0.5 * 5; later v = 1 + 0.25 * 4 = 2, x = 10 - 1
    assert step(op, 0, f32(10), f32(4), f32(2)) == [[7.5], [5.0]]
    assert step(op, 1, f32(10), f32(4), f32(2)) == [[9.0], [2.0]]


def test_nesterov_looks_ahead() -> None:
    op = Momentum(alpha=0.5, beta=0.25, mode="nesterov", norm_coefficient=1.0)
    # g = 10 + 4, v = 1 + 0.25 * 14 = 4.5, x = 10 - 0.5 * (14 + 2.25)
    assert step(op, 1, f32(10), f32(4), f32(2)) == [[1.875], [4.5]]


def test_decay_of_adagrad() -> None:
    op = Adagrad(decay_factor=1.0, epsilon=1.0)
    # h = 7 + 9 = 16, the root of it and epsilon 5, the rate 0.5 / (1 + 1 * 4) = 0.1
    found = step(op, 4, f32(2, 2), f32(3, 3), f32(7, 7))
    np.testing.assert_allclose(found, np.array([[1.94, 1.94], [16, 16]]), rtol=1e-6)


def test_adam_corrects_its_means() -> None:
    op = Adam(alpha=0.5, beta=0.75, epsilon=0.0, norm_coefficient_post=0.5)
    # v = 2, h = 0.25 * 16 = 4, the rate 0.5 * sqrt(1 - 0.75) / (1 - 0.5) = 0.5, x = 0.5 * 0.5
    found = step(op, 1, f32(1), f32(4), f32(0), f32(0), n_outputs=3)
    np.testing.assert_allclose(found, np.array([[0.25], [2], [4]]), rtol=1e-6)


def test_steps_of_two_tensors_keep_their_order() -> None:
    op = Momentum(alpha=0.0, beta=1.0, mode="standard", norm_coefficient=0.0)
    # All values, all gradients, all states in; all values, all states out.
    found = step(op, 1, f32(1), f32(2, 2), f32(1), f32(2, 4), f32(0), f32(0, 0), n_outputs=4)
    assert found == [[0.5], [1, 0], [1], [2, 4]]


@pytest.fixture
def builder() -> Builder:
    return Builder(Graph("g"))


def test_inference(builder: Builder) -> None:
    rate = builder.parameter("r", TensorType(ElementType.F32, Shape(())))
    count = builder.parameter("t", TensorType(ElementType.I64, Shape(())))
    kinds = (Shape.of(2), UNKNOWN_SHAPE, Shape.of(None), Shape.of(3), UNKNOWN_SHAPE, Shape.of(3))
    given = [builder.parameter("x", TensorType(ElementType.F32, kind)) for kind in kinds]
    op = Momentum(alpha=0.0, beta=1.0, mode="standard", norm_coefficient=0.0)
    node = builder.emit(op, rate, count, *given, n_outputs=4)
    shapes = [str(value.type) for value in node.outputs]
    assert shapes == ["f32[2]", "f32[3]"] * 2
    with pytest.raises(InferenceError, match="groups"):
        builder.emit(op, rate, count, *given[:4], n_outputs=2)
    with pytest.raises(InferenceError, match="another shape"):
        builder.emit(op, rate, count, given[0], given[0], given[3], n_outputs=2)
    other = Momentum(alpha=0.0, beta=1.0, mode="fast", norm_coefficient=0.0)
    with pytest.raises(InferenceError, match="mode"):
        builder.emit(other, rate, count, *given[:3], n_outputs=2)
