"""Faults that the suite finds in real engines, and how crashes and bad engines are reported."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from lxml import etree

import irloop

ORT = pytest.mark.skipif(
    not version("onnxruntime").startswith(("1.31", "1.32")),
    reason="faults measured in ONNX Runtime 1.31 and 1.32",
)
OPENVINO = pytest.mark.skipif(
    not version("openvino").startswith("2026.4"), reason="faults measured in OpenVINO 2026.4"
)


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irloop", *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )


def verdicts(engine: str, *names: str) -> dict[str, str]:
    found = irloop.conform(engine, cases=names, jobs=2)
    return {item.case.name: item.verdict.value for item in found.outcomes}


@ORT
def test_onnxruntime_returns_garbage_for_bodies_that_return_their_inputs() -> None:
    found = verdicts(
        "onnxruntime",
        "scan_body_returns_its_element",
        "scan_body_passes_a_state_on",
        "loop_body_returns_its_iteration_number",
        "scan_running_sum",
    )
    assert found == {
        "scan_body_returns_its_element": "wrong",
        "scan_body_passes_a_state_on": "wrong",
        "loop_body_returns_its_iteration_number": "wrong",
        "scan_running_sum": "right",
    }


@OPENVINO
def test_openvino_keeps_joined_lengths_and_computes_softmax_in_place() -> None:
    found = verdicts(
        "openvino",
        "openvino_loop_that_stopped_early_runs_zero_times",
        "openvino_loop_softmax_of_an_invariant",
        "openvino_loop_for",
    )
    assert found == {
        "openvino_loop_that_stopped_early_runs_zero_times": "wrong",
        "openvino_loop_softmax_of_an_invariant": "wrong",
        "openvino_loop_for": "right",
    }


def test_the_executor_as_an_engine() -> None:
    found = irloop.conform("irloop", features=["If-8"], programs=1, seed=3)
    assert [item.verdict.value for item in found.outcomes] == ["right"] * 3
    assert found.title.startswith("irloop ")


@pytest.fixture
def own_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_engines.py").write_text(
        "import os, time\n"
        "import numpy as np\n"
        "def zeros(path):\n"
        "    return lambda values: [np.zeros(2, np.float32)]\n"
        "def crash(path):\n"
        "    return lambda values: os.abort()\n"
        "def hang(path):\n"
        "    return lambda values: time.sleep(60)\n"
        "def refuse(path):\n"
        "    raise ValueError('no <b>loops</b> here')\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])


@pytest.mark.usefixtures("own_engines")
@pytest.mark.parametrize(
    ("function", "verdict"),
    [("zeros", "wrong"), ("crash", "crashed"), ("hang", "hung"), ("refuse", "refused")],
)
def test_a_custom_engine(function: str, verdict: str) -> None:
    found = irloop.conform(f"own_engines:{function}", cases=["if_chooses"], seconds=5)
    assert [item.verdict.value for item in found.faults] == [verdict]
    assert found.rows[-1].total == 1


def test_unknown_engines_and_cases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(irloop.UsageError, match="no engine"):
        irloop.conform("tensorrt")
    with pytest.raises(irloop.UsageError, match="no case is called 'nonsense'"):
        irloop.conform("irloop", cases=["nonsense"])
    with pytest.raises(irloop.UsageError, match="no case fits"):
        irloop.conform("irloop", features=["nonsense"])


def test_the_command_writes_reports(tmp_path: Path) -> None:
    page, data, suite, text = (
        tmp_path / f"r{suffix}" for suffix in (".html", ".json", ".xml", ".md")
    )
    arguments = [part for file in (page, data, suite, text) for part in ("-o", str(file))]
    found = run_cli("conformance", "irloop", "--case", "if_chooses", *arguments)
    assert found.returncode == 0, found.stderr
    assert "1 of 1 cases are right" in found.stdout
    assert json.loads(data.read_text())["cases"][0]["verdict"] == "right"
    assert etree.parse(suite).getroot().attrib["tests"] == "1"
    assert "<script" not in page.read_text()
    assert "| If | 1 |" in text.read_text()


def test_the_command_fails_if_a_case_fails(tmp_path: Path) -> None:
    found = run_cli("conformance", "irloop", "-o", str(tmp_path / "report.pdf"))
    assert found.returncode == 2
    assert "reports are written as" in found.stderr
    found = run_cli("conformance", "nonsense")
    assert found.returncode == 2
