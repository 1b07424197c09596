"""Conversion of DetectionOutput to ONNX, with stored OpenVINO results and random priors, offsets
and attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.dialects.openvino import detection as ov
from tests.drawn.operations import Draw, check_operation, model_of

OPCONF_TYPES = "DetectionOutput"

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


def priors(draw: Draw, lists: int, count: int, plain: bool) -> Array:
    """[lists, 1 or 2, count * 4]: boxes in 0..1 or, with 5 numbers each, in pixels of a 300 x 200
    image.
    """
    rng = draw.rng
    low = rng.random((lists, count, 2)) * 0.7
    boxes = np.concatenate((low, low + 0.05 + rng.random((lists, count, 2)) * 0.4), axis=-1)
    if not plain:
        boxes = np.insert(boxes * [300, 200, 300, 200], 0, 7.0, axis=-1)
    rows = boxes.reshape(lists, 1, -1)
    if draw.chance(0.3):
        return rows.astype(np.float32)
    return np.concatenate((rows, 0.1 + 0.2 * rng.random(rows.shape)), axis=1).astype(np.float32)


def up_to_the_end(outputs: list[Any]) -> list[Any]:
    """The rows before the first row with item -1; later rows are unspecified."""
    rows = outputs[0].reshape(-1, 7)
    ends = np.flatnonzero(rows[:, 0] == -1)
    return [rows[: ends[0] + 1] if ends.size else rows]


def drawn(seed: int) -> tuple[ov.Detecting, list[Array]]:
    draw = Draw(seed)
    rng = draw.rng
    items, classes, count = draw.choice([1, 1, 3]), draw.choice([2, 3, 5]), draw.choice([3, 8, 12])
    plain, shared = draw.chance(0.7), draw.chance(0.6)
    given = priors(draw, draw.choice([1, items]), count, plain)
    # The CPU plugin shifts labels down only if the first class is the background.
    shifted = draw.chance(0.3)
    attributes: dict[str, Any] = {
        "keep_top_k": (draw.choice([-1, 4, 10, 200]),),
        "nms_threshold": draw.choice([0.0, 0.3, 0.5, 0.9]),
        "background_label_id": 0 if shifted else draw.choice([0, -1, 1]),
        "top_k": draw.choice([-1, 2, 5, 400]),
        "variance_encoded_in_target": given.shape[1] == 1,
        "code_type": f"caffe.PriorBoxParameter.{draw.choice(['CORNER', 'CENTER_SIZE'])}",
        "share_location": shared,
        "confidence_threshold": draw.choice([0.0, 0.3, 0.6, 2.0]),
        "clip_after_nms": draw.chance(0.5),
        "clip_before_nms": draw.chance(0.5),
        "decrease_label_id": shifted,
        "normalized": plain,
        "input_height": 1 if plain else 200,
        "input_width": 1 if plain else 300,
        "objectness_score": 0.4,
    }
    length = count * 4 * (1 if shared else classes)
    arrays = [rng.normal(size=(items, length)) * 0.5, rng.random((items, count * classes)), given]
    if plain and draw.chance(0.3):
        arrays += [rng.random((items, count * 2)), rng.normal(size=(items, length)) * 0.3]
    element = np.float16 if draw.chance(0.1) else np.float32
    op = (
        ov.DetectionOutput1(**attributes, num_classes=classes)
        if draw.chance(0.5)
        else ov.DetectionOutput(**attributes)
    )
    return op, [array.astype(element) for array in arrays]


@pytest.mark.parametrize("seed", range(24))
def test_random_attributes_and_priors(seed: int) -> None:
    op, arrays = drawn(seed)
    opset = (11, 13, 17, 21)[seed % 4]
    dynamic = ((), (0, 1), (0, 1, 2, 3, 4))[seed % 3]
    engine = up_to_the_end if seed % 4 == 0 else None
    check_operation(op, arrays, opset=opset, dynamic=dynamic, openvino=engine)


def test_an_opset_that_is_too_old(refused: Callable[[Callable[[], object]], str]) -> None:
    op, arrays = drawn(0)
    text = refused(lambda: pipelines.to_onnx(model_of(op, arrays), opset=10))
    assert "opset 11" in text
