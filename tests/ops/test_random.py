"""Random numbers: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import random as onnx
from irloop.dialects.openvino import random as ov
from irloop.graph.op import Op
from irloop.graph.types import ElementType

OPCONF_TYPES = "Multinomial RandomUniform"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


SHAPE = np.array([1000])


def test_bounds_and_types() -> None:
    for element in (ElementType.F64, ElementType.F32, ElementType.F16, ElementType.BF16):
        low, high = (np.array(n).astype(element.numpy()) for n in (2, 4))
        found = ov.RandomUniform(element, op_seed=3, global_seed=5).kernel()(SHAPE, low, high)
        assert found.dtype == element.numpy()
        assert found.min() >= 2
        assert found.max() < 4
        assert abs(found.astype(np.float64).mean() - 3) < 0.1
    whole = ov.RandomUniform(ElementType.I64, 1, 2).kernel()(SHAPE, np.array(-3), np.array(3))
    assert set(whole.tolist()) == {-3, -2, -1, 0, 1, 2}


def test_seeds_of_zero_give_different_numbers_each_time() -> None:
    run = ov.RandomUniform(ElementType.F32).kernel()
    zero, one = np.array(0, np.float32), np.array(1, np.float32)
    assert run(SHAPE, zero, one).tolist() != run(SHAPE, zero, one).tolist()
    fixed = ov.RandomUniform(ElementType.F32, op_seed=1).kernel()
    assert fixed(SHAPE, zero, one).tolist() == fixed(SHAPE, zero, one).tolist()


def test_the_unsupported_generator_is_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match="PyTorch's generator"):
        ov.RandomUniform(ElementType.F32, alignment="pytorch").kernel()


@pytest.mark.parametrize("op", [onnx.RandomNormal((500,)), onnx.RandomUniform((500,))])
def test_a_seed_repeats_the_numbers(op: Op) -> None:
    assert not op.pure
    assert op.kernel()().tolist() != op.kernel()().tolist()
    seeded = type(op)((500,), seed=2.0)
    assert seeded.kernel()().tolist() == seeded.kernel()().tolist()


def test_samples_have_the_requested_distribution() -> None:
    like = np.zeros((100, 100), np.float64)
    normal = onnx.RandomNormalLike(mean=3.0, scale=2.0, seed=1.0).kernel()(like)
    assert normal.shape == like.shape
    assert abs(normal.mean() - 3) < 0.1
    assert abs(normal.std() - 2) < 0.1
    uniform = onnx.RandomUniformLike(ElementType.BF16, high=4.0, low=2.0).kernel()(like)
    assert uniform.dtype == ml_dtypes.bfloat16
    assert uniform.min() >= 2
    drawn = onnx.Bernoulli(ElementType.BOOLEAN, seed=1.0).kernel()(like + 0.25)
    assert abs(drawn.mean() - 0.25) < 0.02
    chances = np.log(np.array([[0.1, 0.7, 0.2]]))
    classes = onnx.Multinomial(sample_size=10_000, seed=1.0).kernel()(chances)
    assert classes.dtype == np.int32
    shares = np.bincount(classes[0]) / 10_000
    np.testing.assert_allclose(shares, [0.1, 0.7, 0.2], atol=0.02)


def test_sampling_of_classes_in_openvino() -> None:
    shares, many = np.array([0.1, 0.7, 0.2], np.float32), np.array(10_000)
    op = ov.Multinomial(ElementType.I64, with_replacement=True, log_probs=False, global_seed=1)
    drawn = op.kernel()(shares, many)
    assert drawn.dtype == np.int64
    np.testing.assert_allclose(np.bincount(drawn) / 10_000, shares, atol=0.02)
    logs = ov.Multinomial(ElementType.I32, with_replacement=False, log_probs=True, op_seed=1)
    once = logs.kernel()(np.log(np.stack([shares, shares])), np.array(3))
    assert np.sort(once).tolist() == [[0, 1, 2], [0, 1, 2]]
