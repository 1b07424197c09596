"""Resize with fractional scales that aligns corners: the new size is rounded, as in the engines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session
from tests.conversion.both_engines import needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


ALIGNED = 'coordinate_transformation_mode = "align_corners", nearest_mode = "{}"'
CROPPED = 'coordinate_transformation_mode = "tf_crop_and_resize", mode = "{}"'
FORMS = [
    *(ALIGNED.format(mode) for mode in ("round_prefer_floor", "round_prefer_ceil", "floor")),
    *(CROPPED.format(mode) for mode in ("nearest", "linear", "cubic")),
]


@needs_engines
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("scale", [0.6, 0.7, 1.25, 2.3])
@pytest.mark.parametrize("attributes", FORMS)
def test_positions_are_those_of_onnx_runtime(
    attributes: str, scale: float, is_known: bool, engines: Engines, tmp_path: Path
) -> None:
    shape = "1,1,5,8" if is_known else "a,b,c,d"
    text = f"""<ir_version: 7, opset_import: ["" : 13]>
        g (float[{shape}] x, float[8] roi) => (float[e,f,g,h] y)
        {{ s = Constant<value = float[4] {{1, 1, {scale}, {scale}}}>()
           y = Resize<{attributes}>(x, roi, s) }}"""
    path, ir = tmp_path / "model.onnx", tmp_path / "model.xml"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    irloop.save_model(irloop.convert(path)[0], ir)
    x = np.arange(40, dtype=np.float32).reshape(1, 1, 5, 8)
    region = np.array([0, 0, 0.125, 0.25, 1, 1, 0.75, 1], np.float32)
    (expected,) = engines.run("onnxruntime", path, [x, region], tmp_path)
    (own,) = Session(irloop.read_model(path)).run([x, region]).values()
    (converted,) = engines.run("openvino", ir, [x, region], tmp_path)
    np.testing.assert_allclose(own, expected, 1e-5, 1e-5)
    np.testing.assert_allclose(converted, expected, 1e-5, 1e-5)
