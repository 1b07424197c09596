"""Models in memory: bytes, streams, and objects of other packages, in every function."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.formats.onnx.text import from_text

openvino: Any = pytest.importorskip("openvino")

IR = Path(__file__).parent / "fixtures" / "models" / "recurrent" / "model.xml"

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[2,3] x) => (float[2,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> { y = Add (x, w) }"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return from_text(TEXT, tmp_path / "m.onnx")[1]


def _ir_model() -> Any:
    return openvino.Core().read_model(IR)


def _of_onnx_ir(path: Path) -> Any:
    return pytest.importorskip("onnx_ir", reason="needs onnx_ir: pip install onnx-ir").load(path)


ONNX_OBJECTS: dict[str, Callable[[Path], Any]] = {
    "path": lambda path: path,
    "model": irloop.read_model,
    "bytes": Path.read_bytes,
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "stream": lambda path: io.BytesIO(path.read_bytes()),
    "proto": onnx.load,
    "onnx_ir": _of_onnx_ir,
}

IR_OBJECTS: dict[str, Callable[[], Any]] = {
    "path": lambda: IR,
    "model": lambda: irloop.read_model(IR),
    "paths": lambda: (IR, IR.with_suffix(".bin")),
    "text and bytes": lambda: (IR.read_text(), IR.with_suffix(".bin").read_bytes()),
    "bytes and array": lambda: (
        IR.read_bytes(),
        np.fromfile(IR.with_suffix(".bin"), dtype=np.uint8),
    ),
    "tensor": lambda: (
        IR.read_text(),
        openvino.Tensor(np.fromfile(IR.with_suffix(".bin"), dtype=np.uint8)),
    ),
    "openvino": _ir_model,
}


def _findings(source: Any) -> list[tuple[str, str]]:
    return [(item.code, item.message) for item in irloop.validate(source).diagnostics]


@pytest.mark.parametrize("kind", ONNX_OBJECTS)
def test_every_function_takes_an_onnx_model_in_memory(kind: str, file: Path) -> None:
    def made() -> Any:
        return ONNX_OBJECTS[kind](file)

    assert irloop.diff(made(), file).same
    assert irloop.validate(made()).diagnostics == []
    assert irloop.compare(made(), made(), engines="numpy", seeds=1).equal
    assert irloop.run(made(), {"x": [[0, 0, 0], [0, 0, 0]]})["y"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert irloop.convert(made())[0].dialect == "openvino"
    assert "<html" in irloop.view(made())
    assert irloop.read_model(made()).graph.parameters[0].name == "x"


@pytest.mark.parametrize("kind", IR_OBJECTS)
def test_every_function_takes_an_ir_in_memory(kind: str) -> None:
    made = IR_OBJECTS[kind]
    wanted = irloop.random_inputs(IR)
    first, second = irloop.run(IR, wanted), irloop.run(made(), wanted)
    assert list(first) == list(second)
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])
    assert _findings(made()) == _findings(IR)
    assert irloop.compare(made(), IR, engines="numpy", seeds=1).equal
    assert irloop.convert(made())[0].dialect == "onnx"
    assert "<html" in irloop.view(made())


def test_objects_of_other_packages_are_made(file: Path) -> None:
    proto = irloop.read_model(file).to_onnx()
    onnx.checker.check_model(proto, full_check=True)
    assert proto.graph.output[0].name == "y"
    converted, _ = irloop.convert(file)
    compiled = openvino.Core().compile_model(converted.to_openvino(), "CPU")
    found = compiled([np.zeros((2, 3), np.float32)])[0]
    assert found.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_model_must_be_converted_before(file: Path) -> None:
    with pytest.raises(irloop.UsageError, match=r"irloop\.convert"):
        irloop.read_model(file).to_openvino()
    with pytest.raises(irloop.UsageError, match=r"irloop\.convert"):
        irloop.read_model(IR).to_onnx()


def test_functions_of_onnxscript_are_models() -> None:
    pytest.importorskip("onnxscript", reason="needs onnxscript: pip install onnxscript")
    from tests.scripted import doubled

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = irloop.run(doubled, [1.5])
    assert [value.tolist() for value in found.values()] == [3.0]


def test_the_weights_are_not_copied(tmp_path: Path) -> None:
    weights = np.fromfile(IR.with_suffix(".bin"), dtype=np.uint8)
    model = irloop.read_model((IR.read_text(), weights))
    constants = [node.op for node in model.graph.nodes if hasattr(node.op, "tensor")]
    assert constants
    views = [np.frombuffer(op.tensor.raw(), np.uint8) for op in constants]
    assert any(np.shares_memory(view, weights) for view in views)


def test_findings_have_the_lines_of_the_text_and_no_temporary_path() -> None:
    text = IR.read_text().replace('to-port="0"', 'to-port="77"', 1)
    report = irloop.validate((text, IR.with_suffix(".bin").read_bytes()))
    assert report.has_errors
    line = 1 + text[: text.index('to-port="77"')].count("\n")
    assert line in {item.location.line for item in report.diagnostics}
    assert {item.location.file for item in report.diagnostics} == {"<model>"}


@pytest.mark.parametrize("given", [3, None, object(), [1, 2], {"a": 1}, b"nonsense", (1, 2, 3)])
def test_anything_else_is_refused(given: Any) -> None:
    with pytest.raises((irloop.UsageError, irloop.ReadError)):
        irloop.read_model(given)


def test_a_compiled_model_is_refused_with_the_way_out() -> None:
    compiled = openvino.Core().compile_model(_ir_model(), "CPU")
    for given in (compiled, compiled.get_runtime_model()):
        with pytest.raises(irloop.ReadError, match=r"openvino\.Model that was compiled"):
            irloop.read_model(given)


def test_numbers_are_cast_and_arrays_name_the_cast(file: Path) -> None:
    with pytest.raises(irloop.UsageError, match=r"inputs\['x'\]\.astype\('float32'\)"):
        irloop.run(file, {"x": np.zeros((2, 3))})
    scalar, _ = from_text(
        '<ir_version: 8, opset_import: ["": 17]> g (float x) => (float y) { y = Neg (x) }',
        file.with_name("s.onnx"),
    )
    for number in (2, 2.0, np.float64(2), np.int64(2)):
        assert irloop.run(scalar, {"x": number})["y"] == -2
