"""Faults of OpenVINO that occur if each inference has its own infer request."""

from __future__ import annotations

import contextlib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.conformance.suite import arrays_of, write_case
from irloop.faults.catalogue import faults
from tests.conversion.both_engines import needs_engines


@needs_engines
@pytest.mark.parametrize("code", ["OVN124", "OVN142"])
def test_an_operation_reads_the_loop_output_of_an_earlier_inference(
    tmp_path: Path, code: str
) -> None:
    fault = faults()[code]
    if version("openvino") not in fault.measured:
        pytest.skip(f"measured in {fault.measured}")
    case = fault.smallest
    model, path = write_case(case, tmp_path)
    sets = [arrays_of(run.inputs, model.graph.inputs) for run in case.runs]
    copied = tmp_path / "copied.xml"
    there = irloop.convert(path)[0]
    irloop.save_model(irloop.convert(there)[0], copied)
    with contextlib.closing(Engines()) as engines:
        faulty = engines.run_all("openvino", path, sets, tmp_path)
        right = engines.run_all("openvino", copied, sets, tmp_path)
    wanted = [[np.array(item, np.float32) for item in run.outputs] for run in case.runs]
    for found, expected in zip(right, wanted, strict=True):
        for left, value in zip(found, expected, strict=True):
            np.testing.assert_array_equal(left, value)
    assert not all(
        np.array_equal(found[1], expected[1])
        for found, expected in zip(faulty, wanted, strict=True)
    )
