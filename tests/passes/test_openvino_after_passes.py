"""Models must run in OpenVINO after passes, with several inferences in one compiled model.

The expected numbers are worked out by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.dialects.openvino import activation, comparison, control_flow, elementwise
from irloop.execution.session import run
from irloop.formats.openvino import writer
from irloop.graph.builder import Builder
from irloop.graph.loops import Carried, Concatenated, Invariant, LastValue, PortMap, Sliced
from irloop.graph.model import Body, Model, Value
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes import Manager
from irloop.passes.base import Pass
from irloop.passes.common import (
    ChooseInitialStates,
    HoistInvariants,
    LoopToTensorIterator,
    SelectBranches,
)
from tests.passes.openvino_models import model_of
from tests.passes.texts import shown

F32, BOOL = ElementType.F32, ElementType.BOOLEAN


def check(model: Model, item: Pass, runs: list[tuple[list[Any], list[Any]]], folder: Path) -> str:
    """Run a pass; assert that irloop and OpenVINO return the results that `runs` list for their
    inputs.
    """
    openvino = pytest.importorskip("openvino")
    assert Manager([item], check=True).run_passes(model)
    path = folder / "model.xml"
    writer.write(model, path)
    request = openvino.Core().compile_model(path, "CPU").create_infer_request()
    for given, wanted in runs:
        arrays = [
            np.asarray(value, element_of(parameter))
            for value, parameter in zip(given, model.graph.inputs, strict=True)
        ]
        assert [value.tolist() for value in run(model, arrays).values()] == wanted
        found = request.infer(arrays).values()
        assert [np.asarray(value).tolist() for value in found] == wanted
    return shown(model)


def element_of(value: Value) -> Any:
    assert isinstance(value.type, TensorType)
    return value.type.element.numpy()


def toggled() -> Model:
    """A Loop(2, c) with the states b' = not b, starting from c itself, and u' = 7; the body does
    not read u.
    """

    def build(b: Builder, c: Value, u: Value) -> list[Value]:
        inner = b.nested("body")
        state = inner.parameter("b", c.type)
        inner.parameter("u", u.type)
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(inner(comparison.LogicalNot(), state, name="not"), "next")
        seven = inner(elementwise.Add(), inner.constant(3, F32), inner.constant(4, F32))
        inner.result(seven, "seven")
        ports = PortMap(
            (Carried(2, 0, 1), Carried(3, 1, 2)), (LastValue(1, 0), LastValue(2, 1)), None, 0
        )
        body = Body("body", inner.graph, ports)
        given = (b.i64(2), c, c, u)
        made = b.emit(control_flow.Loop(), *given, n_outputs=2, bodies=(body,), name="loop")
        return list(made.outputs)

    return model_of(build, (BOOL, ()), (F32, ()))


def test_booleans_are_selected_if_the_loop_may_not_run(tmp_path: Path) -> None:
    runs = [([True, 1], [True, 7]), ([False, 2], [False, 2]), ([True, 3], [True, 7])]
    text = check(toggled(), ChooseInitialStates(), runs, tmp_path)
    assert text == (
        "loop.0, loop.1 = Loop(2, x0):\n"
        "  b from x0, then not\n"
        "  not = LogicalNot(b)\n"
        "  Add = Add(3.0, 4.0)\n"
        "  loop.0 is not\n"
        "  loop.1 is Add\n"
        "loop/LogicalNot = LogicalNot(x0)\n"
        "loop/LogicalAnd = LogicalAnd(x0, loop.0)\n"
        "loop/LogicalAnd_1 = LogicalAnd(loop/LogicalNot, x0)\n"
        "loop/LogicalOr = LogicalOr(loop/LogicalAnd, loop/LogicalAnd_1)\n"
        "loop/Select = Select(x0, loop.1, x1)\n"
        "-> loop/LogicalOr, loop/Select"
    )


def test_an_operand_of_a_boolean_select_may_be_its_condition(tmp_path: Path) -> None:
    def build(b: Builder, x: Value, y: Value) -> list[Value]:
        condition = b(comparison.Less(), x, y, name="less")
        other = b(comparison.Less(), y, b.constant(5, F32), name="small")
        bodies = []
        for label, place in (("then", 0), ("else", 1)):
            inner = b.nested(label)
            first, second = (inner.parameter(name, condition.type) for name in "pq")
            inner.result((first, second)[place], f"{label}/p")
            inner.result(inner(comparison.LogicalNot(), second), f"{label}/q")
            ports = PortMap((Invariant(1, 0), Invariant(2, 1)), (LastValue(0, 0), LastValue(1, 1)))
            bodies.append(Body(label, inner.graph, ports))
        given = (condition, condition, other)
        node = b.emit(control_flow.If(), *given, n_outputs=2, bodies=tuple(bodies), name="if")
        return list(node.outputs)

    model = model_of(build, (F32, ()), (F32, ()))
    runs = [
        ([1, 2], [True, False]),
        ([9, 8], [False, True]),
        ([9, 3], [True, False]),
        ([1, 7], [True, True]),
    ]
    check(model, SelectBranches(), runs, tmp_path)


def test_a_body_computes_what_it_returns(tmp_path: Path) -> None:
    def build(b: Builder, x: Value, w: Value) -> list[Value]:
        inner = b.nested("body")
        state, fixed = inner.parameter("s", x.type), inner.parameter("w", w.type)
        twice = inner(elementwise.Add(), fixed, fixed, name="twice")
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(inner(activation.ReLU(), twice, name="relu"), "next")
        row = inner(elementwise.Multiply(), state, inner.constant([[1, 1]], F32), name="row")
        inner.result(row, "row")
        ports = PortMap(
            (Carried(2, 0, 1), Invariant(3, 1)),
            (LastValue(1, 0), Concatenated(2, 1, 0, 0, -1, 1, 1)),
            None,
            0,
        )
        body = Body("body", inner.graph, ports)
        first = (b.i64(3), b.constant(True, BOOL), x, w)
        return list(
            b.emit(control_flow.Loop(), *first, n_outputs=2, bodies=(body,), name="loop").outputs
        )

    model = model_of(build, (F32, (1, 2)), (F32, (1, 2)))
    runs: list[tuple[list[Any], list[Any]]] = [
        ([[[1, 2]], [[3, -4]]], [[[6, 0]], [[1, 2], [6, 0], [6, 0]]]),
        ([[[5, 5]], [[-1, 1]]], [[[0, 2]], [[5, 5], [0, 2], [0, 2]]]),
    ]
    text = check(model, HoistInvariants(), runs, tmp_path)
    # The addition runs once; the body does not return a parameter unchanged.
    assert text.splitlines()[0] == "twice_1 = Add(x1, x1)"
    assert "  relu = ReLU(twice_2)" in text.splitlines()


def test_slices_that_nothing_reads_count_no_iterations(tmp_path: Path) -> None:
    def build(b: Builder, x: Value, h: Value) -> list[Value]:
        inner = b.nested("body")
        inner.parameter("p", TensorType(F32, Shape.of(1, 2)))
        state = inner.parameter("s", h.type)
        following = inner(elementwise.Add(), state, inner.constant(1, F32), name="following")
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(following, "next")
        ports = PortMap(
            (Sliced(2, 0, 0), Carried(3, 1, 1)),
            (LastValue(1, 0), Concatenated(1, 1, 0, 0, -1, 1, 1)),
            None,
            0,
        )
        body = Body("body", inner.graph, ports)
        first = (b.i64(3), b.constant(True, BOOL), x, h)
        return list(
            b.emit(control_flow.Loop(), *first, n_outputs=2, bodies=(body,), name="loop").outputs
        )

    model = model_of(build, (F32, (3, 2)), (F32, (1, 1)))
    rows = [[0, 0]] * 3
    runs: list[tuple[list[Any], list[Any]]] = [
        ([rows, [[5]]], [[[8]], [[6], [7], [8]]]),
        ([rows, [[0]]], [[[3]], [[1], [2], [3]]]),
    ]
    text = check(model, LoopToTensorIterator(), runs, tmp_path)
    assert text == (
        "loop.0, loop.1 = TensorIterator():\n"
        "  s from x1, then following\n"
        "  following = Add(s, 1.0)\n"
        "  loop.0 is following\n"
        "  loop.1 joins following, axis 0, 0..3, 1, 1\n"
        "-> loop.0, loop.1"
    )


def test_a_loop_of_invariants_stays() -> None:
    """OpenVINO crashes when it folds a TensorIterator whose invariants are constants."""

    def build(b: Builder, _: Value) -> Value:
        inner = b.nested("body")
        fixed = inner.parameter("w", TensorType(F32, Shape.of(1)))
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(inner(elementwise.Add(), fixed, fixed), "twice")
        ports = PortMap((Invariant(2, 0),), (Concatenated(1, 0, 0, 0, -1, 1, 1),), None, 0)
        body = Body("body", inner.graph, ports)
        first = (b.i64(3), b.constant(True, BOOL), b.constant([2], F32))
        return b.emit(control_flow.Loop(), *first, n_outputs=1, bodies=(body,)).output

    assert not Manager([LoopToTensorIterator()]).run_passes(model_of(build, (F32, ())))


def test_a_branch_with_a_loop_that_never_runs_stays() -> None:
    """OpenVINO cannot fold such a loop if all its inputs are constant."""

    def build(b: Builder, c: Value) -> Value:
        bodies = []
        for label in ("then", "else"):
            inner = b.nested(label)
            loop = inner.nested("body")
            state = loop.parameter("s", TensorType(F32, Shape(())))
            loop.result(loop.constant(True, BOOL), "go")
            loop.result(loop(elementwise.Add(), state, state), "next")
            ports = PortMap((Carried(2, 0, 1),), (LastValue(1, 0),), None, 0)
            body = Body("body", loop.graph, ports)
            given = (inner.i64(3), inner.constant(label == "then", BOOL), inner.constant(1, F32))
            made = inner.emit(control_flow.Loop(), *given, n_outputs=1, bodies=(body,))
            inner.result(made.output, f"{label}/out")
            bodies.append(Body(label, inner.graph, PortMap((), (LastValue(0, 0),))))
        return b.emit(control_flow.If(), c, n_outputs=1, bodies=tuple(bodies)).output

    assert not Manager([SelectBranches()]).run_passes(model_of(build, (BOOL, ())))
