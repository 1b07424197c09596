"""Conversion of Detectron's operations to ONNX, with stored values and random attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.dialects.openvino import detectron as ov
from irloop.graph.op import Op
from tests.drawn.operations import Draw, check_operation, everything

OPCONF_TYPES = """
    ExperimentalDetectronDetectionOutput ExperimentalDetectronPriorGridGenerator
    ExperimentalDetectronROIFeatureExtractor ExperimentalDetectronTopKROIs
"""

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.mark.parametrize("opset", [16, 17, 21])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


def regions(draw: Draw, count: int, longest: float) -> Array:
    low = draw.rng.random((count, 2)) * 60
    # Some boxes are empty.
    return np.concatenate((low, low - 2 + draw.rng.random((count, 2)) * longest), axis=1)


def final(draw: Draw) -> tuple[Op, list[Array]]:
    count, classes = draw.choice([1, 6, 20]), draw.choice([2, 4])
    op = ov.ExperimentalDetectronDetectionOutput(
        score_threshold=draw.choice([0.05, 0.4, 2.0]),
        nms_threshold=draw.choice([0.2, 0.5, 0.8]),
        max_delta_log_wh=draw.choice([0.3, 4.135]),
        num_classes=classes,
        post_nms_count=draw.choice([2, 50]),
        max_detections_per_image=draw.choice([3, 5, 60]),
        deltas_weights=(10.0, 10.0, 5.0, 5.0),
        class_agnostic_box_regression=draw.chance(0.5),
    )
    moves = draw.rng.normal(size=(count, classes * 4)) * 3
    return op, [regions(draw, count, 40), moves, draw.rng.random((count, classes)), np.ones((1, 3))]


def grid(draw: Draw) -> tuple[Op, list[Array]]:
    op = ov.ExperimentalDetectronPriorGridGenerator(
        flatten=draw.chance(0.5),
        h=draw.choice([0, 0, 2, 3]),
        w=draw.choice([0, 0, 3, 4]),
        stride_x=draw.choice([0.0, 4.0]),
        stride_y=draw.choice([0.0, 8.0]),
    )
    priors = draw.rng.normal(size=(draw.choice([1, 3]), 4)) * 10
    return op, [priors, np.ones((1, 2, 3, 4)), np.ones((1, 3, 48, 50))]


def pyramid(draw: Draw) -> tuple[Op, list[Array]]:
    aligned = draw.chance(0.5)
    op = ov.ExperimentalDetectronROIFeatureExtractor(
        output_size=draw.choice([2, 3]),
        sampling_ratio=draw.choice([0, 2]),
        pyramid_scales=(4, 8, 16),
        aligned=aligned,
    )
    rois = regions(draw, 7, draw.choice([3.0, 100.0, 700.0]))
    maps = [draw.rng.normal(size=(1, 3, size, size + 1)) for size in (24, 12, 6)]
    return op, [rois, *maps]


def best(draw: Draw) -> tuple[Op, list[Array]]:
    op = ov.ExperimentalDetectronTopKROIs(max_rois=draw.choice([3, 9, 20]))
    return op, [regions(draw, 9, 30), draw.rng.random(9)]


def specified(op: Op) -> bool:
    """True for the outputs that OpenVINO writes; it leaves others uninitialised, which irloop fills
    with zeros.
    """
    if isinstance(op, ov.ExperimentalDetectronPriorGridGenerator):
        return (op.h or 3, op.w or 4) == (3, 4)
    return not isinstance(op, ov.ExperimentalDetectronTopKROIs) or op.max_rois <= 9


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("kind", [final, grid, pyramid, best])
def test_random_attributes_and_inputs(
    kind: Callable[[Draw], tuple[Op, list[Array]]], seed: int
) -> None:
    op, arrays = kind(Draw(seed))
    opset = (16, 17, 21)[seed % 3]
    dynamic = ((), (0, 1, 2))[seed // 3 % 2]
    given = [array.astype(np.float32) for array in arrays]
    engine = everything if seed % 4 == 0 and specified(op) else None
    check_operation(op, given, opset=opset, dynamic=dynamic, atol=1e-3, openvino=engine)


@pytest.mark.parametrize("opset", [10, 11])
def test_a_pyramid_in_old_opsets(opset: int) -> None:
    draw = Draw(3)
    op, arrays = pyramid(draw)
    assert isinstance(op, ov.ExperimentalDetectronROIFeatureExtractor)
    given = [array.astype(np.float32) for array in arrays]
    check_operation(replace(op, aligned=False), given, opset=opset, dynamic=(0,), atol=1e-3)
