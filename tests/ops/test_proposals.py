"""Region proposals and Detectron's operations: OpenVINO's values and results by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.openvino import detectron, proposals

OPCONF_TYPES = """
    Proposal GenerateProposals ExperimentalDetectronDetectionOutput
    ExperimentalDetectronGenerateProposalsSingleImage ExperimentalDetectronPriorGridGenerator
    ExperimentalDetectronROIFeatureExtractor ExperimentalDetectronTopKROIs
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    if opconf_case.parent.name.endswith("_Proposal") and opconf_case.name == "min_size":
        pytest.skip("all its boxes score 0, and OpenVINO promises no order of equal scores")
    check_opconf(opconf_case)


def test_anchors_of_faster_rcnn() -> None:
    # The first anchors that py-faster-rcnn prints for base 16, ratio 0.5 and scales 8, 16, 32.
    from irloop.kernels.proposals import Anchors, anchor_boxes

    boxes = anchor_boxes(Anchors(16, (0.5,), (8.0, 16.0, 32.0), 16, tensorflow=False))
    expected = [[-84, -40, 99, 55], [-176, -88, 191, 103], [-360, -184, 375, 199]]
    assert boxes.tolist() == expected


def test_one_proposal_by_hand() -> None:
    # The anchor with base 4 is (0, 0, 3, 3): width 4, centre (2, 2); it is moved by a quarter in x.
    op = proposals.Proposal(
        base_size=4,
        pre_nms_topn=5,
        post_nms_topn=2,
        nms_thresh=0.5,
        feat_stride=4,
        ratio=(1.0,),
        scale=(1.0,),
    )
    scores = np.array([0.1, 0.9], np.float32).reshape(1, 2, 1, 1)
    moves = np.array([0.25, 0.0, 0.0, math.log(2)], np.float32).reshape(1, 4, 1, 1)
    image = np.array([20, 20, 1], np.float32)
    rows, worth = op.kernel(2)(scores, moves, image)
    np.testing.assert_allclose(rows, [[0, 1, 0, 5, 6], [-1, 0, 0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(worth, [0.9, 0])


def test_small_boxes_are_left_out() -> None:
    anchors = np.array([[[[0, 0, 4, 4], [0, 0, 1, 9], [5, 5, 9, 9]]]], np.float32)
    op = proposals.GenerateProposals(
        min_size=2.0, nms_threshold=0.5, post_nms_count=5, pre_nms_count=5
    )
    boxes, worth, counts = op.kernel(3)(
        np.array([[10, 10, 1]], np.float32),
        anchors,
        np.zeros((1, 12, 1, 1), np.float32),
        np.array([0.3, 0.9, 0.5], np.float32).reshape(1, 3, 1, 1),
    )
    assert boxes.tolist() == [[5, 5, 9, 9], [0, 0, 4, 4]]
    np.testing.assert_allclose(worth, [0.5, 0.3])
    assert counts.tolist() == [2]


def test_best_regions_and_a_grid() -> None:
    rois = np.arange(8, dtype=np.float32).reshape(2, 4)
    best = detectron.ExperimentalDetectronTopKROIs(max_rois=3).kernel()
    found = best(rois, np.array([0.1, 0.2], np.float32))
    assert found.tolist() == [[4, 5, 6, 7], [0, 1, 2, 3], [0, 0, 0, 0]]
    grid = detectron.ExperimentalDetectronPriorGridGenerator(stride_x=2.0, stride_y=4.0).kernel()
    priors = np.array([[-1, -1, 1, 1]], np.float32)
    boxes = grid(priors, np.zeros((1, 1, 1, 2), np.float32), np.zeros((1, 3, 9, 9), np.float32))
    assert boxes.tolist() == [[0, 1, 2, 3], [2, 1, 4, 3]]


def test_the_size_of_a_region_determines_its_map() -> None:
    # A region with sides of 224 belongs to the third of four maps, one with sides of 1 to the
    # first.
    maps = [np.full((1, 1, 4, 4), value, np.float32) for value in (1, 2, 3, 4)]
    rois = np.array([[0, 0, 224, 224], [0, 0, 1, 1], [0, 0, 900, 900], [3, 3, 3, 3]], np.float32)
    op = detectron.ExperimentalDetectronROIFeatureExtractor(
        output_size=1, sampling_ratio=1, pyramid_scales=(64, 128, 256, 512)
    )
    features, same = op.kernel(2)(rois, *maps)
    assert features.reshape(-1).tolist() == [3, 1, 4, 0]
    assert same is rois


def test_empty_boxes_do_not_suppress_each_other() -> None:
    # Both boxes are outside of the image and are clipped to its right border, so their union is
    # empty.
    anchors = np.array([[[[40, 0, 50, 8], [40, 4, 50, 12]]]], np.float32)
    op = proposals.GenerateProposals(
        min_size=0.0, nms_threshold=0.5, post_nms_count=5, pre_nms_count=5
    )
    moves, scores = np.zeros((1, 8, 1, 1), np.float32), np.ones((1, 2, 1, 1), np.float32)
    boxes, _, counts = op.kernel(3)(np.array([[20, 30, 1]], np.float32), anchors, moves, scores)
    assert counts.tolist() == [2]
    assert boxes.tolist() == [[30, 0, 30, 8], [30, 4, 30, 12]]
