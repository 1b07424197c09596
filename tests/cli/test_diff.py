"""``irloop diff``: text, JSON, exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Irloop = Callable[..., Result]


@pytest.fixture
def newer(recurrent: Path, tmp_path: Path) -> Path:
    """The recurrent model with another activation."""
    path = tmp_path / "newer.xml"
    text = recurrent.read_text(encoding="utf-8")
    path.write_text(text.replace('type="Tanh"', 'type="Sigmoid"'), encoding="utf-8")
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    return path


def test_equal_models_have_no_differences(irloop: Irloop, recurrent: Path) -> None:
    result = irloop("diff", recurrent, recurrent)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "the same\n", "")


def test_a_difference_is_a_finding(irloop: Irloop, recurrent: Path, newer: Path) -> None:
    result = irloop("diff", recurrent, newer)
    assert result.exit_code == 1
    head, *lines = result.stdout.splitlines()
    assert head.startswith("different: ")
    assert lines == ["  changed  rnn/body/h_next: Tanh-1 -> Sigmoid-1"]


def test_json(irloop: Irloop, recurrent: Path, newer: Path) -> None:
    result = irloop("diff", recurrent, newer, "--format", "json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["command"], report["diff"]["same"]) == ("diff", False)
    assert [item["kind"] for item in report["diff"]["changes"]] == ["changed"]


def test_two_formats_are_wrong_usage(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    onnx = tmp_path / "m.onnx"
    assert irloop("convert", recurrent, "-o", onnx).exit_code == 0
    result = irloop("diff", recurrent, onnx)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "irloop check" in result.stderr
