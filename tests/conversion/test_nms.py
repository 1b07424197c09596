"""Conversion of non-maximum suppression in both directions: stored values, and random boxes and
attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.dialects.openvino import nms as ov
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from tests.drawn.operations import Draw, check_operation, everything

OPCONF_TYPES = "NonMaxSuppression NMSRotated"

BACKEND_OPS = "NonMaxSuppression"

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


def settings(draw: Draw) -> dict[str, Any]:
    return {
        "sort_result_descending": draw.chance(0.5),
        "output_type": draw.choice([ElementType.I32, ElementType.I64]),
    }


def limits(draw: Draw) -> list[Array]:
    """The limit per class, and the thresholds of overlap and score."""
    count = np.array(draw.choice([0, 2, 50]), np.int32)
    numbers = [draw.choice([0.1, 0.4, 0.8]), draw.choice([0.0, 0.3, 2.0])]
    return [count, *(np.array(number) for number in numbers)]


def soft(draw: Draw) -> tuple[Op, list[Array]]:
    items, classes, count = draw.choice([1, 2]), draw.choice([1, 3]), draw.choice([1, 9])
    kind = draw.choice([ov.NonMaxSuppression5, ov.NonMaxSuppression9])
    op = kind(**settings(draw), box_encoding=draw.choice(["corner", "center"]))
    # The corners of a box are in any order.
    boxes = draw.rng.random((items, count, 4)) * 4
    scores = draw.rng.random((items, classes, count))
    return op, [boxes, scores, *limits(draw), np.array(draw.choice([0.0, 0.2, 0.9]))]


def turned(draw: Draw) -> tuple[Op, list[Array]]:
    items, classes, count = draw.choice([1, 2]), draw.choice([1, 3]), draw.choice([1, 9])
    op = ov.NMSRotated(**settings(draw), clockwise=draw.chance(0.5))
    boxes = np.concatenate(
        (
            draw.rng.random((items, count, 2)) * 3,
            0.2 + draw.rng.random((items, count, 2)) * 4,
            draw.rng.normal(size=(items, count, 1)) * 2,
        ),
        axis=2,
    )
    if draw.chance(0.3):
        boxes[:, -1] = boxes[:, 0]
    return op, [boxes, draw.rng.random((items, classes, count)), *limits(draw)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", [soft, turned])
def test_random_attributes_and_boxes(
    kind: Callable[[Draw], tuple[Op, list[Array]]], seed: int
) -> None:
    op, arrays = kind(Draw(seed))
    given = [item if item.dtype.kind == "i" else item.astype(np.float32) for item in arrays]
    check_operation(
        op,
        given,
        opset=(11, 13, 17, 21)[seed % 4],
        dynamic=((), (0, 1))[seed % 2],
        constants=((), (2, 3, 4), (2, 3, 4, 5))[seed % 3],
        # The CPU plugin returns no count if the limit is 0.
        openvino=everything if seed % 4 == 0 and given[2] > 0 else None,
    )
