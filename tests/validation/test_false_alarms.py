"""What engines read and run is no error, and convert goes on with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import irloop
from irloop.diagnostics import Severity
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"


def test_a_parameter_that_goes_straight_into_a_result(tmp_path: Path) -> None:
    """OpenVINO writes such files itself (IRL117)."""
    path = FIXTURES / "irl117" / "bad_parameter_is_result.xml"
    (finding,) = irloop.validate(path)
    assert (finding.code, finding.severity) == ("IRL117", Severity.WARNING)
    made = tmp_path / "made.onnx"
    irloop.save_model(irloop.convert(path)[0], made)
    x = np.arange(2, dtype=np.float32).reshape(1, 2)
    with Process(engine_of("onnxruntime"), made) as process:
        answer = process.run([x], seconds=60)
        assert answer.outputs is not None, str(answer)
        np.testing.assert_array_equal(answer.outputs[0], x)


def test_two_results_of_one_named_tensor_stay_an_error() -> None:
    """Measured: OpenVINO 2026.4 reads them in no way."""
    report = irloop.validate(FIXTURES / "irl117" / "bad_two_results_of_a_named_tensor.xml")
    assert [(item.code, item.severity) for item in report] == [("IRL117", Severity.ERROR)]
