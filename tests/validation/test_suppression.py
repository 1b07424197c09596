"""Findings that a model suppresses: reported separately, without failing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from click.testing import Result

from irloop.validation.engine import validate
from tests.malformed.cases import edited
from tests.malformed.ir_bases import LOOP, LOOP_WEIGHTS
from tests.malformed.onnx_bases import loop_onnx

Command = Callable[..., Result]
MULTIPLY = '          <layer id="4" name="scaled" type="Multiply" version="opset1">'
WRONG = ('<port id="2" precision="FP32"><dim>1</dim>', '<port id="2" precision="FP32"><dim>8</dim>')


def written(folder: Path, *edits: tuple[str, str]) -> Path:
    """A Loop whose body layer "scaled" declares a wrong dimension (IRL401), with text edits."""
    path = folder / "model.xml"
    path.write_text(edited(LOOP, WRONG, *edits), encoding="utf-8")
    path.with_suffix(".bin").write_bytes(LOOP_WEIGHTS)
    return path


def found(path: Path) -> tuple[list[str], list[str]]:
    report = validate(path)
    return [item.code for item in report], [item.code for item in report.suppressed]


def test_without_a_comment(tmp_path: Path) -> None:
    assert found(written(tmp_path)) == (["IRL401"], [])


@pytest.mark.parametrize(
    "comment",
    [
        "<!-- irloop: ignore IRL401 -->",
        "<!--irloop:ignore IRL401-->",
        "<!-- irloop: ignore IRL5, IRL401 -->",
        "<!-- irloop: ignore irl4 -->",
    ],
)
@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_a_comment_applies_to_the_next_layer(comment: str, between: str, tmp_path: Path) -> None:
    path = written(tmp_path, (MULTIPLY, f"{comment}{between}{MULTIPLY}"))
    assert found(path) == ([], ["IRL401"])


def test_a_comment_on_the_line_itself(tmp_path: Path) -> None:
    path = written(tmp_path, (WRONG[1], f"<!-- irloop: ignore IRL401 -->{WRONG[1]}"))
    assert found(path) == ([], ["IRL401"])


def test_a_comment_on_a_layer_applies_to_its_bodies(tmp_path: Path) -> None:
    loop = '    <layer id="4" name="loop"'
    path = written(tmp_path, (loop, f"<!-- irloop: ignore IRL401 -->\n{loop}"))
    assert found(path) == ([], ["IRL401"])


def test_a_comment_does_not_apply_to_other_layers_or_codes(tmp_path: Path) -> None:
    other = '          <layer id="5" name="next"'
    path = written(tmp_path, (other, f"<!-- irloop: ignore IRL401 -->\n{other}"))
    assert found(path) == (["IRL401"], [])
    path = written(tmp_path, (MULTIPLY, f"<!-- irloop: ignore IRL402 -->{MULTIPLY}"))
    assert found(path) == (["IRL401"], [])


def test_a_comment_for_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        ("  <edges>\n    <edge", "<!-- irloop: ignore-file IRL4 -->\n  <edges>\n    <edge"),
    )
    assert found(path) == ([], ["IRL401"])


def test_a_comment_in_a_utf16_file_suppresses_a_finding(tmp_path: Path) -> None:
    path = written(tmp_path, (MULTIPLY, f"<!-- irloop: ignore IRL401 -->\n{MULTIPLY}"))
    path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))
    assert found(path) == ([], ["IRL401"])


def unsorted(folder: Path, change: Callable[[onnx.ModelProto], None]) -> Path:
    """A Loop that never runs (ONX305), after a change."""
    model = loop_onnx()
    next(item for item in model.graph.initializer if item.name == "trips").raw_data = bytes(8)
    model.ir_version = 10
    change(model)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def on_the_node(model: onnx.ModelProto) -> None:
    model.graph.node[0].metadata_props.add(key="irloop.ignore", value="ONX305")


def on_the_model(model: onnx.ModelProto) -> None:
    model.metadata_props.add(key="irloop.ignore", value="ONX2, ONX3")


def in_the_text(model: onnx.ModelProto) -> None:
    model.graph.node[0].doc_string = "Off on purpose. irloop: ignore ONX305"


def on_another_node(model: onnx.ModelProto) -> None:
    body = next(item.g for item in model.graph.node[0].attribute if item.name == "body")
    body.node[0].metadata_props.add(key="irloop.ignore", value="ONX305")


@pytest.mark.parametrize("change", [on_the_node, on_the_model, in_the_text])
def test_an_onnx_model_or_node_suppresses_a_finding(
    change: Callable[[onnx.ModelProto], None], tmp_path: Path
) -> None:
    assert found(unsorted(tmp_path, change)) == ([], ["ONX305"])


def test_another_onnx_node_suppresses_nothing(tmp_path: Path) -> None:
    assert found(unsorted(tmp_path, on_another_node)) == (["ONX305"], [])


def test_reports_count_what_is_suppressed(irloop_command: Command, tmp_path: Path) -> None:
    path = str(written(tmp_path, (MULTIPLY, f"<!-- irloop: ignore IRL401 -->{MULTIPLY}")))
    result = irloop_command("validate", path, "--fail-on", "warning")
    counted = "no findings in 1 file, 1 suppressed by the model"
    assert (result.exit_code, result.stdout) == (0, f"{counted}\n")
    report = json.loads(irloop_command("validate", path, "--format", "json").stdout)
    (left_out,) = report["suppressed"]
    assert (left_out["code"], left_out["suppressed_by"]) == ("IRL401", "the model")
    assert report["findings"] == []
    log = json.loads(irloop_command("validate", path, "--format", "sarif").stdout)
    (item,) = log["runs"][0]["results"]
    (suppression,) = item["suppressions"]
    assert (item["ruleId"], suppression["kind"]) == ("IRL401", "inSource")
    assert suppression["justification"] == "suppressed by the model"
    for style in ("junit", "gitlab", "rdjson", "summary", "github", "azure"):
        text = irloop_command("validate", path, "--format", style).stdout
        assert "1 suppressed by the model" in text, style
    result = irloop_command("validate", path, "--fail-on", "warning", "--no-ignore")
    assert (result.exit_code, "suppressed" in result.stdout) == (1, False)
