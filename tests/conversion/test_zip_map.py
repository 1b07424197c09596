"""Conversion of classifiers that end in ZipMap: the output is the tensor that ZipMap reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session
from tests.conversion.both_engines import F32, needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def classifier(labels: str, key: int, folder: Path) -> Path:
    proto = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 1]>
        g (float[N,3] x) => (float[N,3] shares) {{
            shares = Softmax<axis = 1>(x)
            maps = ai.onnx.ml.ZipMap<{labels}>(shares)
        }}"""
    )
    number = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(key, number))
    proto.graph.output.append(helper.make_value_info("maps", kind))
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


X = np.array([[0.5, 1, -1], [3, 2, 1]], F32)

CASES = [
    ("classlabels_int64s = [1, 4, 9]", onnx.TensorProto.INT64, [1, 4, 9]),
    ('classlabels_strings = ["ant", "bee", "cat"]', onnx.TensorProto.STRING, ["ant", "bee", "cat"]),
]


@needs_engines
@pytest.mark.parametrize(("labels", "key", "names"), CASES, ids=["numbers", "strings"])
def test_the_output_is_the_tensor_that_zip_map_reads(
    labels: str, key: int, names: list[object], engines: Engines, tmp_path: Path
) -> None:
    import onnxruntime

    path, ir = classifier(labels, key, tmp_path), tmp_path / "model.xml"
    runtime = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    maps = runtime.run(["maps"], {"x": X})[0]
    expected = [[row[name] for name in names] for row in maps]
    model, notes = irloop.convert(path)
    irloop.save_model(model, ir, ir_version=11)
    (note,) = [item for item in notes if item.code == "CNV110"]
    assert ", ".join(map(str, names)) in note.message
    assert "zipmap=False" in note.fix
    own = list(Session(irloop.read_model(path)).run([X]).values())
    np.testing.assert_allclose(own[1], expected, 1e-5)
    found = engines.run("openvino", ir, [X], tmp_path)
    np.testing.assert_allclose(found[1], expected, 1e-5)


@needs_engines
def test_check_compares_the_maps_of_the_engine_with_the_tensor(tmp_path: Path) -> None:
    path, ir = classifier(CASES[0][0], CASES[0][1], tmp_path), tmp_path / "model.xml"
    irloop.save_model(irloop.convert(path)[0], ir)
    result = irloop.compare(path, ir, trips=[1], seeds=1)
    assert result.equal


def test_irloop_leaves_the_maps_in_an_onnx_file(tmp_path: Path) -> None:
    path = classifier(CASES[0][0], CASES[0][1], tmp_path)
    assert irloop.validate(path).diagnostics == []
    again = tmp_path / "again.onnx"
    irloop.save_model(irloop.read_model(path), again)
    output = onnx.load(again).graph.output[1]
    assert output.type.sequence_type.elem_type.map_type.key_type == onnx.TensorProto.INT64


def test_labels_have_to_fit(tmp_path: Path) -> None:
    path = classifier("classlabels_int64s = [1, 4]", onnx.TensorProto.INT64, tmp_path)
    with pytest.raises(irloop.InferenceError, match="one column per class"):
        irloop.convert(path)
