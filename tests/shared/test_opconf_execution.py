"""The executor over an operation suite, against the outputs of OpenVINO."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cases import OperationCase, operation_cases
from irloop.errors import UnsupportedError
from irloop.execution.session import Session

ROOT = Path(__file__).resolve().parents[3] / "shared" / "opconf" / "cases"
CASES = list(operation_cases(ROOT))

#: What the specification leaves open, and no stored output can settle.
OPEN = {
    "opset4_Proposal/min_size": "all its boxes score 0, and OpenVINO promises no order of equals",
}
#: What the executor refuses by name; a kernel that disappears is a failure, not a skip.
REFUSED = ("opset15_StringTensorPack/", "opset15_StringTensorUnpack/")


@pytest.mark.skipif(not CASES, reason="../shared/opconf/cases is not there")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded_outputs(case: OperationCase) -> None:
    if case.name in OPEN:
        pytest.skip(OPEN[case.name])
    if case.name.startswith(REFUSED):
        with pytest.raises(UnsupportedError):
            Session(case.read())
        return
    session = Session(case.read())
    for number, (given, expected) in enumerate(case.steps()):
        found = list(session.run(given).values())
        reason = case.difference(expected, found)
        assert not reason, f"inference {number}: {reason}"
