"""Nested loops with too many iterations for any run are refused before they run."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import irloop
from irloop.budget import Budget
from irloop.errors import LimitError

#: The number of steps of a run; it allows three times as many iterations.
STEPS = 1_000


def info(name: str, element: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, [])


def body(depth: int, trips: str, *, stops: bool) -> onnx.GraphProto:
    """A body that adds 1 to x in the innermost of `depth` loops; all have the trip count
    `trips`.
    """
    number, condition = f"i{depth}", f"c{depth}"
    given, made, flag = f"x{depth}", f"y{depth}", f"go{depth}"
    nodes = [helper.make_node("Add", [given, "one"], [made])]
    if depth > 1:
        inner = body(depth - 1, trips, stops=stops)
        nodes = [helper.make_node("Loop", [trips, "", given], [made], body=inner)]
        if stops:
            nodes = [helper.make_node("Loop", [trips, "true", given], [made], body=inner)]
    test = helper.make_node("Identity", [condition], [flag])
    if stops:
        test = helper.make_node("Less", [made, "limit"], [flag])
    inputs = [info(number, TensorProto.INT64), info(condition, TensorProto.BOOL), info(given)]
    return helper.make_graph(
        [*nodes, test], f"b{depth}", inputs, [info(flag, TensorProto.BOOL), info(made)]
    )


def nested(folder: Path, depth: int, trips: int, *, stops: bool = False) -> irloop.Model:
    constants = [
        helper.make_tensor("trips", TensorProto.INT64, [], [trips]),
        helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
        helper.make_tensor("limit", TensorProto.FLOAT, [], [3.0]),
        helper.make_tensor("true", TensorProto.BOOL, [], [True]),
    ]
    condition = "true" if stops else ""
    loop = helper.make_node(
        "Loop", ["trips", condition, "x"], ["y"], body=body(depth, "trips", stops=stops)
    )
    graph = helper.make_graph([loop], "g", [info("x")], [info("y")], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    made.ir_version = 8
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return irloop.read_model(path)


def result(model: irloop.Model) -> float:
    with Budget(operations=STEPS).entered():
        return float(irloop.run(model, {"x": 0.0})["y"])


def test_loops_inside_each_other_are_multiplied(tmp_path: Path) -> None:
    """60 ** 6 iterations would take hours; a single loop of 10 ** 3 iterations adds 1 a thousand
    times.
    """
    with pytest.raises(LimitError, match="more iterations than allowed"):
        result(nested(tmp_path, 6, 60))
    assert result(nested(tmp_path, 3, 10)) == 1000.0


def test_loops_that_a_condition_may_end_are_not_counted(tmp_path: Path) -> None:
    """Each loop stops once the number is at least 3, so only few iterations take place."""
    assert result(nested(tmp_path, 6, 60, stops=True)) < 60


def test_without_a_budget_nothing_is_refused(tmp_path: Path) -> None:
    assert float(irloop.run(nested(tmp_path, 4, 11), {"x": 0.0})["y"]) == 11.0**4
