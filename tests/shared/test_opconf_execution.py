"""The executor over an operation suite, against the outputs of OpenVINO."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cases import OperationCase, operation_cases
from irloop.errors import UnsupportedError
from irloop.execution.session import Session

ROOT = Path(__file__).resolve().parents[3] / "shared" / "opconf" / "cases"
CASES = list(operation_cases(ROOT))


@pytest.mark.skipif(not CASES, reason="../shared/opconf/cases is not there")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded_outputs(case: OperationCase) -> None:
    try:
        session = Session(case.read())
    except UnsupportedError as error:
        # Refused by name before anything runs; the coverage page says which these are.
        pytest.skip(error.message)
    for number, (given, expected) in enumerate(case.steps()):
        found = list(session.run(given).values())
        reason = case.difference(expected, found)
        assert not reason, f"inference {number}: {reason}"
