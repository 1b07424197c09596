"""OpenVINO removes body values that no output depends on: the effects, and how they are avoided.

The expected numbers are worked out by hand. Every model runs twice in one compiled model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import irloop
from irloop.analysis.live_values import MOST, is_live
from irloop.building.ir_model import IrLoop, IrModel
from irloop.dialects.openvino.activation import ReLU
from irloop.dialects.openvino.comparison import Greater
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.dialects.openvino.reduction import ReduceMax
from irloop.dialects.openvino.slicing import Concat, Slice
from irloop.faults.catalogue import find_faults
from irloop.graph.model import Model, Value
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from irloop.passes.base import ModelPass

I64, F32 = ElementType.I64, ElementType.F32

#: Computes something from a value in a body: a value to add, or None.
Reader = Callable[[IrModel, IrLoop, Value], Value | None]


class Forget(ModelPass):
    """Replaces products with the constant 7 by that constant, so that the other factor becomes
    dead.
    """

    name = "forget"

    def run_on_model(self, model: Model) -> bool:
        found = False
        for node in all_nodes(model.graph):
            if isinstance(node.op, Multiply) and node.graph is not None:
                seven = node.inputs[1]
                assert seven is not None
                for user, at in node.output.uses:
                    Rewriter(node.graph).set_input(user, at, seven)
                    found = True
        return found


def dead(m: IrModel, loop: IrLoop, value: Value) -> Value | None:
    loop(ReLU(), value)
    return None


def empty_part(m: IrModel, loop: IrLoop, value: Value) -> Value:
    zero, one = (loop.constant([n], I64) for n in (0, 1))
    none = loop(Slice(), value, zero, zero, one, zero)
    return loop(Concat(axis=0), none, loop.constant([[0, 0]]))


def captured_in_vain(m: IrModel, loop: IrLoop, value: Value) -> Value:
    inner = m.inside(loop).loop(loop.constant(2, I64))
    state = inner.state(loop.constant([[0, 0]]))
    inner.invariant(value)
    inner.carry(state, inner(Add(), state, state))
    inner.last(state)
    return inner.done()[0]


def joined_in_vain(m: IrModel, loop: IrLoop, value: Value) -> Value:
    inner = m.inside(loop).loop(loop.constant(2, I64))
    state = inner.state(loop.constant([[0, 0]]))
    inner.joined(inner(ReLU(), inner.invariant(value)), 0)
    inner.carry(state, inner(Add(), state, state))
    inner.last(state)
    return inner.done()[1]


def carried_in_vain(m: IrModel, loop: IrLoop, value: Value) -> Value:
    """A state that computes the value: OpenVINO keeps all states of a loop that it keeps."""
    inner = m.inside(loop).loop(loop.constant(2, I64))
    state, other = inner.state(loop.constant([[0, 0]])), inner.state(value)
    inner.carry(state, inner(Add(), state, state))
    inner.carry(other, inner(Add(), other, other))
    inner.last(state)
    inner.last(other)
    return inner.done()[0]


def counted_in_vain(m: IrModel, loop: IrLoop, value: Value) -> None:
    """A Loop without outputs whose trip count is computed from the value."""
    count = loop(ReduceMax(), value, loop.constant([0, 1], I64))
    inner = m.inside(loop).loop(loop(Convert(I64), count))
    inner.done()


def times_zero(m: IrModel, loop: IrLoop, value: Value) -> Value:
    """A product of the value with 0, which OpenVINO computes."""
    return loop(Multiply(), value, loop.constant(0))


def inferred(model: Model, runs: list[list[Any]], folder: Path) -> list[list[Any]]:
    """The outputs of OpenVINO for each list of inputs, in one compiled model."""
    openvino = pytest.importorskip("openvino", reason="needs the openvino package")
    path = folder / "model.xml"
    irloop.save_model(model, path)
    request = openvino.Core().compile_model(path, "CPU").create_infer_request()
    return [
        [np.array(value) for value in request.infer(dict(enumerate(given))).values()]
        for given in runs
    ]


def codes(model: Model) -> set[str]:
    irloop.infer(model)
    return {match.fault.code for match in find_faults(model.graph, "openvino")}


def counting(reader: Reader) -> Model:
    """TensorIterator(x, y): s' = s + 1 + reader(slice); concatenated backwards."""
    m = IrModel()
    x, y = m.input("x", None, 2), m.input("y", 1, 2)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0), loop.state(y)
    total = loop(Add(), state, loop.constant([[1, 1]]))
    extra = reader(m, loop, part)
    if extra is not None:
        total = loop(Add(), total, extra)
    loop.carry(state, total)
    loop.joined(total, 0, -1, 0, -1)
    return m.done(*loop.done())


@pytest.mark.parametrize(
    "reader",
    [
        dead,
        empty_part,
        captured_in_vain,
        joined_in_vain,
        carried_in_vain,
        counted_in_vain,
        times_zero,
    ],
)
def test_slices_are_lost_where_the_fault_is_found(reader: Reader, tmp_path: Path) -> None:
    model = counting(reader)
    runs = [[np.zeros((n, 2), np.float32), np.zeros((1, 2), np.float32)] for n in (3, 2)]
    lengths = [len(outputs[0]) for outputs in inferred(model, runs, tmp_path)]
    assert lengths == ([1, 1] if "OVN121" in codes(model) else [3, 2])


UNCHANGED = """
<ir_version: 9, opset_import: ["" : 18]>
agraph (float[3,2] x, float[1,2] y) => (float[1,2] last, float[3,1,2] states)
{
  last, states = Scan <num_scan_inputs = 1, body = step
    (float[1,2] state, float[2] part) => (float[1,2] next, float[1,2] state_out) {
    one = Constant <value_float = 1.0> ()
    highest = ReduceMax <keepdims = 0> (state)
    large = Less (one, highest)
    same = If (large) <
      then_branch = counted () => (float[1,2] inner) {
        most = ReduceMax <keepdims = 0> (part)
        count = Cast <to = 7> (most)
        inner = Loop (count, "", state) <body = turn
          (int64 i, bool c, float[1,2] s) => (bool c_out, float[1,2] s_out) {
          two = Constant <value_int = 2> ()
          c_out = Less (i, two)
          s_out = Identity (s)
        }>
      },
      else_branch = kept () => (float[1,2] other) { other = Identity (state) }
    >
    next = Add (same, one)
    state_out = Identity (state)
  }> (y, x)
}
"""


def test_slices_that_only_count_iterations_without_effect(tmp_path: Path) -> None:
    """Conversion replaces the output of the inner Loop by the state, because the Loop never changes
    it.
    """
    onnx.save(onnx.parser.parse_model(UNCHANGED), tmp_path / "model.onnx")
    model, _ = irloop.convert(irloop.read_model(tmp_path / "model.onnx"))
    start = np.array([[7, 8]], np.float32)
    runs = [[np.full((3, 2), count, np.float32), start] for count in (5, 0, 1)]
    for last, states in inferred(model, runs, tmp_path):
        assert last.tolist() == [[10, 11]]
        assert states.tolist() == [[[7, 8]], [[8, 9]], [[9, 10]]]


def test_an_unread_output_does_not_keep_slices(tmp_path: Path) -> None:
    m = IrModel()
    x, y = m.input("x", 3, 2), m.input("y", 1, 2)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0), loop.state(y)
    total = loop(Add(), state, loop.constant([[1, 1]]))
    loop.carry(state, total)
    loop.last(total)
    loop.joined(loop(ReLU(), part), 0)
    model = m.done(loop.done()[0])
    zeros = [np.zeros((3, 2), np.float32), np.zeros((1, 2), np.float32)]
    assert inferred(model, [zeros], tmp_path)[0][0].tolist() == [[1, 1]]  # instead of [[3, 3]]
    assert "OVN121" in codes(model)


def stateful(reader: Reader) -> Model:
    """Loop(n, true, x): s' = 1 + reader(state) -> last s."""
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 1, 2)
    loop = m.loop(n)
    state = loop.state(x)
    total = loop(Add(), loop.constant([[0, 0]]), loop.constant([[1, 1]]))
    extra = reader(m, loop, state)
    if extra is not None:
        total = loop(Add(), total, extra)
    loop.carry(state, total)
    loop.last_of(state)
    return m.done(*loop.done())


@pytest.mark.parametrize(
    "reader",
    [dead, empty_part, captured_in_vain, joined_in_vain, carried_in_vain, times_zero],
)
def test_initial_states_are_lost_where_the_fault_is_found(reader: Reader, tmp_path: Path) -> None:
    model = stateful(reader)
    x = np.full((1, 2), 5, np.float32)
    runs = [[np.array(n, np.int64), x] for n in (2, 0)]
    once, never = inferred(model, runs, tmp_path)
    assert once[0].tolist() == [[1, 1]]
    assert (never[0].tolist() == [[5, 5]]) == ("OVN104" not in codes(model))


def right_after(model: Model, runs: list[list[Any]], expected: list[Any], folder: Path) -> set[str]:
    """Run `Forget`, assert the outputs of OpenVINO and irloop, and return the passes that repaired
    the model.
    """
    result, profile = irloop.transform(model, [Forget()], verify=True)
    session = irloop.Session(result)
    found = inferred(result, runs, folder)
    for at, wanted in enumerate(expected):
        assert [value.tolist() for value in found[at]] == wanted
        own = [np.asarray(value).tolist() for value in session.run(runs[at]).values()]
        assert own == wanted
    return {record.name for record in profile if record.modified}


WINDOWS = [(0, -1, 1, 1), (-1, 0, -1, 1), (0, -1, 2, 2), (-1, 0, -2, 2)]


def seventh(m: IrModel, loop: IrLoop, value: Value) -> Value:
    """The product that `Forget` replaces by 7."""
    return loop(Multiply(), value, loop.constant([[7, 7]]))


@pytest.mark.parametrize("window", WINDOWS)
def test_trip_counts_after_passes(window: tuple[int, int, int, int], tmp_path: Path) -> None:
    """A Loop cannot have a slice of two elements, so the TensorIterator keeps its trip count."""
    m = IrModel()
    x, y = m.input("x", None, 2), m.input("y", 1, 2)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0, *window), loop.state(y)
    first = loop(Slice(), part, *(loop.constant([n], I64) for n in (0, 1, 1, 0)))
    total = loop(Add(), state, seventh(m, loop, first))
    loop.carry(state, total)
    loop.joined(loop(Greater(), total, loop.constant([[10, 20]])), 0, -1, 0, -1)
    loop.joined(loop(Convert(I64), total), 0)
    model = m.done(*loop.done())
    parts = window[3]
    runs = [
        [np.ones((n * parts, 2), np.float32), np.full((1, 2), y, np.float32)]
        for n, y in ((3, 0), (2, 1))
    ]
    expected = [
        [[[True, True], [True, False], [False, False]], [[7, 7], [14, 14], [21, 21]]],
        [[[True, False], [False, False]], [[8, 8], [15, 15]]],
    ]
    assert "count_iterations" in right_after(model, runs, expected, tmp_path)


def test_initial_states_after_passes_are_kept(tmp_path: Path) -> None:
    runs = [[np.array(n, np.int64), np.full((1, 2), n, np.float32)] for n in (2, 0, 3, 0)]
    expected = [[[[8, 8]]], [[[0, 0]]], [[[8, 8]]], [[[0, 0]]]]
    assert "read_states" in right_after(stateful(seventh), runs, expected, tmp_path)


def test_outputs_that_go_backwards_after_passes(tmp_path: Path) -> None:
    """OpenVINO removes the slice, and then rejects the output that is joined backwards."""
    m = IrModel()
    x, y = m.input("x", 3, 2), m.input("y", 1, 2)
    loop = m.loop(m.constant(3, I64))
    part, state = loop.slice(x, 0), loop.state(y)
    total = loop(Add(), state, seventh(m, loop, part))
    loop.carry(state, total)
    loop.joined(total, 0, -1, 0, -1)
    model = m.done(*loop.done())
    runs = [[np.ones((3, 2), np.float32), np.full((1, 2), y, np.float32)] for y in (0, 1)]
    expected = [[[[21, 21], [14, 14], [7, 7]]], [[[22, 22], [15, 15], [8, 8]]]]
    assert "runnable_ports" in right_after(model, runs, expected, tmp_path)


def test_outputs_of_a_shared_result_after_passes(tmp_path: Path) -> None:
    """OpenVINO removes an output that only dead operations read, but not its shared result."""
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 1, 2)
    loop = m.loop(n)
    state, fixed = loop.state(x), loop.invariant(x)
    total = loop(Add(), state, fixed)
    loop.carry(state, total)
    loop.last(total)
    loop.last(fixed)
    loop.last(fixed)
    loop.joined(fixed, 0)
    total, dead_later, last, joined = loop.done()
    made = m(Multiply(), dead_later, m.constant([[7, 7]]))
    model = m.done(m(Add(), total, made), last, joined)
    assert "OVN136" not in codes(model)
    runs = [[np.array(n, np.int64), np.ones((1, 2), np.float32)] for n in (2, 3)]
    expected = [[[[n + 8] * 2], [[1, 1]], [[1, 1]] * n] for n in (2, 3)]
    assert "runnable_ports" in right_after(model, runs, expected, tmp_path)


@pytest.mark.parametrize(("length", "live"), [(MOST - 2, False), (MOST + 1, True)])
def test_long_chains_count_as_live(length: int, live: bool) -> None:
    """The search stops after `MOST` values, so its work does not grow with the model."""
    m = IrModel()
    x = m.input("x", 1)
    value = x
    for _ in range(length):
        value = m(ReLU(), value)
    m.done(m(Add(), m.constant([1]), m.constant([2])))
    assert is_live(x) == live
