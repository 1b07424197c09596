"""`irloop.iterations` steps through loops; the expected values are calculated by hand."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop

X = np.array([1, 2], np.float32)


def nested() -> irloop.Model:
    """The loop `outer` has 3 iterations; in each, the loop `inner` executes total = total + x
    twice.
    """
    b = irloop.Builder("openvino", opset=8)
    x = b.input("x", "f32", [2])
    with b.loop(3, name="outer") as outer:
        total = outer.state(x, name="total")
        with outer.loop(2, name="inner") as inner:
            part = inner.state(total, name="part")
            inner.next(part, inner.op("Add", part, x, name="add"))
            found = inner.last(part)
        less = outer.op("Less", outer.iteration, outer.constant(1), name="less")
        with outer.branch(less, name="choice") as branch:
            negative = branch.then.op("Negative", found, name="negative")
            chosen = branch.output(negative, found)
        outer.next(total, found)
        every = outer.joined(chosen)
        last = outer.last(total)
    b.output("last", last)
    b.output("every", every)
    return b.model()


def test_the_iterations_of_one_loop_with_its_values() -> None:
    steps = list(irloop.iterations(nested(), {"x": X}, "outer"))
    assert [step.index for step in steps] == [0, 1, 2]
    assert {step.loop for step in steps} == {"outer"}
    assert {step.outer for step in steps} == {()}
    for number, step in enumerate(steps):
        np.testing.assert_array_equal(step.inputs["total"], X * (1 + 2 * number))
        assert step.inputs["iteration"] == number
        np.testing.assert_array_equal(step.values["inner"], X * (3 + 2 * number))
        assert bool(step.values["less"]) == (number < 1)
        assert ("choice/then/negative" in step.values) == (number < 1)
        assert "add" not in " ".join(step.values)
        after = [np.asarray(value).tolist() for value in step.results.values()]
        assert (X * (3 + 2 * number)).tolist() in after


def test_the_iterations_of_an_inner_loop_know_those_around_them() -> None:
    steps = list(irloop.iterations(nested(), [X], "outer/body/inner"))
    places = [(*step.outer, step.index) for step in steps]
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    for number, step in enumerate(steps):
        np.testing.assert_array_equal(step.inputs["part"], X * (1 + number))
        np.testing.assert_array_equal(step.values["add"], X * (2 + number))


def test_iterations_of_inner_loops_come_before_those_of_outer_loops() -> None:
    found = [step.loop for step in irloop.iterations(nested(), [X])]
    assert found == ["outer/body/inner", "outer/body/inner", "outer"] * 3


@pytest.mark.parametrize("dialect", ["onnx", "openvino"])
def test_stepping_may_end_before_a_long_loop_does(dialect: Any) -> None:
    b = irloop.Builder(dialect)
    with b.loop(None) as body:
        state = body.state(np.float32(1), name="state")
        body.next(state, body.op("Add", state, np.float32(1)))
        last = body.last(state)
    b.output("y", last)
    before = threading.active_count()
    steps = irloop.iterations(b.model(), [])
    for step in steps:
        assert float(step.inputs["state"]) == step.index + 1
        if step.index == 20:
            break
    steps.close()
    assert threading.active_count() == before


def test_a_loop_that_does_not_exist() -> None:
    with pytest.raises(irloop.UsageError, match=r"no loop 'other'.*\n?.*outer, outer/body/inner"):
        irloop.iterations(nested(), [X], "other")


def test_the_iterator_raises_what_a_run_raises() -> None:
    with pytest.raises(irloop.UsageError, match="number of inputs"):
        list(irloop.iterations(nested(), []))
    limits = irloop.Limits(max_iterations=2)
    steps = irloop.iterations(nested(), [X], "outer", limits=limits)
    assert next(steps).index == 0
    assert next(steps).index == 1
    with pytest.raises(irloop.LimitError, match="2 iterations"):
        next(steps)


def test_iterations_accept_the_path_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    irloop.save_model(nested(), path)
    assert len(list(irloop.iterations(path, {"x": X}, "outer"))) == 3
