"""The cases themselves are unique, accepted by onnx's checker, and right in the executor."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from irloop.conformance.catalogue import CASES
from irloop.conformance.conform import program_cases
from irloop.conformance.suite import arrays_of, judge, write_case
from irloop.engines.answer import Answer
from irloop.engines.catalogue import engine_of
from irloop.execution.session import Session
from irloop.faults.case import Case

PROGRAMS = [
    *program_cases(15, 1000, "onnx"),
    *program_cases(15, 2000, "openvino"),
]


def test_names_are_unique_and_features_are_together() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 100
    features = [case.feature for case in CASES]
    runs = [feature for at, feature in enumerate(features) if features[at - 1 : at] != [feature]]
    assert len(set(runs)) == len(runs)


def test_cases_quote_the_sentence_of_the_specification_that_they_test() -> None:
    for case in CASES:
        assert case.source.startswith(("ONNX ", "OpenVINO "))
        assert len(case.text) > 20
        assert case.runs


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if isinstance(case.model, str) and not case.may_be_refused],
    ids=lambda case: case.name,
)
def test_the_onnx_checker_accepts_the_cases(case: Case, tmp_path: Path) -> None:
    _, path = write_case(case, tmp_path)
    onnx.checker.check_model(str(path), full_check=True)


SUITE = [case for case in CASES if not (case.may_be_refused or case.on_demand)]


@pytest.mark.parametrize("case", [*SUITE, *PROGRAMS], ids=lambda case: f"{case.name}-{case.format}")
def test_the_executor_passes_every_case(case: Case, tmp_path: Path) -> None:
    model, _ = write_case(case, tmp_path)
    session = Session(model)
    for item in case.runs:
        outputs = session.run(arrays_of(item.inputs, model.graph.inputs))
        answer = Answer(engine_of("irloop"), list(outputs.values()))
        assert judge(answer, item, model.graph) == ""


def test_a_seed_determines_the_program() -> None:
    first, again = (next(program_cases(1, 7, "onnx")) for _ in range(2))
    assert first.model == again.model
    assert first.runs == again.runs
    assert next(program_cases(1, 8, "onnx")).model != first.model
