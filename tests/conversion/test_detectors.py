"""Small detectors as IR: the exported model in ONNX Runtime must return the results of OpenVINO."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.dialects.openvino import (
    activation,
    convolution,
    detection,
    matmul,
    prior_box,
    proposals,
    roi,
    shape,
    slicing,
)
from irloop.execution.session import Session
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model, Value
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType
from tests.drawn.operations import run_onnxruntime, run_openvino

F32 = ElementType.F32
SIDE = 32
ANCHORS, CLASSES = 4, 3


class Net(Builder):
    """A builder with weights."""

    def __init__(self, *, dynamic: bool) -> None:
        super().__init__(Graph("net"))
        self.rng = np.random.default_rng(5)
        sides = (UNKNOWN_DIM, UNKNOWN_DIM) if dynamic else (SIDE, SIDE)
        self.image = self.parameter("image", TensorType(F32, Shape((1, 3, *sides))))

    def convolved(self, x: Value, channels: tuple[int, int], stride: int = 1) -> Value:
        weights = self.rng.normal(size=(channels[1], channels[0], 3, 3)) * 0.3
        conv = convolution.Convolution(
            strides=(stride, stride), pads_begin=(1, 1), pads_end=(1, 1), dilations=(1, 1)
        )
        return self(conv, x, self.constant(weights, F32))

    def backbone(self) -> Value:
        """A feature map of shape [1, 8, 8, 8]."""
        x = self(activation.ReLU(), self.convolved(self.image, (3, 6), 2))
        return self(activation.ReLU(), self.convolved(x, (6, 8), 2))

    def listed(self, x: Value) -> Value:
        """`x`, transposed to channels last and flattened to [1, n]."""
        moved = self(shape.Transpose(), x, self.i64([0, 2, 3, 1]))
        return self(shape.Reshape(special_zero=True), moved, self.i64([0, -1]))

    def sides(self, x: Value) -> Value:
        whole = self(shape.ShapeOf(), x)
        numbers = self.i64([2]), self.i64([4]), self.i64([1]), self.i64([0])
        return self(slicing.Slice(), whole, *numbers)

    def model(self, *results: Value) -> Model:
        for at, value in enumerate(results):
            self.result(value, f"out{at}")
        return Model(self.graph, "openvino", 11, {}, {})


def one_stage(*, dynamic: bool) -> Model:
    """As in SSD: priors of the feature map are decoded, and boxes suppressed."""
    net = Net(dynamic=dynamic)
    features = net.backbone()
    moves = net.listed(net.convolved(features, (8, ANCHORS * 4)))
    scores = net.listed(net.convolved(features, (8, ANCHORS * CLASSES)))
    pairs = net(shape.Reshape(special_zero=False), scores, net.i64([1, -1, CLASSES]))
    chances = net(activation.SoftMax8(axis=2), pairs)
    scores = net(shape.Reshape(special_zero=False), chances, net.i64([1, -1]))
    priors = net(
        prior_box.PriorBox(
            min_size=(8.0,), max_size=(16.0,), aspect_ratio=(2.0,), flip=True, step=4.0
        ),
        net.sides(features),
        net.sides(net.image),
    )
    found = detection.DetectionOutput(
        keep_top_k=(12,),
        nms_threshold=0.45,
        top_k=20,
        code_type="caffe.PriorBoxParameter.CENTER_SIZE",
        confidence_threshold=0.2,
        normalized=True,
    )
    return net.model(net(found, moves, scores, net(shape.Unsqueeze(), priors, net.i64([0]))))


def two_stage(*, dynamic: bool) -> Model:
    """As in Faster R-CNN: the features of proposed regions are pooled and classified."""
    net = Net(dynamic=dynamic)
    features = net.backbone()
    scores = net(activation.Sigmoid(), net.convolved(features, (8, 2 * ANCHORS)))
    moves = net.convolved(features, (8, 4 * ANCHORS))
    node = net.emit(
        proposals.Proposal(
            base_size=8,
            pre_nms_topn=60,
            post_nms_topn=16,
            nms_thresh=0.5,
            feat_stride=4,
            ratio=(0.5, 2.0),
            scale=(1.0, 2.0),
            min_size=2,
        ),
        scores,
        moves,
        net.constant([SIDE, SIDE, 1.0], F32),
    )
    rois = node.outputs[0]
    pooled = net(
        roi.ROIPooling(
            pooled_h=3, pooled_w=3, output_size=(3, 3), spatial_scale=0.25, method="max"
        ),
        features,
        rois,
    )
    flat = net(shape.Reshape(special_zero=True), pooled, net.i64([0, -1]))
    weights = net.constant(net.rng.normal(size=(72, CLASSES)) * 0.2, F32)
    return net.model(rois, net(matmul.MatMul(), flat, weights))


@pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="no OpenVINO")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("build", [one_stage, two_stage])
def test_detectors(build: Callable[..., Model], dynamic: bool) -> None:
    model = build(dynamic=dynamic)
    image = [np.random.default_rng(7).random((1, 3, SIDE, SIDE)).astype(np.float32)]
    expected = run_openvino(build(dynamic=False), image)
    assert sum((array[..., 0] >= 0).any() for array in expected)
    exported, _ = pipelines.to_onnx(model)
    for found in (list(Session(model).run(image).values()), run_onnxruntime(exported, image)):
        assert_same(found, expected)
    assert_same(run_openvino(pipelines.to_openvino(exported)[0], image), expected)


def assert_same(found: list[Any], expected: list[Any]) -> None:
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-3, atol=1e-3)
