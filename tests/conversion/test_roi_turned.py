"""Conversion of rotated regions and deformable bins to ONNX, with stored OpenVINO results and
random regions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.dialects.openvino import roi as ov
from irloop.graph.op import Op
from tests.drawn.operations import Draw, check_operation, everything

OPCONF_TYPES = "ROIAlignRotated DeformablePSROIPooling"

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


def turned(draw: Draw) -> tuple[Op, list[Array]]:
    op = ov.ROIAlignRotated(
        pooled_h=draw.choice([1, 2, 3]),
        pooled_w=draw.choice([2, 3]),
        sampling_ratio=draw.choice([0, 0, 1, 2]),
        spatial_scale=draw.choice([0.5, 1.0]),
        clockwise_mode=draw.chance(0.5),
    )
    count = draw.choice([1, 5])
    sides = (draw.rng.random((count, 2)) * 12, draw.rng.random((count, 2)) * draw.choice([1, 14]))
    rois = np.concatenate((*sides, draw.rng.normal(size=(count, 1)) * 2), axis=1)
    data = draw.rng.normal(size=(2, 3, 7, 6))
    return op, [data, rois, draw.rng.integers(0, 2, count).astype(np.int32)]


def moving(draw: Draw) -> tuple[Op, list[Array]]:
    outputs, group, part = draw.choice([2, 4]), draw.choice([1, 3]), draw.choice([1, 3, 4])
    op = ov.DeformablePSROIPooling(
        output_dim=outputs,
        spatial_scale=draw.choice([0.25, 1.0]),
        group_size=group,
        spatial_bins_x=draw.choice([1, 3]),
        spatial_bins_y=draw.choice([1, 4]),
        trans_std=draw.choice([0.1, 1.0]),
        part_size=part,
    )
    low = draw.rng.random((4, 2)) * 10 - 3
    items = draw.rng.choice([-1, 0, 1, 1], (4, 1))
    rois = np.concatenate((items, low, low + draw.rng.random((4, 2)) * 20), axis=1)
    arrays = [draw.rng.normal(size=(2, outputs * group * group, 7, 6)), rois]
    if draw.chance(0.7):
        arrays.append(draw.rng.normal(size=(4, 2 * draw.choice([1, 2]), part, part)))
    return op, arrays


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("kind", [turned, moving])
def test_random_attributes_and_regions(
    kind: Callable[[Draw], tuple[Op, list[Array]]], seed: int
) -> None:
    op, arrays = kind(Draw(seed))
    given = [item if item.dtype.kind == "i" else item.astype(np.float32) for item in arrays]
    check_operation(
        op,
        given,
        opset=(11, 17, 21)[seed % 3],
        dynamic=((), (0, 1))[seed // 3 % 2],
        openvino=everything if seed % 4 == 0 else None,
    )
