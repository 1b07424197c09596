"""Whole models with loops, of both dialects: outputs are compared with recorded ones."""

from __future__ import annotations

import pytest

from benchmarks.cases import CorpusCase, corpus_cases, differences
from irloop.execution.session import Session
from tests.archives import unpacked

CASES = list(corpus_cases(unpacked("loops")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded_outputs(case: CorpusCase) -> None:
    model = case.read()
    session = Session(model)
    recorded = list(case.sets())
    assert recorded
    for number, inputs, expected in recorded:
        outputs = case.run(session, model, inputs)
        wanted = case.as_declared(expected, outputs)
        assert differences(wanted, outputs, factor=case.factor) == "", f"set {number}"
