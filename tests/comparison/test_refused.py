"""Models that irloop's own executor refuses for their size are not given to an engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irloop.budget import Budget
from irloop.comparison.compare import compare
from irloop.formats.onnx import reader
from irloop.graph.model import Model

HEADER = '<ir_version: 8, opset_import: ["" : 16]>'

#: An engine that doubles its input, and writes a line to a file for each model and each run.
ENGINE = """
def make(path):
    def run(values):
        print("run", file=open({log!r}, "a"))
        return [2 * values[0]]

    print("load", file=open({log!r}, "a"))
    return run
"""


def model(text: str) -> Model:
    return reader.from_proto(onnx.parser.parse_model(HEADER + text))


def nested(depth: int, trips: int) -> str:
    """Loops inside each other, each with `trips` iterations; the innermost adds 1."""
    inner = "n = Add (s, one)"
    for level in range(depth):
        state = "s" if level < depth - 1 else "x"
        inner = f"""
        n = Loop (trips, , {state}) <body = b{level} (int64 i{level}, bool c{level}, float s)
           => (bool d{level}, float n) {{ d{level} = Identity (c{level}) {inner} }}>"""
    constants = f"trips = Constant <value_int = {trips}> () one = Constant <value_float = 1.0> ()"
    return f"m (float x) => (float y) {{ {constants} {inner} y = Identity (n) }}"


DOUBLE = "m (float[n] x) => (float[n] y) { y = Add (x, x) }"

HUGE = """
m (float[1] x) => (float[1] y) {
   sizes = Constant <value_ints = [16384, 16384]> ()
   big = Expand (x, sizes)
   sum = ReduceSum <keepdims = 0> (big)
   y = Mul (sum, x)
}
"""

ENDLESS = """
m (float x) => (float y) {
   y = Loop (, , x) <body = step (int64 i, bool c, float s) => (bool on, float n) {
      on = Constant <value = bool {1}> ()
      n = Tanh (s)
   }>
}
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which the engine ``noting:make`` appends its calls."""
    path = tmp_path / "log.txt"
    path.write_text("")
    (tmp_path / "noting.py").write_text(ENGINE.format(log=str(path)))
    monkeypatch.syspath_prepend(str(tmp_path))
    return path


@pytest.mark.parametrize(
    ("text", "reason"),
    [(nested(6, 60), "iterations"), (HUGE, "memory"), (ENDLESS, "iterations")],
    ids=["iterations", "memory", "endless"],
)
def test_no_engine_is_asked_for_a_model_that_is_refused(text: str, reason: str, log: Path) -> None:
    with Budget(memory=1 << 28, operations=1000).entered():
        found = compare(model(text), model(text), engines="numpy,noting:make")
    assert found.outcome == "inconclusive"
    assert "the first model did not run, and no engine tried it: " in found.problems[0]
    assert reason in found.problems[0]
    assert log.read_text() == ""


def test_no_engine_is_asked_for_a_second_model_that_is_refused(log: Path) -> None:
    first = "m (float x) => (float y) { y = Add (x, x) }"
    with Budget(memory=1 << 28, operations=1000).entered():
        found = compare(model(first), model(nested(6, 60)), engines="numpy,noting:make", seeds=(0,))
    assert found.outcome == "inconclusive"
    assert "the second model did not run: " in str(found)
    # The engine has loaded the first model only.
    assert log.read_text().split().count("load") == 1


def test_outputs_of_all_trials_together_have_a_limit(log: Path) -> None:
    # A trial has 2 elements of 4 bytes; 128 bytes hold eight copies of the outputs of two trials.
    inputs = [{"x": np.array(item, np.float32)} for item in ([0.0, 1.0], [1.0, 1.0], [2.0, 1.0])]
    with Budget(memory=128).entered():
        found = compare(model(DOUBLE), model(DOUBLE), inputs=inputs, engines="numpy,noting:make")
    assert found.outcome == "equal"
    assert [report.equal for report in found.trials] == [True, True]
    assert "the outputs take more memory than they may" in str(found)
    assert sorted(log.read_text().split()) == ["load"] * 2 + ["run"] * 4


def test_engines_run_what_is_not_refused(log: Path) -> None:
    found = compare(model(DOUBLE), model(DOUBLE), engines="numpy,noting:make", seeds=(0,))
    assert found.equal
    assert sorted(set(log.read_text().split())) == ["load", "run"]
