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
from tests.conversion.both_engines import F32, agree, needs_engines

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


@needs_engines
@pytest.mark.parametrize("strides", [[2, 2], [2, 1], [1, 1]])
@pytest.mark.parametrize("pads", [([0, 0], [0, 0]), ([1, 0], [0, 0]), ([0, 1], [1, 0])])
@pytest.mark.parametrize("sizes", ["unknown", "known"])
def test_means_that_count_the_padding_and_round_up(
    sizes: str,
    pads: tuple[list[int], list[int]],
    strides: list[int],
    tmp_path: Path,
    engines: Engines,
) -> None:
    """OpenVINO divides by the size of the window, but without padding by its elements."""
    from openvino import Model, save_model
    from openvino import opset8 as ov

    for count, (height, width) in enumerate([(5, 7), (4, 4), (6, 3)]):
        dims = [1, 2, height, width] if sizes == "known" else [1, 2, -1, -1]
        x = ov.parameter(dims, F32)
        pool = ov.avg_pool(x, strides, *pads, [2, 2], False, "ceil", "explicit")
        source, target = tmp_path / f"{count}.xml", tmp_path / f"{count}.onnx"
        save_model(Model([pool], [x]), source, compress_to_fp16=False)
        irloop.save_model(irloop.convert(source)[0], target)
        sets = [[np.random.default_rng(count).standard_normal((1, 2, height, width)).astype(F32)]]
        ((expected,),) = engines.run_all("openvino", source, sets, tmp_path)
        ((found,),) = engines.run_all("onnxruntime", target, sets, tmp_path)
        np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
        (own,) = irloop.Session(irloop.read_model(source)).run(sets[0]).values()
        np.testing.assert_allclose(own, expected, 1e-5, 1e-6)


@needs_engines
@pytest.mark.parametrize("kernel", [[3, 3], [4, 3]])
@pytest.mark.parametrize("pads", ["", "pads = [1, 1, 1, 1], ", 'auto_pad = "VALID", '])
def test_norms_that_round_up(
    pads: str, kernel: list[int], tmp_path: Path, engines: Engines
) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
g (float[1,2,a,b] x) => (float[1,2,c,d] y) {{
  y = LpPool <p = 2, ceil_mode = 1, strides = [2, 2], {pads}kernel_shape = {kernel}> (x)
}}"""
    random = np.random.default_rng(0)
    sets = [[random.standard_normal((1, 2, *size)).astype(F32)] for size in [(5, 7), (4, 6)]]
    agree(text, sets, engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("auto_pad", ["same_upper", "same_lower"])
def test_a_dilated_convolution_over_unknown_sizes(
    auto_pad: str, tmp_path: Path, engines: Engines
) -> None:
    """ONNX Runtime refuses automatic padding of dilated convolutions."""
    from openvino import Model, save_model
    from openvino import opset8 as ov

    x = ov.parameter([1, 2, -1, -1], F32)
    weights = np.arange(36, dtype=F32).reshape(2, 2, 3, 3) / 10 - 2
    made = ov.convolution(x, weights, [1, 1], [0, 0], [0, 0], [2, 3], auto_pad)
    source, target = tmp_path / "model.xml", tmp_path / "model.onnx"
    save_model(Model([made], [x]), source, compress_to_fp16=False)
    irloop.save_model(irloop.convert(source)[0], target)
    random = np.random.default_rng(0)
    sets = [[random.standard_normal((1, 2, *size)).astype(F32)] for size in [(5, 7), (2, 3)]]
    expected = engines.run_all("openvino", source, sets, tmp_path)
    found = engines.run_all("onnxruntime", target, sets, tmp_path)
    for wanted, (value,) in zip(expected, found, strict=True):
        np.testing.assert_allclose(value, wanted[0], 1e-4, 1e-4)


@needs_engines
@pytest.mark.parametrize("kernel", [[3, 2], [2, 4]])
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_indices_of_automatic_padding(
    auto_pad: str, kernel: list[int], tmp_path: Path, engines: Engines
) -> None:
    """OpenVINO ignores automatic padding of unknown sizes if the indices are used (OVN169)."""
    text = f"""g (float[1,2,a,b] x) => (float[1,2,c,d] y, int64[1,2,e,f] i) {{
  y, i = MaxPool <auto_pad = "{auto_pad}", kernel_shape = {kernel}> (x)
}}"""
    random = np.random.default_rng(0)
    sets = [[random.standard_normal((1, 2, *size)).astype(F32)] for size in [(5, 7), (4, 6)]]
    agree(text, sets, engines, tmp_path)
