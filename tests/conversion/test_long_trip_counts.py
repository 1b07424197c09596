"""Trip counts of more than 32 bits, of which OpenVINO reads only the low half (OVN171)."""

from __future__ import annotations

from dataclasses import replace

import irloop
from irloop.conformance.suite import Verdict, run_cases
from irloop.dialects.openvino.comparison import Select
from irloop.engines.catalogue import engine_of
from irloop.faults.catalogue import faults
from irloop.faults.repairing import repairs
from irloop.passes.manager import Manager
from tests.conversion.both_engines import needs_engines


def selects(model: irloop.Model) -> int:
    return sum(isinstance(node.op, Select) for node in model.graph.nodes)


@needs_engines
def test_counts_are_limited_behind_the_selection_of_an_export() -> None:
    """An IR that goes through ONNX selects the count by Less (n, 0) before it is limited."""
    fault = faults()["OVN171"]
    there, _ = irloop.convert(fault.smallest_model(), "onnx")
    back, _ = irloop.convert(there, "openvino")
    case = replace(fault.smallest, model=lambda: back)
    (outcome,) = run_cases(engine_of("openvino"), [case])
    assert outcome.verdict is Verdict.RIGHT, outcome.detail


def test_counts_are_limited_once() -> None:
    model = faults()["OVN171"].smallest_model()
    for _ in range(2):
        irloop.infer(model)
        Manager(repairs("openvino")).run_passes(model)
        assert selects(model) == 1
