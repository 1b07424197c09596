"""A part of the benchmark `gate` that is small enough for each run of the tests.

Some of the backend tests of onnx, and mutants of fixtures with fixed numbers, are judged by
`validate`, ONNX Runtime and onnx.checker.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.rule_fixtures import fixtures

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("onnxruntime")
gate: Any = pytest.importorskip("benchmarks.gate")

#: Of the backend tests every so many.
STEP = 24
MUTANTS = 200


def models(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of models."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the numbers of the tests overflow
        cases = collect_testcases(None)[::STEP]
    for case in cases:
        if case.model is not None:
            yield case.name, case.model.SerializeToString()
    sys.path.insert(0, str(ROOT / "fuzz"))
    sound = [item for item in fixtures(".txt") if not item.is_bad]
    seeds = [item.model(folder).read_bytes() for item in sound]
    mutator = import_module("mutations").Mutator("onnx", seeds, 3)
    for number in range(MUTANTS):
        yield f"mutant {number}", mutator.make(number)


def test_validate_and_the_engines_judge_alike(tmp_path: Path) -> None:
    engines = gate.Verdicts(seconds=30)
    path, rows = tmp_path / "m.onnx", []
    for name, content in models(tmp_path):
        path.write_bytes(content)
        rows.append(gate.judged("onnx", name, path, engines))
    engines.close()
    refused, accepted, _ = gate.disagreements("onnx", rows)
    valid = sum(not row.codes for row in rows)
    assert valid > 100
    assert len(rows) - valid > 100
    # One of a few hundred is more than the goal of the benchmark, which takes thousands.
    assert sum(map(len, refused.values())) <= max(1, gate.GOAL * valid), refused
    assert sum(map(len, accepted.values())) <= max(1, gate.GOAL * len(rows)), accepted
