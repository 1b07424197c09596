"""Conversion of poolings in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import needs_engines

OPCONF_TYPES = "AvgPool MaxPool AdaptiveAvgPool AdaptiveMaxPool"

BACKEND_OPS = "AveragePool MaxPool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool MaxUnpool"


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8, 16])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@needs_engines
@pytest.mark.parametrize(
    ("attributes", "sizes", "slices"),
    [
        ("kernel_shape = [3, 4], dilations = [2, 3], strides = [1, 2]", (11, 15), 7),
        (
            "kernel_shape = [3, 2], dilations = [2, 2], pads = [1, 0, 2, 1], ceil_mode = 1",
            (9, 8),
            5,
        ),
        ("kernel_shape = [2, 3, 2], dilations = [2, 1, 3]", (5, 6, 7), 7),
        ("kernel_shape = [4], dilations = [2], strides = [3]", (17,), 4),
    ],
)
def test_dilated_maxima_of_an_old_opset_compare_one_axis_after_the_other(
    attributes: str, sizes: tuple[int, ...], slices: int, tmp_path: Path, engines: Engines
) -> None:
    shape = ",".join(map(str, (2, 3, *sizes)))
    unknown = ",".join("?" for _ in (2, 3, *sizes))
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    pooled (float[{shape}] x) => (float[{unknown}] y) {{ y = MaxPool <{attributes}> (x) }}"""
    model, ir = tmp_path / "model.onnx", tmp_path / "model.xml"
    model.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    converted, _ = irloop.convert(model, target="openvino-2021.4")
    assert sum(node.op.type == "StridedSlice" for node in converted.graph.nodes) == slices
    irloop.save_model(converted, ir)
    # Negative numbers show whether the padding takes part.
    numbers = np.random.default_rng(0).standard_normal((2, 3, *sizes)) - 3
    sets = [[numbers.astype(np.float32)], [-numbers.astype(np.float32)]]
    expected = engines.run_all("onnxruntime", model, sets, tmp_path)
    found = engines.run_all("openvino", ir, sets, tmp_path)
    for wanted, (value,) in zip(expected, found, strict=True):
        np.testing.assert_array_equal(value, wanted[0])
