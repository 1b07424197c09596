"""Models that engines run have no errors, and can be converted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import irloop
from irloop.diagnostics import Severity
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from tests.rule_fixtures import fixtures
from tests.validation.test_operands import write

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"


def test_a_parameter_that_goes_straight_into_a_result(tmp_path: Path) -> None:
    """OpenVINO writes such files itself (IRL117)."""
    path = FIXTURES / "irl117" / "bad_warning_parameter_is_result.xml"
    (finding,) = irloop.validate(path)
    assert (finding.code, finding.severity) == ("IRL117", Severity.WARNING)
    made = tmp_path / "made.onnx"
    irloop.save_model(irloop.convert(path)[0], made)
    x = np.arange(2, dtype=np.float32).reshape(1, 2)
    with Process(engine_of("onnxruntime"), made) as process:
        answer = process.run([x], seconds=60)
        assert answer.outputs is not None, str(answer)
        np.testing.assert_array_equal(answer.outputs[0], x)


def test_two_results_of_one_named_tensor_stay_an_error() -> None:
    """OpenVINO 2026.4 was measured to reject them."""
    report = irloop.validate(FIXTURES / "irl117" / "bad_two_results_of_a_named_tensor.xml")
    assert [(item.code, item.severity) for item in report] == [("IRL117", Severity.ERROR)]


def _shape(*sizes: int) -> str:
    return "".join(f"<dim>{size}</dim>" for size in sizes)


def _written(folder: Path, kind: str, opset: int, data: str, shapes: list[list[int]]) -> Path:
    """An IR with one operation on f32 Parameters of these shapes; the size of its output is
    unknown.
    """
    layers, edges = [], []
    for at, shape in enumerate(shapes):
        text = ",".join(map(str, shape))
        layers.append(
            f'<layer id="{at}" name="in{at}" type="Parameter" version="opset1">'
            f'<data shape="{text}" element_type="f32"/>'
            f'<output><port id="0" precision="FP32">{_shape(*shape)}</port></output></layer>'
        )
        edges.append(f'<edge from-layer="{at}" from-port="0" to-layer="10" to-port="{at}"/>')
    ports = "".join(f'<port id="{at}">{_shape(*shape)}</port>' for at, shape in enumerate(shapes))
    open_port = _shape(*[-1] * len(shapes[0]))
    count = len(shapes)
    layers.append(
        f'<layer id="10" name="op" type="{kind}" version="opset{opset}"><data {data}/>'
        f'<input>{ports}</input><output><port id="{count}" precision="FP32">{open_port}</port>'
        '</output></layer><layer id="11" name="out" type="Result" version="opset1">'
        f'<input><port id="0">{open_port}</port></input></layer>'
    )
    edges.append(f'<edge from-layer="10" from-port="{count}" to-layer="11" to-port="0"/>')
    path = folder / "model.xml"
    path.write_text(
        f'<net name="one" version="11"><layers>{"".join(layers)}</layers>'
        f"<edges>{''.join(edges)}</edges></net>",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("kind", "opset", "data", "shapes"),
    [
        ("DepthToSpace", 1, 'block_size="2"', [[1, 8, 2, 3]]),
        ("SpaceToDepth", 1, 'block_size="2"', [[1, 2, 4, 6]]),
        ("GRN", 1, "", [[2, 5]]),
        ("MVN", 2, 'across_channels="false" eps="0.1"', [[2, 3, 4]]),
        ("Elu", 1, "", [[2, 3]]),
        ("Clamp", 1, 'max="0.5"', [[2, 3]]),
        ("Clamp", 1, 'min="-0.5"', [[2, 3]]),
        ("BatchNormInference", 5, "", [[4, 3], [3], [3], [3], [3]]),
        ("Concat", 1, "", [[2, 3], [4, 3]]),
    ],
)
def test_openvino_infers_the_same(
    kind: str, opset: int, data: str, shapes: list[list[int]], tmp_path: Path
) -> None:
    path = _written(tmp_path, kind, opset, data, shapes)
    (finding,) = irloop.validate(path)
    assert (finding.code, finding.severity) == ("IRL103", Severity.WARNING)
    draw = np.random.default_rng(3)
    given = [np.abs(draw.normal(size=shapes[0])).astype("f") - 1]
    given += [np.abs(draw.normal(size=shape)).astype("f") + 1 for shape in shapes[1:]]
    with Process(engine_of("openvino"), path) as process:
        answer = process.run(given, seconds=60)
    assert answer.outputs is not None, str(answer)
    (found,) = irloop.run(path, given).values()
    np.testing.assert_allclose(found, answer.outputs[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "opset", "data", "shapes"),
    [
        # OpenVINO only looks whether axis 1 is among the axes.
        ("MVN", 2, 'eps="0.1" normalize_variance="true" reduction_axes="7"', [[2, 3, 4]]),
        ("MVN", 2, 'eps="0.1" normalize_variance="true" reduction_axes="1"', [[2, 3, 4]]),
        (
            "MaxPool",
            1,
            'kernel="2" strides="2" pads_begin="-1" pads_end="0" auto_pad="same_upper"',
            [[1, 2, 5]],
        ),
        (
            "Convolution",
            1,
            'strides="1" dilations="1" pads_begin="-3" pads_end="0" auto_pad="valid"',
            [[1, 2, 5], [4, 2, 3]],
        ),
    ],
)
def test_attributes_that_openvino_ignores(
    kind: str, opset: int, data: str, shapes: list[list[int]], tmp_path: Path
) -> None:
    path = _written(tmp_path, kind, opset, data, shapes)
    assert not irloop.validate(path).has_errors
    draw = np.random.default_rng(4)
    given = [draw.normal(size=shape).astype("f") for shape in shapes]
    with Process(engine_of("openvino"), path) as process:
        answer = process.run(given, seconds=60)
    assert answer.outputs is not None, str(answer)
    (found,) = irloop.run(path, given).values()
    np.testing.assert_allclose(found, answer.outputs[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("element", ["i64", "f16", "i8"])
@pytest.mark.parametrize("operation", ["SliceScatter", "PReLU"])
def test_operands_of_two_types(operation: str, element: str, tmp_path: Path) -> None:
    """OpenVINO converts the second operand to the type of the first."""
    if operation == "PReLU":
        operands: list[Any] = [("f32", [2, 3]), (element, [3])]
        path = write(tmp_path, "PReLU-1", "", operands)
    else:
        bounds = [("i64", [1], [1]), ("i64", [1], [2]), ("i64", [1], [1]), ("i64", [1], [0])]
        path = write(tmp_path, "SliceScatter-15", "", [("f32", [2, 3]), (element, [1, 3]), *bounds])
    assert not irloop.validate(path).has_errors
    kind = {"i64": np.int64, "f16": np.float16, "i8": np.int8}[element]
    shape = (3,) if operation == "PReLU" else (1, 3)
    given = [-np.ones((2, 3), np.float32), np.array([2, 3, 4], kind).reshape(shape)]
    with Process(engine_of("openvino"), path) as process:
        answer = process.run(given, seconds=60)
    assert answer.outputs is not None, str(answer)
    (found,) = irloop.run(path, given).values()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, answer.outputs[0])


@pytest.mark.parametrize(
    ("operation", "data"),
    [
        ("LogicalNot-1", ""),
        ("MVN-1", 'eps="0.1" normalize_variance="true" across_channels="true"'),
        ("GRN-1", 'bias="0.5"'),
        ("Elu-1", 'alpha="1"'),
        ("SoftMax-1", 'axis="1"'),
    ],
)
def test_numbers_where_the_specification_has_other_types(
    operation: str, data: str, tmp_path: Path
) -> None:
    """OpenVINO computes these in f32, and rounds the result to the nearest integer."""
    path = write(tmp_path, operation, data, [("i32", [1, 3, 4])])
    assert not irloop.validate(path).has_errors
    given = [np.array([-3, 2, 1, 4, 0, 7, -8, 2, 5, -1, 3, 3], np.int32).reshape(1, 3, 4)]
    with Process(engine_of("openvino"), path) as process:
        answer = process.run(given, seconds=60)
    assert answer.outputs is not None, str(answer)
    (found,) = irloop.run(path, given).values()
    np.testing.assert_array_equal(found, answer.outputs[0])


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("irl108/bad_warning_no_result", "IRL108"),
        ("irl112/bad_warning_negative", "IRL112"),
        ("irl518/bad_axis_wins", "IRL518"),
        ("irl604/bad_warning_input", "IRL604"),
        ("irl706/bad_float", "IRL706"),
        ("irl208/bad_warning_unneeded", "IRL208"),
    ],
)
def test_oddities_that_openvino_compiles_are_warnings(name: str, code: str, tmp_path: Path) -> None:
    import openvino

    (fixture,) = [item for item in fixtures(".xml") if item.name == f"{name}.xml"]
    path = tmp_path / "model.xml"
    path.write_bytes(fixture.path.read_bytes())
    fixture.weights(tmp_path)
    openvino.Core().compile_model(path, "CPU")
    found = irloop.validate(path)
    assert code in {item.code for item in found}
    assert not found.has_errors, str(found.diagnostics)


ONNX_HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "(float[2,3] x) => (float[a,b] y) { y = ReduceMax <keepdims = 2, axes = [1]> (x) }",
            "ONX105",
        ),
        ("(float[2] x) => (float[2] y) { y = Relu (x) }", "ONX104"),
        (
            (
                "(float[1] x, int64 n) => (float[a] y, float[b,c] z) { y, z = Loop (n, , x) <body ="
                " b (int64 i, bool c, float[k] s) => (bool d, float[l] r, float[m] p) {"
                " d = Identity (c) r = Concat <axis = 0> (s, s) p = Identity (r) }> }"
            ),
            "ONX309",
        ),
    ],
)
def test_oddities_that_onnx_runtime_loads_are_warnings(
    text: str, code: str, tmp_path: Path
) -> None:
    import onnxruntime

    path = tmp_path / "m.onnx"
    model = onnx.parser.parse_model(ONNX_HEAD + text)
    if code == "ONX104":
        # ONNX Runtime drops a node that has neither inputs nor outputs.
        model.graph.node.add(op_type="Relu")
    onnx.save(model, path)
    onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = irloop.validate(path)
    assert code in {item.code for item in found}
    assert not found.has_errors, str(found.diagnostics)


def test_a_missing_attribute_that_openvino_takes_for_zero_stays_an_error(tmp_path: Path) -> None:
    path = _written(tmp_path, "DepthToSpace", 1, 'mode="blocks_first"', [[1, 8, 2, 3]])
    report = irloop.validate(path)
    assert ("IRL103", Severity.ERROR) in [(item.code, item.severity) for item in report]


@pytest.mark.parametrize(
    ("kind", "opset"), [("Upsample", 9), ("Resize", 10), ("Resize", 11), ("Resize", 18)]
)
def test_images_of_known_sizes_resized_by_constant_scales(
    tmp_path: Path, kind: str, opset: int
) -> None:
    scales = helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, 2, 2])
    region = helper.make_tensor("r", TensorProto.FLOAT, [0], [])
    names = ["x", "r", "s"] if opset > 10 else ["x", "s"]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2, 2])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node(kind, names, ["y"], mode="nearest")
    graph = helper.make_graph([node], "g", [given], [made], [region, scales])
    path = tmp_path / "m.onnx"
    opsets = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    assert list(irloop.validate(path)) == []
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    with Process(engine_of("onnxruntime"), path) as process:
        answer = process.run([x], seconds=60)
        assert answer.outputs is not None, str(answer)
        assert answer.outputs[0].tolist() == [
            [[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]]
        ]


@pytest.mark.parametrize("value", [0, 1, 2])
def test_only_1_keeps_dimensions(tmp_path: Path, value: int) -> None:
    """ONNX Runtime compares `keepdims` with 1."""
    path = tmp_path / "m.onnx"
    text = f"(float[2,3] x) => (y) {{ y = ReduceMax <axes = [1], keepdims = {value}> (x) }}"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 13]> g ' + text), path)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with Process(engine_of("onnxruntime"), path) as process:
        answer = process.run([x], seconds=60)
    assert answer.outputs is not None, str(answer)
    found = irloop.run(irloop.read_model(path), {"x": x})["y"]
    np.testing.assert_array_equal(found, answer.outputs[0], strict=True)
