"""Rules on bodies agree with ONNX Runtime, which rejects the bad fixtures and loads the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.rule_fixtures import RULES

ort: Any = pytest.importorskip("onnxruntime")

#: Rules whose fixtures ONNX Runtime judges in the same way.
CODES = (110, 209, 210, 212, 215, 314)
#: Fixtures with faults that ONNX Runtime notices when it loads a model.
FIXTURES = [
    *sorted(path for code in CODES for path in (RULES / f"onx{code}").iterdir()),
    *sorted((RULES / "onx201").glob("*scan*")),
    RULES / "onx102" / "bad_function.onnx.txt",
    RULES / "onx104" / "bad_state_left_out.onnx.txt",
    RULES / "onx104" / "bad_output_left_out.onnx.txt",
    RULES / "onx104" / "good_output_left_out.onnx.txt",
    RULES / "onx106" / "bad_initializer_of_body.onnx.txt",
    RULES / "onx106" / "good_initializer_of_body.onnx.txt",
    RULES / "onx108" / "bad_nothing_imported.onnx.txt",
    RULES / "onx105" / "bad_exclusive.onnx.txt",
    RULES / "onx202" / "bad_in_function.onnx.txt",
    RULES / "onx203" / "bad_node_output.onnx.txt",
    RULES / "onx207" / "bad_sequence.onnx.txt",
    RULES / "onx207" / "bad_loop_with_captured_constant.onnx.txt",
    RULES / "onx208" / "bad_branch.onnx.txt",
    RULES / "onx302" / "bad_rank_one.onnx.txt",
    RULES / "onx401" / "good_declared_otherwise.onnx.txt",
]
#: This is only a warning, because ONNX Runtime accepts the model.
WARNINGS = {"onx302"}


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_onnx_runtime_agrees(path: Path) -> None:
    model = onnx.parser.parse_model(
        "\n".join(
            line
            for line in path.read_text(encoding="utf-8").splitlines()
            if not line.startswith("#")
        )
    )
    options = ort.SessionOptions()
    options.log_severity_level = 4

    def load() -> None:
        ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])

    if path.name.startswith("good") or path.parent.name in WARNINGS:
        load()
        return
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        load()
