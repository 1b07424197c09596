"""Random loops compute the same in both formats, with any number of iterations.

Loops of every legal wiring are drawn, run, converted, run again, converted back and run once more.
Other tests compare the executor with engines and with results computed by hand; these tests check
that a conversion changes no result.
"""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings

from irloop.conversion.pipelines import to_onnx, to_openvino
from tests.drawn.loops import Plan, build, plans, values


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans())
def test_a_loop_is_the_same_in_onnx_and_back(plan: Plan) -> None:
    model, arrays = build(plan)
    before = values(model, arrays)
    onnx, _ = to_onnx(model)
    for got, want in zip(values(onnx, arrays), before, strict=True):
        np.testing.assert_array_equal(got, want)
    again, _ = to_openvino(onnx)
    for got, want in zip(values(again, arrays), before, strict=True):
        np.testing.assert_array_equal(got, want)
