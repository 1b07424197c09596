"""Every pass of the library: the resulting graph, and that the results stay the same.

The results of loops with every legal port map, in both dialects, are compared before and after each
pass.
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irloop.conversion.pipelines import to_onnx
from irloop.execution.session import run
from irloop.formats.onnx import reader
from irloop.graph.builder import shape_of
from irloop.graph.model import Model
from irloop.graph.verify import verify
from irloop.graph.walk import all_nodes
from irloop.passes import Manager, PassConfig, common
from irloop.passes.common import (
    LIBRARY,
    CommonSubexpressions,
    ConstantFolding,
    DeadCode,
    FoldShapes,
    FoldTrips,
    HoistInvariants,
    IdentityElimination,
    InlineConstantIf,
    Unroll,
)
from tests.drawn.loops import Plan, build, plans, values

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


def read(text: str, folder: Path) -> Model:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    return reader.read(path)


def types(model: Model) -> list[str]:
    return [node.op.type for node in all_nodes(model.graph) if node.op.type != "Const"]


@pytest.mark.parametrize("name", sorted(LIBRARY))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_a_pass_changes_no_number(name: str, plan: Plan) -> None:
    original, arrays = build(plan)
    wanted = values(original, arrays)
    forms = (
        original,
        to_onnx(build(plan)[0])[0],
        to_onnx(build(plan)[0], prefer="scan")[0],
    )
    for model in forms:
        if model.dialect not in LIBRARY[name].dialects:
            continue
        manager = Manager([LIBRARY[name]()], check=True)
        manager.run_passes(model)
        verify(model.graph)
        for got, want in zip(values(model, arrays), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
        # A second run has nothing to do, and returns False.
        assert not Manager([LIBRARY[name]()]).run_passes(model)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans(), st.lists(st.sampled_from(sorted(LIBRARY)), min_size=2, max_size=3))
def test_passes_in_a_row_change_no_number(plan: Plan, names: list[str]) -> None:
    original, arrays = build(plan)
    wanted = values(original, arrays)
    for model in (build(plan)[0], to_onnx(build(plan)[0])[0]):
        chain = [LIBRARY[name]() for name in names if model.dialect in LIBRARY[name].dialects]
        Manager(chain, check=True).run_passes(model)
        verify(model.graph)
        for got, want in zip(values(model, arrays), wanted, strict=True):
            np.testing.assert_array_equal(got, want)


def test_every_file_contains_the_pass_with_its_name() -> None:
    files = {path.stem for path in Path(common.__file__).parent.glob("[!_]*.py")}
    assert files == {cls.__module__.rpartition(".")[2] for cls in LIBRARY.values()}
    assert files <= set(LIBRARY)


DEAD = """
g (int64 M, float[2] a, float[2] b) => (float[2] x) {
  x, y = Loop (M, "", a, b) <body = k (int64 i, bool ci, float[2] s, float[2] r)
      => (bool co, float[2] t, float[2] q) {
    one = Constant <value_float = 1.0> ()
    t = Add (s, one)
    two = Mul (r, r)
    q = Sub (two, r)
    co = Identity (ci)
  }>
  unread = Relu (a)
}
"""


def test_dead_code_leaves_no_unread_state(tmp_path: Path) -> None:
    model = read(DEAD, tmp_path)
    # r is read only by the operations that compute r, so it is dead once its output is removed.
    assert DeadCode().run(model, PassConfig())
    verify(model.graph)
    assert "Relu" not in types(model)
    (x,) = run(model, [np.array(2), np.ones(2, np.float32), np.ones(2, np.float32)]).values()
    np.testing.assert_array_equal(x, [3, 3])


def test_constants_fold_into_bodies(tmp_path: Path) -> None:
    model = read(
        """
        g (int64 M, float[2] a) => (float[2] x) {
          two = Constant <value = float[2] {2, 2}> ()
          four = Mul (two, two)
          x = Loop (M, "", a) <body = k (int64 i, bool ci, float[2] s) => (bool co, float[2] t) {
            eight = Add (four, four)
            t = Add (s, eight)
            co = Identity (ci)
          }>
        }
        """,
        tmp_path,
    )
    Manager([ConstantFolding(), DeadCode()], check=True).run_passes(model)
    assert types(model) == ["Loop", "Add", "Identity"]
    (x,) = run(model, [np.array(3), np.zeros(2, np.float32)]).values()
    np.testing.assert_array_equal(x, [24, 24])


def test_equal_expressions_are_computed_once(tmp_path: Path) -> None:
    model = read(
        """
        g (float[2] x, float[2] y) => (float[2] z) {
          a = Add (x, y)
          b = Add (x, y)
          z = Mul (a, b)
        }
        """,
        tmp_path,
    )
    assert CommonSubexpressions().run(model, PassConfig())
    assert types(model) == ["Add", "Mul"]
    (z,) = run(model, [np.array([1, 2], np.float32), np.array([3, 4], np.float32)]).values()
    np.testing.assert_array_equal(z, [16, 36])


def test_a_branch_that_is_never_taken_is_removed(tmp_path: Path) -> None:
    model = read(
        """
        g (float[2] x) => (float[2] z) {
          yes = Constant <value = bool {1}> ()
          z = If (yes) <then_branch = t () => (float[2] p) { p = Add (x, x) },
                        else_branch = e () => (float[2] q) { q = Mul (x, x) }>
        }
        """,
        tmp_path,
    )
    assert InlineConstantIf().run(model, PassConfig())
    assert types(model) == ["Add"]
    (z,) = run(model, [np.array([1, 5], np.float32)]).values()
    np.testing.assert_array_equal(z, [2, 10])


def test_a_range_gets_scalars_once_the_branch_is_known(tmp_path: Path) -> None:
    text = """
        g (int64[2] size) => (int64[n] z) {
          yes = Constant <value = bool {1}> ()
          zero = Constant <value = int64 {0}> ()
          one = Constant <value = int64 {1}> ()
          three = Constant <value = int64[1] {3}> ()
          end = If (yes) <then_branch = t () => (int64[1] p) { p = Identity (three) },
                          else_branch = e () => (int64[2] q) { q = Identity (size) }>
          z = Range (zero, end, one)
        }
        """
    for item in (InlineConstantIf(), FoldShapes()):
        model = read(text, tmp_path)
        assert Manager([item], check=True).run_passes(model)
        (at,) = [node for node in model.graph.nodes if node.op.type == "Range"]
        ranks = [shape_of(value).rank for value in at.inputs if value is not None]
        assert ranks == [0, 0, 0]
        (z,) = run(model, [np.array([7, 8])]).values()
        assert z.tolist() == [0, 1, 2]


def test_a_branch_that_returns_an_input_keeps_the_names(tmp_path: Path) -> None:
    model = read(
        """
        g (float[2] x) => (float[2] z) {
          yes = Constant <value = bool {1}> ()
          z = If (yes) <then_branch = t () => (float[2] p) { p = Identity (x) },
                        else_branch = e () => (float[2] q) { q = Mul (x, x) }>
        }
        """,
        tmp_path,
    )
    Manager([InlineConstantIf(), IdentityElimination()], check=True).run_passes(model)
    assert list(run(model, {"x": np.array([1, 5], np.float32)})) == ["z"]
    assert model.graph.inputs[0].name == "x"


COUNTED = """
g (float[2] a) => (float[2] last, float[n, 2] all) {
  trips = Constant <value = int64 {TRIPS}> ()
  last, all = Loop (trips, "", a) <body = k (int64 i, bool ci, float[2] s)
      => (bool co, float[2] t, float[2] u) {
    number = Cast <to = 1> (i)
    t = Add (s, number)
    u = Identity (s)
    co = Identity (ci)
  }>
}
"""


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_unrolling_leaves_no_loop(tmp_path: Path, trips: int) -> None:
    model = read(COUNTED.replace("TRIPS", str(trips)), tmp_path)
    assert Unroll().run(model, PassConfig())
    assert "Loop" not in types(model)
    assert types(model).count("Add") == trips
    last, every = run(model, [np.array([10, 20], np.float32)]).values()
    states = [np.array([10, 20]) + sum(range(k)) for k in range(trips + 1)]
    np.testing.assert_array_equal(last, states[trips])
    np.testing.assert_array_equal(every, np.array(states[:trips]).reshape(trips, 2))


def test_unrolling_has_limits(tmp_path: Path) -> None:
    text = COUNTED.replace("TRIPS", "5")
    assert not Unroll(trips=4).run(read(text, tmp_path), PassConfig())
    assert not Unroll(nodes=10).run(read(text, tmp_path), PassConfig())
    assert not FoldTrips().run(read(text, tmp_path), PassConfig())


def test_invariants_leave_every_loop_that_they_can(tmp_path: Path) -> None:
    model = read(
        """
        g (int64 M, float[2] a, float[2] w) => (float[2] last) {
          last = Loop (M, "", a) <body = k (int64 i, bool ci, float[2] s) => (bool co, float[2] t) {
            t = Loop (M, "", s) <body = k2 (int64 j, bool cj, float[2] u) => (bool ck, float[2] v) {
              r = Relu (w)
              p = Mul (r, w)
              v = Add (u, p)
              ck = Identity (cj)
            }>
            co = Identity (ci)
          }>
        }
        """,
        tmp_path,
    )
    inputs = [np.array(2), np.zeros(2, np.float32), np.array([-3, 5], np.float32)]
    wanted = list(run(copy.deepcopy(model), inputs).values())
    assert HoistInvariants().run(model, PassConfig())
    verify(model.graph)
    assert types(model)[:2] == ["Relu", "Mul"]
    np.testing.assert_array_equal(next(iter(run(model, inputs).values())), wanted[0])
    np.testing.assert_array_equal(wanted[0], [0, 100])
