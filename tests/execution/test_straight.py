"""Bodies as straight-line code: values, failures, long bodies; kernels without their wrappers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irloop.execution.failure import StepError
from irloop.execution.program import Step, sweep
from irloop.execution.straight import MOST_STEPS, straight
from irloop.graph.model import Node
from irloop.graph.op import UnknownOp
from irloop.kernels import activation, elementwise
from irloop.kernels.precision import bare, silence


def node(name: str = "n") -> Node:
    return Node(UnknownOp(name="Any", version="1"), name=name)


def test_only_the_values_that_are_kept_are_stored() -> None:
    pieces: list[Any] = [
        (lambda a, b: a + b, (2, 3), (4,), node()),
        (lambda a: (a, 10 * a, "dropped"), (4,), (5, 6), node()),
        (lambda a, b, c: a + b + c, (2, 5, 6), (7,), node()),
    ]
    slots: list[Any] = [None, None, 1, 2, None, None, None, None]
    straight(pieces, {6, 7})(slots)
    assert slots == [None, None, 1, 2, None, None, 30, 34]


def test_a_failure_names_the_node_of_its_step() -> None:
    nodes = [node(f"n{at}") for at in range(3)]

    def fail(value: Any) -> Any:
        raise ValueError("no such index")

    compute = straight(
        [
            (lambda a: a, (2,), (3,), nodes[0]),
            (fail, (3,), (4,), nodes[1]),
            (lambda a: a, (4,), (5,), nodes[2]),
        ],
        {5},
    )
    with pytest.raises(StepError, match="no such index") as caught:
        compute([None, None, 1, None, None, None])
    assert caught.value.node is nodes[1]


def test_a_node_that_returns_too_few_values_is_named() -> None:
    one = node("split")
    compute = straight([(lambda a: (a,), (2,), (3, 4), one)], {3, 4})
    with pytest.raises(StepError) as caught:
        compute([None, None, 1, None, None])
    assert caught.value.node is one


def test_hostile_names_do_not_become_code() -> None:
    hostile = node("x')\nraise SystemExit(9)  #")
    slots: list[Any] = [None, None, 4, None]
    straight([(lambda a: a + 1, (2,), (3,), hostile)], {3})(slots)
    assert slots[3] == 5


def test_a_body_longer_than_one_function() -> None:
    count = 2 * MOST_STEPS + 3
    steps = [Step(lambda a: a + 1, (2 + at,), (3 + at,), (), node()) for at in range(count)]
    slots: list[Any] = [None, None, 0, *[None] * count]
    sweep(steps, {2 + count})(slots)
    assert slots[2 + count] == count


@pytest.mark.parametrize(
    "kernel",
    [elementwise.exp, elementwise.tanh, elementwise.sqrt, activation.sigmoid, activation.softplus],
)
def test_kernels_without_wrappers_compute_the_same_numbers(kernel: Any) -> None:
    x = np.linspace(0.1, 3, 7, dtype=np.float32)
    half = x.astype(np.float16)
    whole = np.arange(1, 4)
    with silence():
        np.testing.assert_array_equal(bare(kernel, of_floats=True)(x), kernel(x))
        assert bare(kernel, of_floats=False)(half).dtype == np.float16
        np.testing.assert_array_equal(bare(kernel, of_floats=False)(half), kernel(half))
        if kernel in (elementwise.exp, elementwise.tanh, elementwise.sqrt):
            np.testing.assert_array_equal(bare(kernel, of_floats=False)(whole), kernel(whole))


def test_a_run_restores_the_buffers_of_numpy() -> None:
    before = np.getbufsize()
    with silence():
        assert np.getbufsize() != before
    assert np.getbufsize() == before
