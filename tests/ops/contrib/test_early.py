"""Operations that ai.onnx had before opset 10, against ONNX Runtime, which still runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import irloop
from benchmarks.engines import Engines
from irloop.errors import IrloopError
from tests.ops.contrib.against_runtime import Case, agree, drawn, model_of

IMAGE = drawn(1, 2, 3, 7, 6)

INFINITE = np.array([np.inf, -np.inf, 0.25, 0.75], np.float32)

CASES = [
    Case("Crop", [IMAGE], domain="", opset=9, border=[1, 2, 1, 3]),
    Case("Crop", [IMAGE], domain="", opset=9, border=[0, 0, 0, 1]),
    Case("Crop", [IMAGE], domain="", opset=7, border=[0, 0, 0, 0]),
    # The operation ignores the right and bottom borders.
    Case("Crop", [IMAGE], domain="", opset=9, border=[1, 2, 5, 5], named={"scale": [4, 3]}),
    Case("ImageScaler", [IMAGE], domain="", opset=9, bias=[0.5, -1.0, 2.0], named={"scale": 1.5}),
    Case("ImageScaler", [IMAGE], domain="", opset=8, bias=[0.5, -1.0, 2.0]),
    Case("Affine", [IMAGE], domain="", opset=9, alpha=0.5, beta=-1.25),
    Case("Scale", [IMAGE], domain="", opset=9, named={"scale": -2.5}),
    Case("Scale", [IMAGE], domain="", opset=7),
    Case("ScaledTanh", [IMAGE], domain="", opset=9, alpha=1.7159, beta=0.6667),
    Case("ParametricSoftplus", [IMAGE], domain="", opset=9, alpha=0.75, beta=2.0),
    Case("ThresholdedRelu", [IMAGE], domain="", opset=9, alpha=-0.25),
    Case("ThresholdedRelu", [IMAGE], domain="", opset=8),
    Case("ThresholdedRelu", [INFINITE], domain="", opset=8, alpha=0.5),
    Case("MeanVarianceNormalization", [IMAGE], domain="", opset=8, declared=True),
    Case(
        "MeanVarianceNormalization",
        [IMAGE],
        domain="",
        opset=7,
        declared=True,
        across_channels=1,
        normalize_variance=0,
    ),
    Case(
        "MeanVarianceNormalization", [IMAGE], domain="", opset=8, declared=True, across_channels=1
    ),
    Case(
        "DynamicSlice",
        [IMAGE, np.array([1, -5]), np.array([3, 2**40]), np.array([3, 2])],
        domain="",
        opset=9,
        constants=[1, 2, 3],
        declared=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)


def test_crop_in_a_loop(tmp_path: Path) -> None:
    """Three inferences run in one compiled model of ONNX Runtime and of OpenVINO, one without
    iterations.
    """
    pytest.importorskip("onnxruntime", reason="judges the model")
    pytest.importorskip("openvino", reason="judges the IR")
    text = """<ir_version: 7, opset_import: ["" : 9]>
    m (int64 trip, float[1,1,6,6] x) => (float[1,1,6,6] last, float[?,1,1,4,4] parts) {
       again = Constant <value = bool {1}> ()
       last, parts = Loop (trip, again, x) <body = step (int64 i, bool c, float[1,1,6,6] s)
          => (bool c2, float[1,1,6,6] n, float[1,1,4,4] part) {
          c2 = Identity (c)
          n = Add (s, x)
          part = Crop <border = [1, 1, 1, 1]> (n)
       }>
    }"""
    source, ir = tmp_path / "m.onnx", tmp_path / "m.xml"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    x = drawn(2, 1, 1, 6, 6)
    sets = [{"trip": np.array(count, np.int64), "x": x} for count in (2, 0, 2)]
    model = irloop.read_model(source)
    inner = x[:, :, 1:-1, 1:-1]
    parts = irloop.run(model, sets[0])["parts"]
    np.testing.assert_allclose(parts, [2 * inner, 3 * inner], rtol=1e-6)
    irloop.save_model(irloop.convert(model)[0], ir)
    found = irloop.compare(source, ir, inputs=sets)
    assert found.equal, str(found)
    ran = {item.engine: (item.ran, item.agreed) for item in found.runs}
    assert ran["onnxruntime"] == ran["openvino"] == (3, 3)


@pytest.mark.parametrize("opset", [10, 17])
def test_newer_opsets_do_not_have_them(opset: int, tmp_path: Path) -> None:
    """ONNX Runtime has no Crop from opset 10 on either ("not a registered function/op")."""
    path = tmp_path / "m.onnx"
    case = Case("Crop", [IMAGE], domain="", opset=opset, border=[1, 1, 1, 1])
    path.write_bytes(model_of(case).SerializeToString())
    assert "ONX102" in [item.code for item in irloop.validate(path)]


@pytest.mark.parametrize(
    "attributes",
    [{"border": [1, 1, 1]}, {"border": [1, 1, 1, 1], "scale": [9, 2]}, {"border": [-1, 0, 0, 0]}],
)
def test_a_crop_beyond_the_image_is_refused(attributes: dict[str, Any]) -> None:
    info = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, IMAGE.shape)
    node = helper.make_node("Crop", ["x"], ["y"], **attributes)
    graph = helper.make_graph([node], "g", [info], [onnx.ValueInfoProto(name="y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=7)
    with pytest.raises(IrloopError, match=r"four borders|larger than|negative"):
        irloop.convert(_read(proto))


def _read(proto: onnx.ModelProto) -> irloop.Model:
    from irloop.formats.onnx import reader

    return reader.from_proto(proto)
