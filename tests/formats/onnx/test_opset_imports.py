"""Opset imports that engines accept although ONNX's checker does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import irloop
from irloop.execution.session import Session

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7


def written(text: str, imports: list[tuple[str, int]], folder: Path) -> Path:
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    del proto.opset_import[:]
    proto.opset_import.extend(helper.make_opsetid(*item) for item in imports)
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def in_onnxruntime(path: Path, x: Any) -> Any:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


@pytest.mark.parametrize(
    "imports",
    [
        [("", 17), ("ai.onnx", 17)],
        [("ai.onnx", 11), ("", 17)],
        [("", 11), ("ai.onnx", 17)],
        [("ai.onnx", 17), ("", 1), ("ai.onnx", 1), ("", 17)],
    ],
)
def test_one_domain_under_both_names(imports: list[tuple[str, int]], tmp_path: Path) -> None:
    # Since opset 13 Softmax normalises one axis; before, it normalises all axes from that one on.
    text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }"
    path = written(text, imports, tmp_path)
    (found,) = Session(irloop.read_model(path)).run([X]).values()
    np.testing.assert_allclose(found, in_onnxruntime(path, X), 1e-5)
    np.testing.assert_allclose(found.sum(axis=1), np.ones((2, 4)), 1e-5)


def test_versions_are_refused_if_engines_choose_different_ones(tmp_path: Path) -> None:
    text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }"
    path = written(text, [("", 17), ("ai.onnx", 11)], tmp_path)
    with pytest.raises(irloop.ReadError, match="two versions of the domain") as caught:
        irloop.read_model(path)
    assert caught.value.diagnostics[0].found == "17 and then 11"


def test_the_domain_of_machine_learning_need_not_be_imported(tmp_path: Path) -> None:
    text = """g (float[2,3,4] x) => (float[2,3,4] y)
        { y = ai.onnx.ml.Scaler<offset = [1.0], scale = [2.0]>(x) }"""
    path = written(text, [("", 17)], tmp_path)
    (finding,) = irloop.validate(path).diagnostics
    assert (finding.code, finding.severity.value) == ("ONX108", "warning")
    model = irloop.read_model(path)
    (found,) = Session(model).run([X]).values()
    np.testing.assert_allclose(found, (X - 1) * 2, 1e-6)
    irloop.save_model(model, tmp_path / "again.onnx")
    (again,) = Session(irloop.read_model(tmp_path / "again.onnx")).run([X]).values()
    np.testing.assert_array_equal(again, found)
