"""With --format, an error is a document of that format, too, and the exit status is the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest
from click.testing import Result
from lxml import etree

import irloop as library
from irloop.errors import InternalError
from irloop.formats.onnx import outline, source

Irloop = Callable[..., Result]
SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "report-1.json").read_text())

STYLES = ("json", "sarif", "junit", "github", "gitlab", "azure", "rdjson", "summary")

#: The commands that read a model and have --format; BAD is the model.
COMMANDS: dict[str, tuple[str, ...]] = {
    "validate": ("validate", "BAD"),
    "check, first": ("check", "BAD", "good.onnx"),
    "check, second": ("check", "good.onnx", "BAD"),
    "convert": ("convert", "BAD", "-o", "out.xml"),
    "inspect": ("inspect", "BAD"),
    "diff": ("diff", "good.onnx", "BAD"),
    "reduce": ("reduce", "good.onnx", "BAD", "-o", "small"),
    "transform": ("transform", "BAD", "-o", "out.onnx", "--pass", "constant_folding"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    text = '<ir_version: 8, opset_import: ["" : 17]> m (float[2] x) => (float[2] y) { y = Abs (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "good.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"x")
    (tmp_path / "folder.onnx").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arguments(name: str, model: str) -> list[str]:
    return [model if item == "BAD" else item for item in COMMANDS[name]]


@pytest.mark.parametrize("model", ["bad.onnx", "missing.onnx"])
@pytest.mark.parametrize("name", COMMANDS)
def test_an_error_is_a_json_report(irloop: Irloop, folder: Path, name: str, model: str) -> None:
    given = arguments(name, model)
    result = irloop(*given, "--format", "json")
    assert result.exit_code == irloop(*given).exit_code
    assert result.exit_code == (1 if model == "bad.onnx" else 2)
    report = json.loads(result.stdout)
    jsonschema.validate(report, SCHEMA)
    assert report["command"] == given[0]
    (finding,) = report["findings"]
    assert finding["code"] == ("ONX101" if model == "bad.onnx" else "USE001")
    assert model in json.dumps(finding)


@pytest.mark.parametrize("model", ["bad.onnx", "missing.onnx", "folder.onnx"])
@pytest.mark.parametrize("style", STYLES)
def test_each_format_of_validation(irloop: Irloop, folder: Path, style: str, model: str) -> None:
    result = irloop("validate", model, "--format", style)
    assert result.exit_code == irloop("validate", model).exit_code
    code = "ONX101" if model == "bad.onnx" else "USE001"
    if style in ("json", "sarif", "gitlab", "rdjson"):
        assert code in json.dumps(json.loads(result.stdout))
    elif style == "junit":
        assert etree.fromstring(result.stdout.encode()).get("failures") == "1"
    else:
        assert code in result.stdout


def test_a_file_that_cannot_be_opened_is_in_the_report_of_the_others(
    irloop: Irloop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any, **_: Any) -> Any:
        if str(path).endswith("good.onnx"):
            raise PermissionError(13, "Permission denied")
        return opened(path)

    from irloop_cli import validate

    opened = validate.open_regular
    monkeypatch.setattr(validate, "open_regular", refuse)
    result = irloop("validate", "bad.onnx", "good.onnx", "--format", "json")
    assert result.exit_code == 2
    codes = {item["file"]: item["code"] for item in json.loads(result.stdout)["findings"]}
    assert codes == {"bad.onnx": "ONX101", "good.onnx": "USE001"}


def test_a_wrong_option_after_the_format(irloop: Irloop, folder: Path) -> None:
    result = irloop("check", "good.onnx", "good.onnx", "--seeds", "0", "--format", "json")
    assert result.exit_code == 2
    (finding,) = json.loads(result.stdout)["findings"]
    assert "--seeds" in finding["message"]


def test_sweep_report_of_missing_results(irloop: Irloop, folder: Path) -> None:
    result = irloop("sweep", "report", "nowhere", "--format", "json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["findings"]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("style", ["text", "json"])
def test_internal_errors_give_status_2(
    irloop: Irloop, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, style: str
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise IndexError("list index out of range")

    monkeypatch.setattr(source, "parse", fail)
    result = irloop(*arguments(name, "good.onnx"), "--format", style)
    assert result.exit_code == 2, result.output
    if style == "json":
        (finding,) = json.loads(result.stdout)["findings"]
        assert finding["code"] == InternalError.code
    else:
        assert "internal error" in result.output


def test_an_internal_error_of_validation_is_a_finding_of_status_2(
    folder: Path, irloop: Irloop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise IndexError("list index out of range")

    monkeypatch.setattr(outline, "_graph", fail)
    with pytest.raises(library.InternalError):
        library.validate("good.onnx")
    result = irloop("validate", "good.onnx", "bad.onnx", "--no-isolate", "--jobs", 1)
    assert result.exit_code == 2
    assert "BUG001" in result.stdout
    assert "ONX101" in result.stdout
