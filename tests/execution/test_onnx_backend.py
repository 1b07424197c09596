"""Backend tests of the onnx package: control flow, sequences, recurrence, expanded functions."""

from __future__ import annotations

import warnings

import pytest
from onnx.backend.test.case.test_case import TestCase as BackendCase
from onnx.backend.test.loader import load_model_tests

from benchmarks.onnx_backend import outcome

CONTROL_FLOW = ("loop", "scan", "if", "sequence", "split_to", "range")
RECURRENT = ("lstm", "gru", "simple_rnn", "rnn")
WRITTEN_OUT = ("flexattention",)
WANTED = (*CONTROL_FLOW, *RECURRENT, *WRITTEN_OUT, "strnorm")


def _cases() -> list[BackendCase]:
    with warnings.catch_warnings():
        # The generators of the package's expected values overflow on purpose.
        warnings.simplefilter("ignore")
        found = [case for kind in ("node", "simple") for case in load_model_tests(kind=kind)]
    return [case for case in found if case.name.removeprefix("test_").startswith(WANTED)]


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.name)
def test_backend(case: BackendCase) -> None:
    assert outcome(case) == ("equal", "")
