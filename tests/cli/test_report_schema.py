"""The published layout of JSON reports, against what the commands write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result

Irloop = Callable[..., Result]


@pytest.fixture
def schema() -> Mapping[str, Any]:
    text = files("irloop.schemas").joinpath("report-1.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(found)
    return found


@pytest.fixture
def broken(recurrent: Path, tmp_path: Path) -> Path:
    """The recurrent model with another activation."""
    path = tmp_path / "broken.xml"
    path.write_text(recurrent.read_text("utf-8").replace('"Tanh"', '"Sigmoid"'), "utf-8")
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    return path


def test_reports_have_the_published_layout(
    irloop: Irloop, schema: Mapping[str, Any], recurrent: Path, broken: Path, tmp_path: Path
) -> None:
    nothing = tmp_path / "empty.xml"
    nothing.write_text("", encoding="utf-8")
    small, target = tmp_path / "small", tmp_path / "new.onnx"
    runs = [
        ("validate", recurrent, nothing),
        ("convert", recurrent, "-o", target, "--check"),
        ("check", recurrent, broken),
        ("diff", recurrent, broken),
        ("reduce", recurrent, broken, "-o", small),
        ("transform", recurrent, "-o", tmp_path / "new.xml", "--pass", "unroll", "--check"),
    ]
    keys = set()
    for run in runs:
        report = json.loads(irloop(*run, "--format", "json").stdout)
        jsonschema.validate(report, dict(schema))
        assert report["command"] == run[0]
        keys |= report.keys()
    assert keys == schema["properties"].keys()
