"""Conversion of regions of interest in both directions; the expected values are OpenVINO's and
ONNX's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.openvino import roi as ov
from irloop.graph.op import Op
from tests.drawn.operations import check_operation, everything

OPCONF_TYPES = "ROIPooling ROIAlign PSROIPooling"

BACKEND_OPS = "RoiAlign MaxRoiPool"


@pytest.mark.parametrize("opset", [16, 21])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [8, 9])
def test_imports(
    backend_case: str,
    opset: int,
    check_import: Callable[[str, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    if backend_case != "test_roialign_mode_max":
        check_import(backend_case, opset)
        return
    # ONNX's maximum is that of the weighted elements, OpenVINO's is that of the samples.
    assert "RoiAlign" in refused(lambda: check_import(backend_case, opset))


@pytest.mark.parametrize(
    ("op", "scale"),
    [
        (ov.ROIPooling(output_size=(2, 2), spatial_scale=1.0, method="max"), 1.0),
        (ov.ROIPooling(output_size=(2, 2), spatial_scale=1.0, method="bilinear"), 0.15),
        (ov.PSROIPooling(output_dim=2, group_size=2, spatial_scale=1.0), 1.0),
        (
            ov.PSROIPooling(
                output_dim=2,
                group_size=2,
                spatial_scale=1.0,
                spatial_bins_x=2,
                spatial_bins_y=2,
                mode="bilinear",
            ),
            0.15,
        ),
        (ov.DeformablePSROIPooling(output_dim=2, group_size=2, spatial_scale=1.0), 1.0),
    ],
)
@pytest.mark.parametrize("items", [[0, 1, 1, -1, 0], [-1, 0, 1, 0, 0]])
def test_a_negative_item_ends_the_regions(op: Op, scale: float, items: list[int]) -> None:
    """Proposal ends its rows with such an item; for later rows the result is 0, as in OpenVINO's
    CPU plugin.
    """
    rng = np.random.default_rng(0)
    low = rng.random((5, 2)) * 3
    rois = np.concatenate((np.array(items)[:, None], low * scale, (low + 2) * scale), axis=1)
    data = rng.normal(size=(2, 8, 7, 6)).astype(np.float32)
    for dynamic in ((), (0, 1)):
        found = check_operation(op, [data, rois.astype(np.float32)], dynamic=dynamic)[0]
        assert found[: items.index(-1)].all(axis=(1, 2, 3)).all()
        assert not found[items.index(-1) :].any()


@pytest.mark.parametrize("mode", ["asymmetric", "half_pixel", "half_pixel_for_nn"])
@pytest.mark.parametrize(("ratio", "opset"), [(0, 11), (0, 21), (1, 16), (2, 17)])
def test_the_mode_max_takes_the_largest_sample(mode: str, ratio: int, opset: int) -> None:
    """A bin has a fixed number of samples, or one per element; the result is at least 0."""
    rng = np.random.default_rng(opset)
    op = ov.ROIAlign9(
        pooled_h=2,
        pooled_w=3,
        sampling_ratio=ratio,
        spatial_scale=0.5,
        mode="max",
        aligned_mode=mode,
    )
    low = rng.random((6, 2)) * 12
    sides = rng.random((6, 2)) * [[0.5], [3], [8], [12], [12], [20]]
    # In opset8, the form for half pixels reads smaller regions as one element.
    rois = np.concatenate((low, low + sides + (2 if ratio else 0)), axis=1)
    data = rng.normal(size=(2, 3, 8, 9)).astype(np.float32)
    arrays = [data, rois.astype(np.float32), rng.integers(0, 2, 6).astype(np.int32)]
    dynamic = (0, 1) if opset == 21 else ()
    check_operation(op, arrays, opset=opset, dynamic=dynamic, openvino=everything)
