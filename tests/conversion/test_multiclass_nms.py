"""Conversion of MulticlassNms and MatrixNms to ONNX, with stored OpenVINO results and random boxes
and attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.dialects.openvino import multiclass_nms as ov
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from tests.drawn.operations import Draw, check_operation, everything

OPCONF_TYPES = "MulticlassNms MatrixNms"

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


def boxes(draw: Draw, *lead: int) -> Array:
    low = draw.rng.random((*lead, 2)) * 8
    return np.concatenate((low, low + 0.5 + draw.rng.random((*lead, 2)) * 6), axis=-1)


def settings(draw: Draw) -> dict[str, Any]:
    return {
        "sort_result_type": draw.choice(["score", "classid", "none"]),
        "sort_result_across_batch": draw.chance(0.5),
        "output_type": draw.choice([ElementType.I32, ElementType.I64]),
        "score_threshold": draw.choice([0.0, 0.3, 0.7, 2.0]),
        "nms_top_k": draw.choice([-1, 2, 5, 100]),
        "keep_top_k": draw.choice([-1, 3, 8, 100]),
        "background_class": draw.choice([-1, 0, 1]),
        "normalized": draw.chance(0.5),
    }


def thresholds(draw: Draw) -> dict[str, Any]:
    return {
        "iou_threshold": draw.choice([0.0, 0.3, 0.6, 0.9]),
        "nms_eta": draw.choice([1.0, 1.0, 0.9, 0.5]),
    }


def multiclass(draw: Draw) -> tuple[Op, list[Array]]:
    items, classes, count = draw.choice([1, 1, 3]), draw.choice([1, 3]), draw.choice([1, 7, 12])
    kind = draw.choice([ov.MulticlassNms8, ov.MulticlassNms])
    scores = draw.rng.random((items, classes, count))
    return kind(**settings(draw), **thresholds(draw)), [boxes(draw, items, count), scores]


def of_regions(draw: Draw) -> tuple[Op, list[Array]]:
    numbers = np.array(draw.choice([(5,), (3, 0, 4), (6, 2)]), np.int32)
    classes, count = draw.choice([1, 3]), int(numbers.sum())
    scores = draw.rng.random((classes, count))
    op = ov.MulticlassNms(**settings(draw), **thresholds(draw))
    return op, [boxes(draw, classes, count), scores, numbers]


def matrix(draw: Draw) -> tuple[Op, list[Array]]:
    items, classes, count = draw.choice([1, 1, 3]), draw.choice([1, 3]), draw.choice([1, 7, 12])
    op = ov.MatrixNms(
        **settings(draw),
        decay_function=draw.choice(["linear", "gaussian"]),
        gaussian_sigma=draw.choice([0.5, 2.0]),
        post_threshold=draw.choice([0.0, 0.2]),
    )
    return op, [boxes(draw, items, count), draw.rng.random((items, classes, count))]


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("kind", [multiclass, of_regions, matrix])
def test_random_attributes_and_boxes(
    kind: Callable[[Draw], tuple[Op, list[Array]]], seed: int
) -> None:
    draw = Draw(seed)
    op, arrays = kind(draw)
    element = np.float16 if draw.chance(0.1) else np.float32
    given = [item if item.dtype.kind == "i" else item.astype(element) for item in arrays]
    opset = (11, 13, 17, 21)[seed % 4]
    dynamic = ((), (0, 1), (0, 1, 2))[seed % 3]
    # The CPU plugin fails if MatrixNms has no candidates.
    some = kind is not matrix or op.kernel(3)(*given)[1].size
    engine = everything if seed % 4 == 0 and some else None
    check_operation(op, given, opset=opset, dynamic=dynamic, openvino=engine)


def test_boxes_with_swapped_corners_overlap_nothing() -> None:
    # The corners of the second box are in the wrong order, so OpenVINO treats it as empty.
    given = np.array([[[0, 0, 4, 4], [4, 4, 0, 0], [0, 0, 4, 4]]], np.float32)
    op = ov.MulticlassNms8(iou_threshold=0.5, sort_result_type="score")
    found = check_operation(op, [given, np.array([[[0.5, 0.9, 0.7]]], np.float32)])
    assert found[1].tolist() == [[1], [2]]
