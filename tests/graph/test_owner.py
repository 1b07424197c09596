"""The loops and Ifs around a node, and the outer values that body parameters hold."""

from __future__ import annotations

import onnx.parser

import irloop
from irloop.graph.loops import Carried
from irloop.graph.walk import body_around, entry_of, invariant_of, owners

NESTED = """<ir_version: 8, opset_import: ["" : 17]>
nested (float[2] x, int64 trips, bool go) => (float[2] y) {
  y = Loop (trips, go, x) <body = outer (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
    d = Identity (c)
    t = If (c) <
      then_branch = yes () => (float[2] a) { a = Add (s, x) },
      else_branch = no () => (float[2] b) { b = Neg (s) }
    >
  }>
}"""


def test_the_owners_of_a_node_come_inside_out() -> None:
    model = irloop.read_model(onnx.parser.parse_model(NESTED).SerializeToString())
    (loop,) = model.graph.nodes
    choice = next(node for node in loop.body().graph.nodes if node.op.type == "If")
    (add,) = choice.body("then").graph.nodes
    assert loop.owner is None
    assert add.owner is choice
    assert [*owners(add)] == [choice, loop]
    assert [*owners(loop)] == []
    assert body_around(add) == (choice, choice.body("then"))
    assert body_around(loop) is None


def test_a_parameter_is_followed_to_its_port_and_only_an_invariant_to_a_value() -> None:
    model = irloop.read_model(onnx.parser.parse_model(NESTED).SerializeToString())
    (loop,) = model.graph.nodes
    body = loop.body()
    iteration, _, state, captured = body.graph.inputs
    entry = entry_of(state)
    assert entry is not None
    assert entry[:2] == (loop, body)
    assert isinstance(entry[2], Carried)
    assert invariant_of(state) is None
    assert invariant_of(captured) is model.graph.inputs[0]
    assert entry_of(iteration) is None
    assert entry_of(model.graph.inputs[0]) is None
