"""Loops that `transform` changed run in OpenVINO, with several inferences in one compiled model.

The expected numbers are worked out by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.dialects.openvino import (
    activation,
    comparison,
    control_flow,
    convert,
    elementwise,
    reduction,
    search,
    shape,
    slicing,
)
from irloop.faults.ovn137_parameter_dropped_before_iteration import (
    smallest as dropped_before_iteration,
)
from irloop.faults.repairs.constant_loops import FoldConstantLoops
from irloop.graph.builder import Builder
from irloop.graph.loops import (
    Carried,
    Concatenated,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    Sliced,
)
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes.base import PassConfig
from tests.passes.openvino_models import model_of

F32, I64, BOOL = ElementType.F32, ElementType.I64, ElementType.BOOLEAN

Runs = list[tuple[list[Any], list[Any]]]


def transformed(model: Model, name: str, runs: Runs, folder: Path) -> list[str]:
    """Run a pass and return the passes that changed something.

    Each run has a list of inputs and a list of the outputs that OpenVINO and irloop must return.
    """
    openvino = pytest.importorskip("openvino", reason="needs the openvino package")
    result, profile = irloop.transform(model, [name], verify=True)
    path = folder / "model.xml"
    irloop.save_model(result, path)
    request = openvino.Core().compile_model(path, "CPU").create_infer_request()
    session = irloop.Session(result)
    for given, wanted in runs:
        arrays = [
            np.asarray(value, kind_of(p))
            for value, p in zip(given, model.graph.inputs, strict=True)
        ]
        assert [value.tolist() for value in session.run(arrays).values()] == wanted
        assert [np.asarray(value).tolist() for value in request.infer(arrays).values()] == wanted
    changed = [record for record in profile if record.modified]
    return [name for record in changed for name in (record.name, *record.matches)]


def kind_of(parameter: Value) -> Any:
    assert isinstance(parameter.type, TensorType)
    return parameter.type.element.numpy()


def test_slices_that_only_dead_values_read(tmp_path: Path) -> None:
    """OpenVINO would run a TensorIterator only once if its slices are not read."""

    def build(b: Builder, x: Value, h: Value) -> list[Value]:
        inner = b.nested("body")
        part = inner.parameter("p", TensorType(F32, Shape.of(1)))
        state = inner.parameter("s", h.type)
        inner(activation.ReLU(), part)
        inner.result(inner(elementwise.Add(), state, state), "next")
        ports = PortMap(
            (Sliced(0, 0, 0), Carried(1, 1, 0)),
            (LastValue(0, 0), Concatenated(0, 1, 0, 0, -1, 1, 1)),
        )
        bodies = (Body("body", inner.graph, ports),)
        made = b.emit(control_flow.TensorIterator(), x, h, n_outputs=2, bodies=bodies)
        return list(made.outputs)

    model = model_of(build, (F32, (3,)), (F32, (1,)))
    runs: Runs = [([[1, 1, 1], [2]], [[16], [4, 8, 16]]), ([[0, 5, 0], [1]], [[8], [2, 4, 8]])]
    assert "count_iterations" in transformed(model, "dead_code", runs, tmp_path)


def joined_backwards(b: Builder, a: Value) -> Value:
    """Loop(3, true): a' = a + c, concatenated backwards; c is a captured constant."""
    inner = b.nested("body")
    state = inner.parameter("a", a.type)
    fixed = inner.parameter("c", TensorType(F32, Shape.of()))
    inner.result(inner.constant(True, BOOL), "go")
    inner.result(inner(elementwise.Add(), state, fixed), "next")
    ports = PortMap(
        (Carried(2, 0, 1), Invariant(3, 1)), (Concatenated(1, 0, 0, -1, 0, -1, 1),), None, 0
    )
    given = (b.i64(3), b.constant(True, BOOL), a, b.constant(1, F32))
    bodies = (Body("body", inner.graph, ports),)
    return b.emit(control_flow.Loop(), *given, n_outputs=1, bodies=bodies).output


@pytest.mark.parametrize("name", ["constant_folding", "simplify"])
def test_inputs_that_the_body_has_as_constants(name: str, tmp_path: Path) -> None:
    """OpenVINO drops the input, and then rejects the output that is concatenated backwards."""
    model = model_of(joined_backwards, (F32, (1, 2)))
    runs: Runs = [
        ([[[1, 2]]], [[[4, 5], [3, 4], [2, 3]]]),
        ([[[0, 0]]], [[[3, 3], [2, 2], [1, 1]]]),
    ]
    assert name in transformed(model, name, runs, tmp_path)


def test_a_condition_that_becomes_constant(tmp_path: Path) -> None:
    """OpenVINO would then use the trip count as the concatenated length."""

    def build(b: Builder, c: Value, a: Value) -> list[Value]:
        inner = b.nested("body")
        state, stop = inner.parameter("a", a.type), inner.parameter("q", c.type)
        inner.result(inner(comparison.LogicalNot(), stop), "go")
        inner.result(inner(elementwise.Add(), state, state), "next")
        ports = PortMap(
            (Carried(2, 0, 1), Invariant(3, 1)),
            (LastValue(1, 0), Concatenated(1, 1, 0, 0, -1, 1, 1)),
            None,
            0,
        )
        given = (b.i64(2), c, a, b.constant(False, BOOL))
        bodies = (Body("body", inner.graph, ports),)
        return list(b.emit(control_flow.Loop(), *given, n_outputs=2, bodies=bodies).outputs)

    model = model_of(build, (BOOL, ()), (F32, (1,)))
    runs: Runs = [
        ([False, [1]], [[1], []]),
        ([True, [1]], [[4], [2, 4]]),
        ([False, [3]], [[3], []]),
    ]
    assert "cut_joined" in transformed(model, "constant_folding", runs, tmp_path)


def test_unknown_sizes_where_a_condition_becomes_constant(tmp_path: Path) -> None:
    """If no iteration runs, the unknown sizes are 0, and not those of an earlier inference."""

    def build(b: Builder, c: Value, a: Value) -> list[Value]:
        inner = b.nested("body")
        state, stop = inner.parameter("a", a.type), inner.parameter("q", c.type)
        inner.result(inner(comparison.LogicalNot(), stop), "go")
        inner.result(inner(elementwise.Add(), state, state), "next")
        ports = PortMap(
            (Carried(2, 0, 1), Invariant(3, 1)), (Concatenated(1, 0, 0, 0, -1, 1, 1),), None, 0
        )
        given = (b.i64(2), c, a, b.constant(False, BOOL))
        bodies = (Body("body", inner.graph, ports),)
        joined = b.emit(control_flow.Loop(), *given, n_outputs=1, bodies=bodies).output
        return [
            b(shape.ShapeOf3(ElementType.I64), joined),
            b(reduction.ReduceSum(), joined, b.i64([0])),
        ]

    model = model_of(build, (BOOL, ()), (F32, (1, None)))
    runs: Runs = [
        ([True, [[1, 2]]], [[2, 2], [6, 12]]),
        ([False, [[3, 4, 5]]], [[0, 0], []]),
        ([True, [[1]]], [[2, 1], [6]]),
    ]
    assert "cut_joined" in transformed(model, "constant_folding", runs, tmp_path)


def test_a_condition_that_becomes_false(tmp_path: Path) -> None:
    """OpenVINO would then assume one iteration, whatever the trip count and the initial condition
    are.

    One iteration doubles the state; without an iteration the state stays, and nothing is
    concatenated.
    """

    def build(b: Builder, n: Value, c: Value, a: Value) -> list[Value]:
        inner = b.nested("body")
        state, stop = inner.parameter("a", a.type), inner.parameter("q", c.type)
        inner.result(inner(comparison.LogicalNot(), stop), "go")
        inner.result(inner(elementwise.Add(), state, state), "next")
        ports = PortMap(
            (Carried(2, 0, 1), Invariant(3, 1)),
            (LastValue(1, 0), Concatenated(1, 1, 0, 0, -1, 1, 1)),
            None,
            0,
        )
        given = (n, c, a, b.constant(True, BOOL))
        bodies = (Body("body", inner.graph, ports),)
        return list(b.emit(control_flow.Loop(), *given, n_outputs=2, bodies=bodies).outputs)

    model = model_of(build, (I64, ()), (BOOL, ()), (F32, (1,)))
    runs: Runs = [
        ([3, True, [1]], [[2], [2]]),
        ([3, False, [1]], [[1], []]),
        ([0, True, [3]], [[3], []]),
        ([-1, True, [5]], [[10], [10]]),
    ]
    assert "cut_joined" in transformed(model, "constant_folding", runs, tmp_path)


def test_a_choice_of_booleans_that_become_constants(tmp_path: Path) -> None:
    """OpenVINO rejects Select(true, true, s) in a body: only `s` is computed as u8."""

    def build(b: Builder, y: Value) -> Value:
        inner = b.nested("body")
        state = inner.parameter("s", y.type)
        no = inner.constant(False, BOOL)
        yes = [inner(comparison.LogicalNot(), no) for _ in range(2)]
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(inner(comparison.Select(), *yes, state), "next")
        ports = PortMap((Carried(2, 0, 1),), (LastValue(1, 0),), None, 0)
        given = (b.i64(2), b.constant(True, BOOL), y)
        bodies = (Body("body", inner.graph, ports),)
        return b.emit(control_flow.Loop(), *given, n_outputs=1, bodies=bodies).output

    model = model_of(build, (BOOL, ()))
    runs: Runs = [([False], [True]), ([True], [True])]
    assert "ovn131_choice_of_boolean_constants" in transformed(
        model, "constant_folding", runs, tmp_path
    )


def test_a_loop_that_becomes_constant(tmp_path: Path) -> None:
    """OpenVINO cannot fold a Loop that does not start."""

    def build(b: Builder, x: Value) -> Value:
        outer = b.nested("body")
        state, q = outer.parameter("s", x.type), outer.parameter("q", x.type)
        inner = b.nested("inner")
        r = inner.parameter("r", x.type)
        inner.result(inner.constant(True, BOOL), "go_on")
        inner.result(inner(elementwise.Add(), r, r), "twice")
        ports = PortMap((Carried(2, 0, 1),), (LastValue(1, 0),), None, 0)
        total = outer(reduction.ReduceSum(), q, outer.i64([0, 1]))
        starts = outer(comparison.Less(), total, outer.constant(0, F32))
        given = (outer.i64(3), starts, q)
        bodies = (Body("body", inner.graph, ports),)
        last = outer.emit(control_flow.Loop(), *given, n_outputs=1, bodies=bodies).output
        outer.result(outer(elementwise.Add(), state, last), "next")
        ports = PortMap((Carried(0, 0, 0), Sliced(1, 1, 0)), (LastValue(0, 0),))
        rows = b.constant([[7, 8], [1, 2]], F32)
        bodies = (Body("body", outer.graph, ports),)
        return b.emit(control_flow.TensorIterator(), x, rows, n_outputs=1, bodies=bodies).output

    runs: Runs = [([[[1, 2]]], [[[9, 12]]]), ([[[2, 0]]], [[[10, 10]]])]
    model = model_of(build, (F32, (1, 2)))
    assert "fold_constant_loops" in transformed(model, "unroll", runs, tmp_path)


def test_a_trip_count_in_the_body(tmp_path: Path) -> None:
    """OpenVINO fails on it unless it rewrites the Loop, which it does not do here because of the
    unread `x`.
    """

    def build(b: Builder, n: Value, x: Value) -> Value:
        inner = b.nested("body")
        count, unread = inner.parameter("n", n.type), inner.parameter("x", x.type)
        inner(activation.ReLU(), unread)
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(inner(elementwise.Add(), count, inner.i64([0])), "count")
        ports = PortMap(
            (Invariant(0, 0), Invariant(2, 1)), (Concatenated(1, 0, 0, 0, -1, 1, 1),), None, 0
        )
        given = (n, b.constant(True, BOOL), x)
        bodies = (Body("body", inner.graph, ports),)
        return b.emit(control_flow.Loop(), *given, n_outputs=1, bodies=bodies).output

    model = model_of(build, (I64, ()), (F32, (2,)))
    runs: Runs = [([3, [1, 2]], [[3, 3, 3]]), ([1, [1, 2]], [[1]])]
    assert "runnable_ports" in transformed(model, "dead_code", runs, tmp_path)


def test_an_unchanged_state_that_two_outputs_return(tmp_path: Path) -> None:
    """OpenVINO crashes if two outputs of a TensorIterator or Loop return an unchanged state."""

    def build(b: Builder, x: Value, h: Value) -> list[Value]:
        inner = b.nested("body")
        part = inner.parameter("p", TensorType(F32, Shape.of(1)))
        state = inner.parameter("s", h.type)
        inner.result(state, "same")
        inner.result(inner(elementwise.Add(), part, part), "twice")
        ports = PortMap(
            (Sliced(0, 0, 0), Carried(1, 1, 0)),
            (LastValue(0, 0), LastValue(0, 1), Concatenated(1, 2, 0, 0, -1, 1, 1)),
        )
        bodies = (Body("body", inner.graph, ports),)
        made = b.emit(control_flow.TensorIterator(), x, h, n_outputs=3, bodies=bodies)
        return list(made.outputs)

    runs: Runs = [([[1, 2], [5, 6]], [[5, 6], [5, 6], [2, 4]])]
    model = model_of(build, (F32, (2,)), (F32, (2,)))
    assert "copy_unchanged" in transformed(model, "tensor_iterator_to_loop", runs, tmp_path)


@pytest.mark.parametrize("is_state", [True, False], ids=["state", "captured"])
@pytest.mark.parametrize("joined_at", [0, 1, 2])
def test_an_unchanged_value_that_is_joined_and_returned(
    joined_at: int, is_state: bool, tmp_path: Path
) -> None:
    """OpenVINO crashes unless the last value is the first output connected to the body's result."""

    def build(b: Builder, x: Value, h: Value) -> list[Value]:
        inner = b.nested("body")
        part = inner.parameter("p", TensorType(F32, Shape.of(1)))
        kept = inner.parameter("s", h.type)
        inner.result(kept, "same")
        inner.result(inner(elementwise.Add(), part, part), "twice")
        shown: list[OutputPort] = [LastValue(0, at) for at in range(3)]
        shown[joined_at] = Concatenated(0, joined_at, 0, 0, -1, 1, 1)
        shown.append(Concatenated(1, 3, 0, 0, -1, 1, 1))
        entering = Carried(1, 1, 0) if is_state else Invariant(1, 1)
        ports = PortMap((Sliced(0, 0, 0), entering), tuple(shown))
        bodies = (Body("body", inner.graph, ports),)
        made = b.emit(control_flow.TensorIterator(), x, h, n_outputs=4, bodies=bodies)
        return list(made.outputs)

    def outputs(number: float) -> list[Any]:
        found: list[Any] = [[number]] * 3
        found[joined_at] = [number] * 2
        return found

    runs: Runs = [
        ([[1, 2], [5]], [*outputs(5), [2, 4]]),
        ([[3, 0], [7]], [*outputs(7), [6, 0]]),
    ]
    model = model_of(build, (F32, (2,)), (F32, (1,)))
    assert "copy_unchanged" in transformed(model, "tensor_iterator_to_loop", runs, tmp_path)


@pytest.mark.parametrize("kind", ["slice", "state", "computed"])
@pytest.mark.parametrize("is_loop", [True, False], ids=["Loop", "TensorIterator"])
@pytest.mark.parametrize("unread", [0, 1])
def test_an_output_without_readers_of_a_shared_result(
    unread: int, is_loop: bool, kind: str, tmp_path: Path
) -> None:
    """OpenVINO gives the values of the next result to the other output of the shared result, or
    refuses the model.
    """

    def build(b: Builder, x: Value, h: Value) -> list[Value]:
        inner = b.nested("body")
        part = inner.parameter("p", TensorType(F32, Shape.of(1)))
        state = inner.parameter("s", h.type)
        if is_loop:
            inner.result(inner.constant(True, BOOL), "go")
        computed = inner(elementwise.Add(), part, part)
        inner.result({"slice": part, "state": state, "computed": computed}[kind], "same")
        inner.result(inner(elementwise.Add(), state, part), "next")
        first, op = (1, control_flow.Loop()) if is_loop else (0, control_flow.TensorIterator())
        shown: list[OutputPort] = [Concatenated(first, 0, 0, 0, -1, 1, 1), LastValue(first, 1)]
        ports = PortMap(
            (Sliced(2 * first, 0, 0), Carried(2 * first + 1, 1, first + 1)),
            (*shown, LastValue(first + 1, 2)),
            None,
            0 if is_loop else None,
        )
        given = (b.i64(2), b.constant(True, BOOL), x, h) if is_loop else (x, h)
        made = b.emit(op, *given, n_outputs=3, bodies=(Body("body", inner.graph, ports),))
        return [value for at, value in enumerate(made.outputs) if at != unread]

    wanted = {"slice": [1, 2], "state": [5, 6], "computed": [2, 4]}[kind]
    again = {"slice": [3, 4], "state": [7, 10], "computed": [6, 8]}[kind]
    runs: Runs = [
        ([[1, 2], [5]], [wanted if unread else wanted[-1:], [8]]),
        ([[3, 4], [7]], [again if unread else again[-1:], [14]]),
    ]
    model = model_of(build, (F32, (2,)), (F32, (1,)))
    assert "runnable_ports" in transformed(model, "canonical_ports", runs, tmp_path)


def test_an_output_without_readers_of_a_shared_result_in_a_loop(tmp_path: Path) -> None:
    """The inner TensorIterator joins 2p, and its state s grows by p; the outer Loop may not run.

    Two outputs of the inner one have 2p, and nothing reads its last value.
    """

    def inner_outputs(b: Builder, x: Value, h: Value) -> list[Value]:
        inner = b.nested("inner")
        part = inner.parameter("p", TensorType(F32, Shape.of(1)))
        state = inner.parameter("s", h.type)
        inner.result(inner(elementwise.Add(), part, part), "same")
        inner.result(inner(elementwise.Add(), state, part), "next")
        ports = PortMap(
            (Sliced(0, 0, 0), Carried(1, 1, 1)),
            (Concatenated(0, 0, 0, 0, -1, 1, 1), LastValue(0, 1), LastValue(1, 2)),
        )
        bodies = (Body("body", inner.graph, ports),)
        made = b.emit(control_flow.TensorIterator(), x, h, n_outputs=3, bodies=bodies)
        return [made.outputs[0], made.outputs[2]]

    def build(b: Builder, n: Value, x: Value, h: Value) -> list[Value]:
        outer = b.nested("outer")
        state, given = outer.parameter("s", h.type), outer.parameter("x", x.type)
        joined, last = inner_outputs(outer, given, state)
        outer.result(outer.constant(True, BOOL), "go")
        total = outer(reduction.ReduceSum(keep_dims=True), joined, outer.i64([0]))
        outer.result(outer(elementwise.Add(), last, total), "next")
        ports = PortMap((Carried(2, 0, 1), Invariant(3, 1)), (LastValue(1, 0),), None, 0)
        bodies = (Body("body", outer.graph, ports),)
        given_to_loop = (n, b.constant(True, BOOL), h, x)
        return [b.emit(control_flow.Loop(), *given_to_loop, n_outputs=1, bodies=bodies).output]

    runs: Runs = [
        ([2, [1, 2], [5]], [[23]]),
        ([0, [3, 4], [7]], [[7]]),
        ([1, [3, 4], [7]], [[28]]),
    ]
    model = model_of(build, (I64, ()), (F32, (2,)), (F32, (1,)))
    assert "runnable_ports" in transformed(model, "canonical_ports", runs, tmp_path)


@pytest.mark.parametrize("follows", [True, False], ids=["a parameter follows", "the last one"])
def test_an_iteration_number_after_a_parameter_that_no_branch_reads(
    follows: bool, tmp_path: Path
) -> None:
    """OpenVINO gives the iteration number to the next parameter, or refuses the model."""
    # The values are |x|, then -|x| + 10, then -(-|x| + 10) + 20.
    scale = [10] if follows else []
    runs: Runs = [
        ([3, 7, [1, -2], *scale], [[11, 12]]),
        ([0, 7, [4, -5], *scale], [[4, -5]]),
        ([2, 7, [3, -4], *scale], [[7, 6]]),
    ]
    model = dropped_before_iteration(follows=follows)
    assert "runnable_ports" in transformed(model, "dead_code", runs, tmp_path)


@pytest.mark.parametrize("is_computed", [False, True])
def test_a_loop_of_constants_is_folded_even_if_it_captures_a_value_without_readers(
    is_computed: bool, tmp_path: Path
) -> None:
    """If it were not folded, OpenVINO would allocate no memory for the result of NonZero.

    The size of that result depends only on constants.
    """

    def build(b: Builder, x: Value) -> list[Value]:
        captured = b(elementwise.Add(), x, x) if is_computed else x
        inner = b.nested("body")
        state = inner.parameter("s", TensorType(F32, Shape.of(1)))
        inner.parameter("x", x.type)
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(inner(elementwise.Subtract(), state, inner.constant([1], F32)), "next")
        ports = PortMap(
            (Carried(2, 0, 1), Invariant(3, 1)), (Concatenated(1, 0, 0, 0, -1, 1, 1),), None, 0
        )
        given = (b.i64(3), b.constant(True, BOOL), b.constant([2], F32), captured)
        bodies = (Body("body", inner.graph, ports),)
        joined = b.emit(control_flow.Loop(), *given, n_outputs=1, bodies=bodies).output
        return [b(search.NonZero(I64), joined), b(elementwise.Negative(), x)]

    # The joined values are 1, 0, -1.
    runs: Runs = [([[4]], [[[0, 2]], [-4]]), ([[6]], [[[0, 2]], [-6]])]
    model = model_of(build, (F32, (1,)))
    assert "fold_constant_loops" in transformed(model, "loop_to_tensor_iterator", runs, tmp_path)


def test_a_constant_condition_after_a_loop_that_stays() -> None:
    """The Loop does not read a captured value; its states are 3, 1 and -1, and their sum is 3."""
    b = Builder(Graph("g"))
    x = b.parameter("x", TensorType(F32, Shape.of(2)))
    inner = b.nested("body")
    state = inner.parameter("s", TensorType(F32, Shape.of(1)))
    inner.parameter("x", x.type)
    inner.result(inner.constant(True, BOOL), "go")
    inner.result(inner(elementwise.Subtract(), state, inner.constant([2], F32)), "next")
    ports = PortMap(
        (Carried(2, 0, 1), Invariant(3, 1)), (Concatenated(1, 0, 0, 0, -1, 1, 1),), None, 0
    )
    given = (b.i64(3), b.constant(True, BOOL), b.constant([5], F32), b(elementwise.Add(), x, x))
    bodies = (Body("body", inner.graph, ports),)
    loop = b.emit(control_flow.Loop(), *given, n_outputs=1, bodies=bodies, name="stays")
    total = b(reduction.ReduceSum(), loop.output, b.i64([0]))
    condition = b(comparison.Greater(), total, b.constant(2, F32))
    branches = []
    for label, op in (("then", elementwise.Negative()), ("else", elementwise.Abs())):
        branch = b.nested(label)
        branch.result(branch(op, branch.parameter("p", x.type)), "r")
        branches.append(Body(label, branch.graph, PortMap((Invariant(1, 0),), (LastValue(0, 0),))))
    chosen = b.emit(control_flow.If(), condition, x, n_outputs=1, bodies=tuple(branches))
    b.result(chosen.output, "y")
    model = Model(b.graph, "openvino", 11)
    config = PassConfig()
    config.set_callback(lambda node: node.name == "stays", FoldConstantLoops)
    assert FoldConstantLoops().run(model, config)
    (left,) = (node for node in model.graph.nodes if isinstance(node.op, control_flow.If))
    assert left.inputs[0] is not None
    assert isinstance(left.inputs[0].producer.op, Constant)
    assert left.inputs[0].producer.op.tensor.numpy()
    (found,) = irloop.Session(model).run([np.array([1, -2], np.float32)]).values()
    assert found.tolist() == [-1, 2]


@pytest.mark.parametrize("is_state", [False, True])
def test_a_constant_condition_that_the_body_reads(tmp_path: Path, is_state: bool) -> None:
    """OpenVINO would take the next input, here false, for the condition: the Loop would not run.

    Each iteration adds 1 if the condition is true.
    """

    def build(b: Builder, n: Value, x: Value, no: Value) -> Value:
        inner = b.nested("body")
        go = b.constant(True, BOOL)
        state, held, other = (
            inner.parameter("s", x.type),
            inner.parameter("go", go.type),
            inner.parameter("no", no.type),
        )
        both = inner(comparison.LogicalOr(), held, other)
        inner.result(inner.constant(True, BOOL), "goes_on")
        inner.result(inner(elementwise.Add(), state, inner(convert.Convert(F32), both)), "next")
        inner.result(held, "held")
        first = Carried(1, 1, 2) if is_state else Invariant(1, 1)
        ports = PortMap((first, Invariant(2, 2), Carried(3, 0, 1)), (LastValue(1, 0),), None, 0)
        bodies = (Body("body", inner.graph, ports),)
        given = (n, go, no, x)
        return b.emit(control_flow.Loop(), *given, n_outputs=1, bodies=bodies).output

    model = model_of(build, (I64, ()), (F32, (1,)), (BOOL, ()))
    runs: Runs = [([3, [5], False], [[8]]), ([0, [5], False], [[5]]), ([1, [5], True], [[6]])]
    assert "runnable_ports" in transformed(model, "identity_elimination", runs, tmp_path)


def test_a_growing_state_whose_output_nothing_reads(tmp_path: Path) -> None:
    """OpenVINO removes the output, and then allocates the state for its first size only.

    Each iteration appends a 1 to this state, and adds its sum to the other state.
    """

    def build(b: Builder, n: Value, x: Value) -> Value:
        inner = b.nested("body")
        held = inner.parameter("h", TensorType(F32, Shape.of(None)))
        state = inner.parameter("s", x.type)
        inner.result(inner.constant(True, BOOL), "goes_on")
        inner.result(inner(slicing.Concat(0), held, inner.constant([1], F32)), "longer")
        total = inner(reduction.ReduceSum(keep_dims=True), held, inner.i64([0]))
        inner.result(inner(elementwise.Add(), state, total), "next")
        ports = PortMap(
            (Carried(2, 0, 1), Carried(3, 1, 2)), (LastValue(1, 0), LastValue(2, 1)), None, 0
        )
        bodies = (Body("body", inner.graph, ports),)
        given = (n, b.constant(True, BOOL), b.constant([2], F32), x)
        return b.emit(control_flow.Loop(), *given, n_outputs=2, bodies=bodies).outputs[1]

    model = model_of(build, (I64, ()), (F32, (1,)))
    # The sums 2, 2 + 1 and 2 + 1 + 1 are added.
    runs: Runs = [([3, [0]], [[9]]), ([1, [5]], [[7]]), ([0, [4]], [[4]]), ([2, [0]], [[5]])]
    assert "open_growing_states" in transformed(model, "identity_elimination", runs, tmp_path)


def test_an_absolute_value_that_comes_to_share_a_concat(tmp_path: Path) -> None:
    """OpenVINO would compute it in the memory of the Concat, in every iteration."""

    def build(b: Builder, n: Value, x: Value) -> list[Value]:
        inner = b.nested("body")
        state = inner.parameter("s", x.type)
        pairs = [inner(slicing.Concat(0), state, state) for _ in range(2)]
        small = inner(comparison.Less(), state, inner.constant([10], F32))
        inner.result(inner(shape.Squeeze(), small, inner.i64([0])), "go")
        inner.result(inner(elementwise.Multiply(), state, inner.constant([-4], F32)), "next")
        inner.result(pairs[0], "pair")
        inner.result(inner(elementwise.Abs(), pairs[1]), "sizes")
        outputs = [Concatenated(at, at - 1, 0, 0, -1, 2, 2) for at in (2, 3)]
        ports = PortMap((Carried(2, 0, 1),), (LastValue(1, 0), *outputs), None, 0)
        bodies = (Body("body", inner.graph, ports),)
        given = (n, b.constant(True, BOOL), x)
        made = b.emit(control_flow.Loop(), *given, n_outputs=3, bodies=bodies)
        return list(made.outputs)

    model = model_of(build, (I64, ()), (F32, (1,)))
    # The states are -3, 12, ..., or fewer if the trip count ends the loop, which stops once a state
    # is at least 10.
    runs: Runs = [
        ([5, [-3]], [[-48], [-3, -3, 12, 12], [3, 3, 12, 12]]),
        ([1, [-5]], [[20], [-5, -5], [5, 5]]),
        ([2, [1]], [[16], [1, 1, -4, -4], [1, 1, 4, 4]]),
        ([3, [20]], [[-80], [20, 20], [20, 20]]),
    ]
    assert "ovn133_abs_of_a_concat" in transformed(model, "common_subexpressions", runs, tmp_path)


def test_a_shape_without_elements_that_is_joined(tmp_path: Path) -> None:
    """OpenVINO would crash on the empty constant that the shape of a scalar becomes."""

    def build(b: Builder, x: Value, h: Value) -> list[Value]:
        inner = b.nested("body")
        part = inner.parameter("p", TensorType(F32, Shape.of(1)))
        state = inner.parameter("s", h.type)
        total = inner(reduction.ReduceSum(), inner(elementwise.Add(), state, part), inner.i64([0]))
        inner.result(total, "next")
        row = inner(shape.Unsqueeze(), inner(shape.ShapeOf3(I64), state), inner.i64([0]))
        inner.result(row, "row")
        ports = PortMap(
            (Sliced(0, 0, 0), Carried(1, 1, 0)),
            (LastValue(0, 0), Concatenated(1, 1, 0, 0, -1, 1, 1)),
        )
        bodies = (Body("body", inner.graph, ports),)
        made = b.emit(control_flow.TensorIterator(), x, h, n_outputs=2, bodies=bodies)
        return list(made.outputs)

    model = model_of(build, (F32, (2,)), (F32, ()))
    runs: Runs = [([[1, 1], 2], [4, [[], []]]), ([[0, 5], 1], [6, [[], []]])]
    assert "fold_empty_values" in transformed(model, "fold_shapes", runs, tmp_path)


def test_joined_parts_of_two_elements_stay_a_tensor_iterator(tmp_path: Path) -> None:
    """OpenVINO's Loop joins parts of one element only."""

    def build(b: Builder, x: Value) -> list[Value]:
        inner = b.nested("body")
        part = inner.parameter("p", TensorType(F32, Shape.of(1)))
        inner.result(inner(slicing.Concat(0), part, inner(elementwise.Add(), part, part)), "pair")
        ports = PortMap((Sliced(0, 0, 0),), (Concatenated(0, 0, 0, 0, -1, 2, 2),))
        bodies = (Body("body", inner.graph, ports),)
        return list(b.emit(control_flow.TensorIterator(), x, n_outputs=1, bodies=bodies).outputs)

    runs: Runs = [([[1, 2, 5]], [[1, 2, 2, 4, 5, 10]])]
    model = model_of(build, (F32, (3,)))
    assert "tensor_iterator_to_loop" not in transformed(
        model, "tensor_iterator_to_loop", runs, tmp_path
    )


def test_sums_of_double_constants_of_an_unrolled_loop(tmp_path: Path) -> None:
    """OpenVINO would not finish compiling them."""

    def build(b: Builder, x: Value) -> list[Value]:
        inner = b.nested("body")
        state = inner.parameter("s", TensorType(ElementType.F64, Shape.of(1)))
        inner.result(inner.constant(True, BOOL), "go")
        half = inner(convert.Convert(ElementType.F64), inner.constant(0.5, F32))
        inner.result(inner(elementwise.Add(), state, half), "next")
        ports = PortMap((Carried(2, 0, 1),), (LastValue(1, 0),), condition=0)
        bodies = (Body("body", inner.graph, ports),)
        start = b.tensor(ArrayTensor(np.array([0.25])))
        three, go = b.constant(3, I64), b.constant(True, BOOL)
        made = b.emit(control_flow.Loop(), three, go, start, n_outputs=1, bodies=bodies)
        return [made.outputs[0], b(activation.ReLU(), x)]

    model = model_of(build, (F32, (1,)))
    runs: Runs = [([[2]], [[1.75], [2]])]
    assert "ovn127_sums_of_double_constants" in transformed(model, "unroll", runs, tmp_path)


def test_a_condition_that_becomes_constant_false(tmp_path: Path) -> None:
    """OpenVINO would refuse the scalar state: "Accessing out-of-range dimension"."""

    def build(b: Builder, x: Value) -> list[Value]:
        inner = b.nested("body")
        state = inner.parameter("a", x.type)
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(inner(elementwise.Add(), state, state), "next")
        ports = PortMap((Carried(2, 0, 1),), (LastValue(1, 0),), condition=0)
        bodies = (Body("body", inner.graph, ports),)
        go = b(comparison.Greater(), b.constant(1, F32), b.constant(2, F32))
        made = b.emit(control_flow.Loop(), b.i64(3), go, x, n_outputs=1, bodies=bodies)
        return [made.outputs[0]]

    model = model_of(build, (F32, ()))
    runs: Runs = [([2], [2]), ([5], [5])]
    assert "remove_idle_loops" in transformed(model, "constant_folding", runs, tmp_path)


def test_loops_that_have_such_a_form_already_stay() -> None:
    """A pass without a match leaves the model unchanged."""
    model = model_of(joined_backwards, (F32, (1, 2)))
    _, profile = irloop.transform(model, ["dead_code"])
    assert not profile.modified


def test_types_that_contradict_each_other_are_no_reason_to_stop() -> None:
    """A pass may be intended to repair the contradiction."""

    def build(b: Builder, a: Value) -> list[Value]:
        joined = joined_backwards(b, a)
        wrong = b.graph.add_node(elementwise.Add(), "wrong", (a, b.i64([1, 2, 3])), 1)
        return [joined, wrong.outputs[0]]

    _, profile = irloop.transform(model_of(build, (F32, (1, 2))), ["dead_code"])
    assert not profile.modified
