"""Operations with contradictory attributes or constants are refused with their name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import irloop
from irloop.validation.faults import fault_findings

FIXTURES = Path(__file__).parents[1] / "fixtures"
HEAD = '<ir_version: 10, opset_import: ["" : {}]>'
DAMAGED = {
    "a product along the axis of a scalar": (
        26,
        "g (float x, int64 a) => (float y) { y = CumProd (x, a) }",
        "lacks an axis",
    ),
    "a norm of degree 0": (
        22,
        "g (float[1,1,4] x) => (float[1,1,3] y) { y = LpPool <kernel_shape = [2], p = 0> (x) }",
        "division by zero",
    ),
    "a bound without end": (
        17,
        (
            "g (float[4] x) => (float[n] y) { s = Constant <value_float = inf> ()"
            " e = Constant <value_ints = [3]> () y = Slice (x, s, e) }"
        ),
        "infinity",
    ),
    "a region that is missing": (
        19,
        (
            "g (float[1,1,4,4] x, int64[4] n) => (float[a,b,c,d] y)"
            ' { y = Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, , , n) }'
        ),
        "its region is missing",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_an_operation_that_makes_no_sense_is_refused(tmp_path: Path, name: str) -> None:
    opset, text, reason = DAMAGED[name]
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f"{HEAD.format(opset)} {text}"), path)
    with pytest.raises(irloop.UnsupportedError, match=reason) as refused:
        irloop.convert(path)
    assert [item.code for item in refused.value.diagnostics] == ["CNV001"]


def test_sizes_that_are_not_known_are_written_without_a_number(tmp_path: Path) -> None:
    """Exporters write -1 for unknown sizes, which crashes the shape inference of the onnx
    package.
    """
    path, again = tmp_path / "m.onnx", tmp_path / "again.onnx"
    model = onnx.parser.parse_model(
        f"{HEAD.format(17)} g (float[2] x) => (float[2] y) {{ y = Relu (x) }}"
    )
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    onnx.save(model, path)
    irloop.save_model(irloop.read_model(path), again)
    assert not onnx.load(again).graph.input[0].type.tensor_type.shape.dim[0].HasField("dim_value")


def test_sizes_that_no_file_holds_are_not_written(tmp_path: Path) -> None:
    text = "g (int64[4611686018427387904] x) => (y) { y = Concat <axis = 0> (x, x, x) }"
    model = onnx.parser.parse_model(f"{HEAD.format(17)} {text}")
    onnx.save(model, tmp_path / "m.onnx")
    read = irloop.read_model(tmp_path / "m.onnx")
    irloop.infer(read)
    with pytest.raises(irloop.WriteError, match="is not written"):
        irloop.save_model(read, tmp_path / "out.onnx")
    with pytest.raises(irloop.IrloopError, match="a size of an output is too large"):
        irloop.convert(read, "openvino")
    assert [item.name for item in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("where", ["a loop that lacks its body", "an operation without inputs"])
def test_passes_and_faults_leave_damaged_graphs_alone(tmp_path: Path, where: str) -> None:
    from irloop.dialects.onnx.activation import Relu
    from irloop.dialects.onnx.control_flow import Loop
    from irloop.graph.model import Graph, Model

    graph = Graph("g")
    op = Loop() if "loop" in where else Relu()
    graph.add_result(graph.add_node(op, "n", (), 1).outputs[0], "y")
    model = Model(graph, "onnx", 10, opsets={"": 17})
    with pytest.raises(irloop.InferenceError, match=r"'n': it lacks"):
        irloop.transform(model, ["simplify"])
    assert [item.code for item in fault_findings(graph, ["onnxruntime"], ())] == ["HAZ001"]


def test_ports_without_ids_are_named(tmp_path: Path) -> None:
    source = FIXTURES / "models" / "halving" / "model.xml"
    text = source.read_text("utf-8")
    # The input ports of the first layer that has two inputs.
    at = text.index("<input>", text.index('<port id="1"', text.index("<input>")) - 400)
    path = tmp_path / "m.xml"
    path.write_text(text[:at] + text[at:].replace(' id="0"', "", 1).replace(' id="1"', "", 1))
    path.with_suffix(".bin").write_bytes(source.with_suffix(".bin").read_bytes())
    with pytest.raises(irloop.ReadError, match="id"):
        irloop.read_model(path)
    assert irloop.validate(path).has_errors


def test_a_window_is_no_longer_than_the_axis(tmp_path: Path) -> None:
    """LRN divides by the size of the window, so a window of 2^40 elements leaves x / bias^beta."""
    text = "g (float[1,5] x) => (float[1,5] y) { y = LRN <size = 1099511627776, bias = 4.0> (x) }"
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f"{HEAD.format(17)} {text}"), path)
    x = np.arange(5, dtype=np.float32)[None]
    np.testing.assert_allclose(irloop.run(path, {"x": x})["y"], x / 4.0**0.75, rtol=1e-6)
    made, _ = irloop.convert(path)
    np.testing.assert_allclose(irloop.run(made, {"x": x})["y"], x / 4.0**0.75, rtol=1e-6)


def test_a_size_of_a_million_axes_is_refused(tmp_path: Path) -> None:
    text = "g (float[1,2,3] t, int64[n] s) => (float[a,b,c,d] y) { y = AffineGrid (t, s) }"
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f"{HEAD.format(20)} {text}"), path)
    given = [np.zeros((1, 2, 3), np.float32), np.ones(1_000_000, np.int64)]
    with pytest.raises(irloop.ExecutionError, match="the size has the wrong length"):
        irloop.run(path, given)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("irl501/bad_no_body.xml", "it does not have the bodies that its operation needs"),
        ("irl701/bad_no_else.xml", "it does not have the bodies that its operation needs"),
        ("irl506/bad_twice.xml", "is not exactly once in the port map of its body 'body'"),
    ],
)
@pytest.mark.parametrize("options", [{"target": "openvino-2021.4"}, {"loops": "unroll"}])
def test_bodies_and_port_maps_are_checked_before_passes_run(
    tmp_path: Path, file: str, reason: str, options: dict[str, str]
) -> None:
    """Conversion without validation gives such files to passes, which rely on both."""
    weights = tmp_path / "weights.bin"
    weights.write_bytes(bytes(64))
    model = irloop.read_model(FIXTURES / "rules" / file, weights)
    # Otherwise the error would be that of the validation rule.
    model.source = None
    with pytest.raises(irloop.InferenceError, match=reason):
        irloop.convert(model, **options)  # type: ignore[arg-type]
