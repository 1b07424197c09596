"""Loops that cannot end are refused before they run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import irloop
from irloop.budget import Budget
from irloop.formats.onnx import reader
from irloop.graph.model import Model

#: Conditions that are always true: a constant, or the initial value passed on.
CONDITIONS = ["Constant <value = bool {1}> ()", "Identity (c)"]


def endless(condition: str, first: str) -> Model:
    text = f"""
    <ir_version: 8, opset_import: ["" : 16]>
    m (float x) => (float y) {{
       go = Constant <value = bool {{1}}> ()
       y = Loop (, {first}, x) <body = step (int64 i, bool c, float s) => (bool on, float n) {{
          on = {condition}
          n = Tanh (s)
       }}>
    }}
    """
    return reader.from_proto(onnx.parser.parse_model(text))


@pytest.mark.parametrize("first", ["", "go"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_loop_without_end_is_refused(condition: str, first: str) -> None:
    model = endless(condition, first)
    with (
        Budget(operations=1000).entered(),
        pytest.raises(irloop.LimitError, match="the loop never ends") as refused,
    ):
        irloop.run(model, [np.float32(1)])
    assert not refused.value.by_clock


def test_the_first_iterations_run_if_their_number_is_limited() -> None:
    seen: list[tuple[int, ...]] = []
    with (
        Budget(operations=1000).entered(),
        pytest.raises(irloop.LimitError, match="the limit of 3 iterations"),
    ):
        irloop.run(
            endless(CONDITIONS[0], "go"),
            [np.float32(1)],
            limits=irloop.Limits(max_iterations=3),
            trace=lambda event: seen.append(event.iterations),
        )
    assert {index[0] for index in seen if index} == {0, 1, 2}
