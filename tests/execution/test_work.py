"""The budget is charged for iterations and for the values that a run computes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import onnx
import pytest

import irloop
from irloop.budget import Budget
from irloop.formats.onnx import reader
from irloop.graph.model import Model

#: A loop that counts to its input.
COUNTING = """
    <ir_version: 8, opset_import: ["" : 16]>
    m (float limit) => (float last) {
       zero = Constant <value = float {0}> ()
       last = Loop (, , zero) <body = step (int64 i, bool c, float s) => (bool on, float n) {
          one = Constant <value = float {1}> ()
          n = Add (s, one)
          on = Less (n, limit)
       }>
    }
"""

#: A loop whose state doubles each time.
DOUBLING = """
    <ir_version: 8, opset_import: ["" : 16]>
    m (int64 trips, float[1] x) => (float[n] y) {
       y = Loop (trips, , x) <body = step (int64 i, bool c, float[a] s) => (bool on, float[b] n) {
          on = Identity (c)
          n = Concat <axis = 0> (s, s)
       }>
    }
"""


def model(text: str) -> Model:
    return reader.from_proto(onnx.parser.parse_model(text))


def counted(limit: float, steps: int) -> float:
    with Budget(operations=steps).entered():
        return float(irloop.run(model(COUNTING), [np.float32(limit)])["last"])


def test_a_loop_whose_condition_stays_true_ends_at_the_limit_of_steps() -> None:
    assert counted(1000, 10_000) == 1000
    with pytest.raises(irloop.LimitError, match="more steps than allowed") as refused:
        counted(np.inf, 10_000)
    assert not refused.value.by_clock


def test_growing_values_are_charged() -> None:
    def run(trips: int) -> int:
        with Budget(operations=5_000).entered():
            made = irloop.run(model(DOUBLING), [np.int64(trips), np.ones(1, np.float32)])
            return int(made["y"].size)

    assert run(16) == 2**16
    with pytest.raises(irloop.LimitError, match="more steps than allowed"):
        run(27)


def test_strings_that_would_take_too_many_steps_are_not_made() -> None:
    """A million strings take a second and 8 MB; the refusal comes before they are made."""
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        m (string[1] x, int64[1] size) => (string[n] y) { y = Expand (x, size) }
    """
    subject = model(text)

    def run(size: int) -> int:
        with Budget(memory=1 << 30, operations=10_000).entered():
            made = irloop.run(subject, [np.array(["a"], object), np.array([size])])
        return int(made["y"].size)

    assert run(100_000) == 100_000
    tracemalloc.start()
    with pytest.raises(irloop.LimitError, match="more steps than allowed"):
        run(1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000


def test_several_runs_share_the_steps_of_a_command() -> None:
    subject, found = model(COUNTING), []

    def repeat() -> None:
        for _ in range(20):
            found.append(float(irloop.run(subject, [np.float32(20_000)])["last"]))  # noqa: PERF401

    with (
        Budget(operations=100_000).entered(),
        pytest.raises(irloop.LimitError, match="more steps than allowed"),
    ):
        repeat()
    # A run takes more than a twentieth of the steps, but not all of them.
    assert 1 <= len(found) < 20
    assert set(found) == {20_000.0}


def test_a_run_may_take_only_its_share() -> None:
    with Budget(operations=1_000_000, operations_a_run=2_000).entered():
        with pytest.raises(irloop.LimitError, match="at most 2,000 steps"):
            irloop.run(model(COUNTING), [np.float32(100_000)])
        assert float(irloop.run(model(COUNTING), [np.float32(100)])["last"]) == 100
