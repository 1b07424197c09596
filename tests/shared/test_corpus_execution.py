"""The executor runs a corpus of loop models of both dialects; outputs are compared with recorded
ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cases import CorpusCase, corpus_cases, differences
from irloop.errors import ExecutionError, ReadError, UnsupportedError
from irloop.execution.session import Session

ROOT = Path(__file__).resolve().parents[3] / "shared" / "corpus"
CASES = list(corpus_cases(ROOT))

#: Models whose outputs cannot equal those of the engine, with the reason.
_SHAPE = "zero iterations: engines do not agree on the unknown dimensions of an empty output"
_DROPPED = "OpenVINO dropped an attribute when it made this IR: it means something else"
KNOWN = {
    "mo2021/mo_loop_2d_add_no_identity_termination_cond/onnx": _SHAPE,
    "mo2021/mo_loop_2d_add_no_identity_termination_cond/openvino": _SHAPE,
    "mo2021/mo_loop_2d_add_trip_count_max_int/onnx": _SHAPE,
    "mo2021/mo_loop_2d_add_trip_count_max_int/openvino": _SHAPE,
    "ov-frontend/loop_2d_add_no_identity_termination_cond/onnx": _SHAPE,
    "ov-frontend/loop_2d_add_no_identity_termination_cond/openvino": _SHAPE,
    "ov-frontend/loop_2d_add_trip_count_max_int/onnx": _SHAPE,
    "ov-frontend/loop_2d_add_trip_count_max_int/openvino": _SHAPE,
    "ov-frontend/loop_concat_values/onnx": _SHAPE,
    "ov-frontend/loop_concat_values/openvino": _SHAPE,
    "onnx-node/test_loop11/openvino": _SHAPE,
    "real/ort_nuphar_onnx_test_loop11_inconvertible_loop/openvino": _SHAPE,
    "ov-frontend/loop_2d_add_no_identity_termination_cond_false/onnx": (
        "OpenVINO's frontend gives the initial state for an output that gathers nothing"
    ),
    "onnx-node/test_gru_batchwise/openvino": _DROPPED,
    "onnx-node/test_lstm_batchwise/openvino": _DROPPED,
    "onnx-node/test_lstm_with_peepholes/openvino": _DROPPED,
    "onnx-node/test_simple_rnn_batchwise/openvino": _DROPPED,
    "ov-frontend/lstm_bdir_short_input_seq/openvino": _DROPPED,
    "ov-frontend/lstm_fwd_with_clip_peepholes/openvino": _DROPPED,
    "ov-frontend/sal_if_rank_mismatch_repair/openvino": (
        "the recorded scalar is ONNX Runtime's; OpenVINO makes a list of one element from it"
    ),
    "mo2021/script_for_trip_input/openvino": "data of the original, its outputs in another order",
    "mo2021/torch_gru_bi_dyn_op11/openvino": "a data set whose shape differs from the declared one",
    "mo2021/torch_lstm_dyn/openvino": "a data set whose shape differs from the declared one",
    "real/omz_text-recognition-0012_int8/openvino": (
        "made-up weights put signals of 0.05 on quantisation steps of 0.03: a difference of 1e-5 "
        "before the first FakeQuantize becomes a whole step"
    ),
    "ov-ir/if_body_without_parameters/openvino": "the condition has no element; no engine runs it",
    "real/ort_cpu_if/onnx": "the branch squeezes an axis of 2, as ONNX Runtime says, too",
    "real/ort_cpu_if/openvino": "the branch squeezes an axis of 2, as ONNX Runtime says, too",
}


def _equal(case: CorpusCase) -> None:
    model = case.read()
    session = Session(model)
    reasons = []
    count = 0
    for number, given, expected in case.sets():
        found = case.run(session, model, given)
        wanted = case.as_declared(expected, found)
        reason = differences(wanted, found, factor=case.factor)
        count += 1
        if reason:
            reasons.append(f"set {number}: {reason}")
    if not count:
        pytest.skip("no engine gave outputs for this case")
    assert not reasons, "\n".join(reasons)


@pytest.mark.skipif(not CASES, reason="../shared/corpus is not there")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded_outputs(case: CorpusCase) -> None:
    if case.name in KNOWN:
        pytest.skip(KNOWN[case.name])
    negative = "negative" in case.folder.parent.name or "unreadable" in case.folder.parent.name
    try:
        _equal(case)
    except (ReadError, UnsupportedError, ExecutionError):
        # Only models that an engine also refuses may be refused; other exceptions fail the test.
        if not negative:
            raise
