"""The models that `transform` writes copy the values that OpenVINO would read from the wrong
memory.

The expected numbers are worked out by hand.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow, elementwise
from irloop.graph.types import ElementType
from tests.conversion.test_after_passes import Runs, transformed

I64 = ElementType.I64


def test_a_fault_of_memory_in_a_loop_that_no_pass_changes(tmp_path: Path) -> None:
    """The results of a Loop that does not run may be right by chance until other operations are
    removed.
    """
    m = IrModel()
    x = m.input("x", None)
    loop = m.loop(m.input("n", element=I64))
    state = loop.state(x)
    loop.carry(state, loop(elementwise.Negative(), loop.invariant(x)))
    loop.last_of(state)
    m(elementwise.Add(), x, x)
    runs: Runs = [([[1, 2], 0], [[1, 2]]), ([[3], 2], [[-3]]), ([[4, 5, 6], 0], [[4, 5, 6]])]
    model = m.done(*loop.done())
    # dead_code removes the sum, and nothing else.
    assert "read_states" in transformed(model, "dead_code", runs, tmp_path)


@pytest.mark.parametrize("use", ["invariant", "state", "slice"])
def test_a_loop_that_reads_an_output_of_another_loop(use: str, tmp_path: Path) -> None:
    """In larger models, OpenVINO lets the loop read the memory that the output occupied in an
    earlier inference.
    """
    m = IrModel()
    x = m.input("x", None)
    first = m.loop(m.input("n", element=I64))
    state = first.state(x)
    first.carry(state, first(elementwise.Add(), state, first.invariant(x)))
    first.last_of(state)
    (sums,) = first.done()
    second = m.loop(m.constant(1, I64))
    match use:
        case "invariant":
            given = second.invariant(sums)
        case "state":
            given = second.state(sums)
        case _:
            given = second.slice(sums, 0)
    negative = second(elementwise.Negative(), given)
    if use == "state":
        second.carry(given, negative)
    second.last(negative)
    m(elementwise.Add(), x, x)
    runs: Runs = [
        ([[1, 2], 2], [[-3, -6]]),
        ([[4, 5], 0], [[-4, -5]]),
        ([[7, 8], 1], [[-14, -16]]),
        ([[3], 2], [[-9]]),
    ]
    if use == "slice":
        runs = [(given, [wanted[:1] for wanted in outputs]) for given, outputs in runs]
    model = m.done(*second.done())
    result, _ = irloop.transform(model, ["dead_code"])
    loops = [node for node in result.graph.nodes if isinstance(node.op, control_flow.Loop)]
    (copy,) = {user for user, _ in loops[0].outputs[0].uses}
    assert isinstance(copy.op, elementwise.Maximum)
    assert [user for user, _ in copy.output.uses] == [loops[1]]
    assert "read_loops_by_copies" in transformed(model, "dead_code", runs, tmp_path)
