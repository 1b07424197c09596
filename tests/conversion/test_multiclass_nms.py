"""MulticlassNms in ONNX, run by ONNX Runtime against OpenVINO's own values."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.execution.session import Session
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import reader as ir_reader

OPCONF = Path(__file__).resolve().parents[2].parent / "shared" / "opconf" / "cases"

OPCONF_TYPES = "MulticlassNms"


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(
    opconf_case: Path,
    opset: int,
    check_export: Callable[[Path, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    reason = {"nms_eta": "nms_eta", "topk": "nms_top_k"}.get(opconf_case.name)
    if reason is None:
        check_export(opconf_case, opset)
    else:
        assert reason in refused(lambda: check_export(opconf_case, opset))


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        ("score", {"keep_top_k": "4"}),
        ("score", {"background_class": "0"}),
        ("classid", {"keep_top_k": "5", "background_class": "1"}),
        ("batch2", {"sort_result_type": "classid"}),
        ("batch2_across", {"sort_result_type": "classid"}),
        ("batch2_across", {"sort_result_type": "none"}),
        ("score", {"iou_threshold": "0"}),
        ("score", {"score_threshold": "2"}),
    ],
)
def test_other_attributes(case: str, changes: dict[str, str], tmp_path: Path) -> None:
    """A case with other attributes: ONNX Runtime gives what the operation's own kernel gives."""
    ort = pytest.importorskip("onnxruntime")
    folder = OPCONF / "opset8_MulticlassNms" / case
    if not folder.is_dir():
        pytest.skip("the conformance cases (../shared/opconf) are not here")
    text = (folder / "model.xml").read_text(encoding="utf-8")
    for name, value in changes.items():
        text = re.sub(rf'{name}="[^"]*"', f'{name}="{value}"', text)
    (tmp_path / "model.xml").write_text(text, encoding="utf-8")
    weights = folder / "model.bin"
    (tmp_path / "model.bin").write_bytes(weights.read_bytes() if weights.exists() else b"")
    with np.load(folder / "data.npz") as data:
        inputs = [data["in0"], data["in1"]]
    model = ir_reader.read(tmp_path / "model.xml")
    expected = list(Session(model).run(inputs).values())
    converted, _ = pipelines.to_onnx(model, opset=17)
    proto = onnx_writer.to_proto_model(converted)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_inputs()]
    found = session.run(None, dict(zip(names, inputs, strict=True)))
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-5)
