"""Quantised models: OpenVINO's int8 kernels against its own f32 kernels, and rounding to steps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import irloop
from irloop.building.ir_model import IrModel
from irloop.comparison.engine_differences import EXACT_SUMS, F32_KERNELS
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.convolution import Convolution
from irloop.dialects.openvino.elementwise import Multiply
from irloop.dialects.openvino.quantize import FakeQuantize
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType

CHANNELS = 16
X = np.random.default_rng(3).standard_normal((1, CHANNELS, 8, 8)).astype(np.float32)

#: Prints the element types in which OpenVINO computes convolutions, in a separate process.
PRECISIONS = """
import sys, openvino
options = dict(item.split("=") for item in sys.argv[2:])
# Processors with bf16 would compute in bf16; irloop sets the same hint.
options["INFERENCE_PRECISION_HINT"] = "f32"
model = openvino.Core().compile_model(sys.argv[1], "CPU", options)
for node in model.get_runtime_model().get_ordered_ops():
    info = node.get_rt_info()
    if info["layerType"].astype(str) == "Convolution":
        print(info["runtimePrecision"].astype(str))
"""


def fake_quantised(folder: Path) -> Path:
    """An IR: FakeQuantize of 256 levels, then a convolution with int8 weights of the full range."""
    m = IrModel()
    ranges = [m.constant(np.full((1, 1, 1, 1), end)) for end in (-2.56, 2.54, -2.56, 2.54)]
    x = m(FakeQuantize(levels=256), m.input("x", *X.shape), *ranges)
    numbers = np.random.default_rng(4).integers(-127, 128, (CHANNELS, CHANNELS, 3, 3))
    weights = m.builder.tensor(ArrayTensor(numbers.astype(np.int8), ElementType.I8))
    scale = m.constant(np.full((1, 1, 1, 1), 0.001))
    window = Convolution(strides=(1, 1), pads_begin=(1, 1), pads_end=(1, 1), dilations=(1, 1))
    y = m(window, x, m(Multiply(), m(Convert(ElementType.F32), weights), scale))
    path = folder / "quantised.xml"
    irloop.save_model(m.done(y), path)
    return path


def in_openvino(path: Path, options: dict[str, str]) -> Any:
    with Process(engine_of("openvino"), path, options=options) as process:
        answer = process.run([X], seconds=60)
    assert answer.outputs is not None, answer
    return answer.outputs[0]


def exact(path: Path) -> Any:
    """The convolution of the rounded input, computed in double precision."""
    steps = np.round((np.clip(X, -2.56, 2.54) + 2.56) / 5.1 * 255)
    rounded = steps / 255 * 5.1 - 2.56
    numbers = np.random.default_rng(4).integers(-127, 128, (CHANNELS, CHANNELS, 3, 3))
    padded = np.pad(rounded, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, numbers * 0.001)


def test_int8_kernels_can_be_turned_off(tmp_path: Path) -> None:
    path = fake_quantised(tmp_path)

    def precisions(options: dict[str, str]) -> set[str]:
        given = [f"{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-W", "ignore", "-c", PRECISIONS, str(path), *given]
        found = subprocess.run(command, capture_output=True, check=True, text=True, timeout=120)
        return set(found.stdout.split())

    if not precisions({}) & {"i8", "u8"}:
        pytest.skip("OpenVINO has no int8 kernels on this processor")
    assert precisions(F32_KERNELS) == {"f32"}
    wanted = exact(path)
    near = np.abs(in_openvino(path, F32_KERNELS) - wanted).max() / np.abs(wanted).max()
    assert near < 1e-5


def test_differences_of_int8_kernels_are_explained(tmp_path: Path) -> None:
    """The note reports the difference on this processor, and does not blame the conversion."""
    path = fake_quantised(tmp_path)
    model, _ = irloop.convert(path)
    irloop.save_model(model, tmp_path / "quantised.onnx")
    found = irloop.compare(path, tmp_path / "quantised.onnx", inputs=[X])
    fast, plain = in_openvino(path, {}), in_openvino(path, F32_KERNELS)
    apart = float(np.abs(fast - plain).max())
    if np.allclose(fast, plain, rtol=1e-4, atol=2e-5):
        assert found.outcome == "equal", str(found)
        assert "int8 kernels" not in str(found)
    else:
        assert f"int8 kernels differ by {apart:.2g} from its own f32" in str(found)


QDQ = """<ir_version: 8, opset_import: ["": 13]>
m (float[1,16,8,8] x) => (uint8[1,16,8,8] y)
   <float xs = {0.02}, uint8 xz = {128}, float ws = {0.001}, int8 wz = {0}, float ys = {0.05}> {
   xq = QuantizeLinear (x, xs, xz)
   xd = DequantizeLinear (xq, xs, xz)
   wd = DequantizeLinear (w, ws, wz)
   c = Conv <pads = [1, 1, 1, 1]> (xd, wd)
   y = QuantizeLinear (c, ys, xz)
}"""


def quantised_onnx(path: Path) -> Path:
    """QuantizeLinear and DequantizeLinear around a convolution with int8 weights."""
    proto = onnx.parser.parse_model(QDQ)
    numbers = np.random.default_rng(4).integers(-63, 64, (CHANNELS, CHANNELS, 3, 3))
    proto.graph.initializer.append(numpy_helper.from_array(numbers.astype(np.int8), "w"))
    onnx.save(proto, path)
    return path


def test_a_quantised_onnx_model_and_its_conversion(tmp_path: Path) -> None:
    path = quantised_onnx(tmp_path / "m.onnx")
    model, _ = irloop.convert(path)
    irloop.save_model(model, tmp_path / "m.xml")
    found = irloop.compare(path, tmp_path / "m.xml", inputs=[X])
    assert found.outcome == "equal", str(found)


def shifted(path: Path, count: int, by: int) -> Path:
    """The quantised model with `count` numbers of its output moved by `by`."""
    proto = onnx.load(path)
    (last,) = [node for node in proto.graph.node if node.output == ["y"]]
    last.output[0] = "before"
    moved = np.zeros(X.size, np.int32)
    moved[:count] = by
    for text in (
        "wide = Cast <to = 6> (before)",
        "sum = Add (wide, moved)",
        "y = Cast <to = 2> (sum)",
    ):
        proto.graph.node.append(onnx.parser.parse_node(text))
    initializer = numpy_helper.from_array(moved.reshape(X.shape), "moved")
    proto.graph.initializer.append(initializer)
    other = path.with_name(f"shifted_{count}_{by}.onnx")
    onnx.save(proto, other)
    return other


@pytest.mark.parametrize(
    ("count", "by", "outcome"), [(5, 1, "equal"), (5, 2, "different"), (900, 1, "different")]
)
def test_single_steps_of_quantised_integers_are_rounding(
    count: int, by: int, outcome: str, tmp_path: Path
) -> None:
    path = quantised_onnx(tmp_path / "m.onnx")
    found = irloop.compare(path, shifted(path, count, by), inputs=[X], engines="numpy")
    assert found.outcome == outcome, str(found)
    steps = [note for note in found.notes if f"one quantisation step in {count} of 1024" in note]
    assert bool(steps) == (outcome == "equal")


def test_saturated_sums_of_onnxruntime_are_explained(tmp_path: Path) -> None:
    """255 * 127 + 255 * 127 = 64770 does not fit into 16 bits."""
    weights = numpy_helper.from_array(np.full((4, 3), 127, np.int8), "w")
    text = "m (uint8[2,4] x) => (int32[2,3] y) { y = MatMulInteger (x, w) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    model.graph.initializer.append(weights)
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    x = np.full((2, 4), 255, np.uint8)
    exact = np.full((2, 3), 4 * 255 * 127, np.int32)
    found = {}
    for how, options in (("plain", {}), ("exact", EXACT_SUMS)):
        with Process(engine_of("onnxruntime"), path, options=options) as process:
            answer = process.run([x], seconds=60)
        assert answer.outputs is not None, str(answer)
        found[how] = answer.outputs[0]
    np.testing.assert_array_equal(found["exact"], exact)
    if np.array_equal(found["plain"], exact):
        pytest.skip("ONNX Runtime adds exactly on this processor")
    told = irloop.compare(path, path, inputs={"x": x}, engine_a="numpy", engine_b="onnxruntime")
    assert told.equal, str(told)
    assert any("saturate at i16" in note for note in told.notes)
