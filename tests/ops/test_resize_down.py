"""Resize-10 with scales below 1: the nearest element is the next one, as in the engines."""

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


@needs_engines
@pytest.mark.parametrize("scale", [0.3, 0.6, 0.75, 1.5])
def test_nearest_mode_picks_the_element_that_both_engines_pick(
    scale: float, engines: Engines, tmp_path: Path
) -> None:
    text = f"""<ir_version: 7, opset_import: ["" : 10]> g (float[1,1,5,8] x) => (float[a,b,c,d] y)
        {{ s = Constant<value = float[4] {{1, 1, {scale}, {scale}}}>() y = Resize(x, s) }}"""
    path, ir = tmp_path / "model.onnx", tmp_path / "model.xml"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    irloop.save_model(irloop.convert(path)[0], ir)
    x = np.arange(40, dtype=np.float32).reshape(1, 1, 5, 8)
    (expected,) = engines.run("onnxruntime", path, [x], tmp_path)
    (own,) = Session(irloop.read_model(path)).run([x]).values()
    (converted,) = engines.run("openvino", ir, [x], tmp_path)
    np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(converted, expected)
