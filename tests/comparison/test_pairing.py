"""Corresponding values are found although several values of a model have the same name."""

from __future__ import annotations

import onnx

import irloop
from irloop.comparison.pairing import Pairs
from irloop.formats.onnx import reader
from irloop.graph.model import Model, Value
from irloop.graph.walk import all_nodes

TEXT = """<ir_version: 8, opset_import: ["" : 16]>
m (float[2,3] rows, float[3] s, float[3] t, bool flag) => (float[3] y) {
   y = If (flag) <
      then_branch = yes () => (float[3] a) {
         a, b = Scan <num_scan_inputs = 1, body = step
            (float[3] p, float[3] q, float[3] row) => (float[3] p2, float[3] q2) {
            u = Tanh (row)
            v = Sub (p, u)
            w = Sub (u, p)
            p2 = Mul (v, w)
            q2 = Max (q, row)
         }> (s, t, rows)
      },
      else_branch = no () => (float[3] c) {
         c = Add (s, t)
      }
   >
}"""


def models() -> tuple[Model, Model]:
    """A model, and its IR in which operations with one output have the same name."""
    first = reader.from_proto(onnx.parser.parse_model(TEXT))
    second, _ = irloop.convert(first)
    for node in all_nodes(second.graph):
        if node.outputs and not node.bodies:
            node.name = "same"
            node.outputs[0].names = ()
    return first, second


def named(model: Model, type: str) -> list[Value]:
    """The values that operations of a type compute."""
    return [node.outputs[0] for node in all_nodes(model.graph) if node.op.type == type]


def test_values_that_are_computed_alike_correspond() -> None:
    first, second = models()
    pairs = Pairs(first, second)
    twin = {value: pairs.first_by_name[name] for value, name in pairs.of_second.items()}
    assert [twin.get(value) for value in named(second, "Tanh")] == named(first, "Tanh")
    # Operands in another order are another value.
    assert [twin.get(value) for value in named(second, "Subtract")] == named(first, "Sub")
    assert [twin.get(value) for value in named(second, "Multiply")] == named(first, "Mul")


def test_loops_correspond_if_values_in_their_bodies_do() -> None:
    first, second = models()
    for node in all_nodes(second.graph):
        if node.op.type == "TensorIterator":
            node.name = "another"
            for value in node.outputs:
                value.names = ()
        if node.op.type == "Tanh":
            node.name = "u"
    loops = {(left.name, right.name) for left, right in Pairs(first, second).loops()}
    assert ("a", "another") in loops
