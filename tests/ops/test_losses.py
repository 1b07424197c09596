"""Losses: kernels and inference against ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.dialects.onnx.losses import NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss

BACKEND_OPS = "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"

#: The example of the specification: [N, C, d] = [2, 3, 2].
SCORES = np.array([[[1, 2], [2, 2], [3, 2]], [[0, 1], [2, 2], [1, 2]]], np.float32)
TARGET = np.array([[2, 1], [0, 2]])
WEIGHT = np.array([0.2, 0.3, 0.1], np.float32)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_examples_of_the_specification() -> None:
    def loss(reduction: str, *weight: Any) -> Any:
        return NegativeLogLikelihoodLoss(reduction=reduction).kernel()(SCORES, TARGET, *weight)

    np.testing.assert_allclose(loss("none"), [[-3, -2], [0, -2]])
    np.testing.assert_allclose(loss("sum", WEIGHT), -1.1, rtol=1e-6)
    np.testing.assert_allclose(loss("mean", WEIGHT), -1.1 / 0.7, rtol=1e-6)


def test_ignored_classes_may_be_infinite() -> None:
    scores = SCORES.copy()
    scores[0, :, 0] = -np.inf
    op = NegativeLogLikelihoodLoss(reduction="mean", ignore_index=-100)
    target = np.array([[-100, 1], [0, 2]])
    np.testing.assert_allclose(op.kernel()(scores, target), -4 / 3, rtol=1e-6)


def test_equal_scores_share_the_probability() -> None:
    loss, logs = SoftmaxCrossEntropyLoss().kernel(2)(np.zeros((1, 4), np.float16), np.array([3]))
    assert loss.dtype == logs.dtype == np.float16
    assert logs.shape == (1, 4)
    np.testing.assert_allclose(loss, np.log(4), rtol=1e-3)
