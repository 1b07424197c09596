"""The executor runs a suite of operations; outputs are compared with those of OpenVINO."""

from __future__ import annotations

import pytest

from benchmarks.cases import OperationCase, operation_cases
from irloop.execution.session import Session
from tests.archives import opconf_cases

CASES = list(operation_cases(opconf_cases()))

#: Cases for which no stored output can be the reference, with the reason.
OPEN = {
    "opset1_Divide/i32_pythondiv_true": (
        "recorded from OpenVINO's core, which the CPU plugins contradict (OVN116)"
    ),
    "opset4_Proposal/min_size": "all its boxes score 0, and OpenVINO promises no order of equals",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded_outputs(case: OperationCase) -> None:
    if case.name in OPEN:
        pytest.skip(OPEN[case.name])
    session = Session(case.read())
    for number, (given, expected) in enumerate(case.steps()):
        found = list(session.run(given).values())
        reason = case.difference(expected, found)
        assert not reason, f"inference {number}: {reason}"
