"""Final detections of boxes that are narrower than a border, or have negative sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.detectron import ExperimentalDetectronDetectionOutput
from irloop.execution.session import Session
from irloop.graph.model import Model
from tests.conversion.both_engines import F32, needs_engines

pytestmark = needs_engines

COUNT, CLASSES = 30, 3


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def detections(threshold: float, per_class: int) -> Model:
    m = IrModel()
    op = ExperimentalDetectronDetectionOutput(
        score_threshold=0.05,
        nms_threshold=threshold,
        max_delta_log_wh=4.135,
        num_classes=CLASSES,
        post_nms_count=per_class,
        max_detections_per_image=40,
        deltas_weights=(10.0, 10.0, 5.0, 5.0),
    )
    regions = m.input("regions", COUNT, 4)
    others = [m.input("moves", COUNT, 4 * CLASSES), m.input("scores", COUNT, CLASSES)]
    node = m.builder.emit(op, regions, *others, m.input("image", 1, 3))
    return m.done(*node.outputs)


@pytest.mark.parametrize("size", [1.0, 6.0, 100.0])
@pytest.mark.parametrize(("threshold", "per_class"), [(0.5, 20), (0.2, 4)])
def test_borders_overlap_where_boxes_touch(
    threshold: float, per_class: int, size: float, engines: Engines, tmp_path: Path
) -> None:
    ir, onnx = tmp_path / "model.xml", tmp_path / "model.onnx"
    irloop.save_model(detections(threshold, per_class), ir, ir_version=11)
    irloop.save_model(irloop.convert(ir)[0], onnx)
    rng = np.random.default_rng(4)
    low = rng.random((COUNT, 2)) * size * 2
    regions = np.concatenate([low, low + rng.random((COUNT, 2)) * size], axis=1)
    moves = rng.normal(size=(COUNT, 4 * CLASSES)) * 5
    scores = rng.permutation(COUNT * CLASSES).reshape(COUNT, CLASSES) / (COUNT * CLASSES)
    image = [[size * 4, size * 4, 1.0]]
    inputs = [np.array(item, F32) for item in (regions, moves, scores, image)]
    expected = engines.run("openvino", ir, inputs, tmp_path)
    own = list(Session(irloop.read_model(ir)).run(inputs).values())
    converted = engines.run("onnxruntime", onnx, inputs, tmp_path)
    for one, other, wanted in zip(own, converted, expected, strict=True):
        np.testing.assert_allclose(one, wanted, 1e-4, 1e-4)
        np.testing.assert_allclose(other, wanted, 1e-4, 1e-4)
