"""Cases of files that exist although no specification allows them."""

from __future__ import annotations

from dataclasses import replace

from irloop.conformance.case import Case, run
from irloop.conformance.ir import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.loops import PortMap, Sliced
from irloop.graph.model import Model
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType

__all__ = ["CASES"]

ONNX = "ONNX outside of the standard: refused, or as meant"
OPENVINO = "IR outside of the specification: refused, or as meant"

I64 = ElementType.I64


def _onnx(graph: str) -> str:
    return f'<ir_version: 8, opset_import: ["": 17]>\n{graph}'


def _part_size_zero() -> Model:
    m = IrModel()
    x = m.input("x", 3, 2)
    loop = m.tensor_iterator()
    part = loop.slice(x, 0)
    loop.joined(loop(Add(), part, part), 0)
    model = m.done(*loop.done())
    (node,) = [item for item in model.graph.nodes if item.bodies]
    body = node.body()
    inputs = tuple(
        replace(port, part_size=0) if isinstance(port, Sliced) else port
        for port in body.ports.inputs
    )
    ports = PortMap(inputs, body.ports.outputs)
    Rewriter(model.graph).set_bodies(node, (replace(body, ports=ports),))
    return model


def _joined_value_grows() -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.loop(m.constant(3, I64))
    state = loop.state(x)
    grown = loop(Concat(0), state, state)
    loop.carry(state, grown)
    loop.joined(loop(Add(), state, state), 0)
    loop.last(grown)
    return m.done(*loop.done())


def _state_changes_rank() -> Model:
    m = IrModel()
    x = m.input("x", 2)
    loop = m.loop(m.constant(2, I64))
    state = loop.state(x)
    more = loop(Unsqueeze(), state, loop.constant([0], I64))
    loop.carry(state, loop(Add(), more, more))
    loop.last(more)
    return m.done(*loop.done())


CASES = (
    Case(
        "body_returns_an_outer_value",
        ONNX,
        "ONNX IR",
        "The outputs of a graph are values of that graph.",
        _onnx("""
g (bool c, float[2] x) => (float[2] y) {
  y = If (c) <then_branch = t () => (float[2] x) { },
              else_branch = e () => (float[2] n) { n = Neg (x) }>
}"""),
        (run([True, [1, -2]], [[1, -2]]), run([False, [1, -2]], [[-1, 2]])),
        may_be_refused=True,
    ),
    Case(
        "body_defines_an_outer_name",
        ONNX,
        "ONNX IR",
        "The names of a nested graph must not shadow those of the graph around it.",
        _onnx("""
g (int64 n, float[2] x) => (float[2] y) {
  a = Neg (x)
  y = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[2] t) {
    a = Add (s, s)  t = Add (a, x)
  }> (n, "", x)
}"""),
        # 3 * x, then 7 * x
        (run([1, [1, -2]], [[3, -6]]), run([2, [1, -2]], [[7, -14]])),
        may_be_refused=True,
    ),
    Case(
        "body_input_without_type",
        ONNX,
        "ONNX IR",
        "Each input of a graph has a type; that of a body input can be inferred.",
        _onnx("""
g (int64 n, float[2] x) => (float[2] y) {
  y = Loop <body = b (i, c, s) => (bool c, float[2] t) { t = Add (s, x) }> (n, "", x)
}"""),
        (run([1, [1, -2]], [[2, -4]]), run([3, [1, -2]], [[4, -8]])),
        may_be_refused=True,
    ),
    Case(
        "state_grows_in_a_branch",
        ONNX,
        "ONNX IR",
        "The shape of a state may change between iterations; this body declares it as that of the "
        "first.",
        _onnx("""
g (int64 n) => (float[k] y) <float[0] none = {}, float[1] one = {1.0}> {
  y = Loop <body = b (int64 i, bool c, float[0] s) => (bool c, float[p] t) {
    later = Cast <to = 9> (i)
    t = If (later) <then_branch = grow () => (float[u] a) { a = Concat <axis = 0> (s, one) },
                    else_branch = keep () => (float[v] b) { b = Identity (s) }>
  }> (n, "", none)
}"""),
        (run([2], [[1]]), run([4], [[1, 1, 1]])),
        may_be_refused=True,
    ),
    Case(
        "iterator_part_size_zero",
        OPENVINO,
        "OpenVINO TensorIterator-1",
        "part_size is the size of a slice.",
        _part_size_zero,
        (run([[[1, 2], [3, 4], [5, 6]]], [None]),),
        may_be_refused=True,
    ),
    Case(
        "openvino_loop_joins_a_growing_value",
        OPENVINO,
        "OpenVINO Loop-5",
        "Outputs with an axis are concatenated from slices of one size in each iteration.",
        _joined_value_grows,
        # The state has 1, 2 and 4 rows; each slice of the output is the state times 2.
        (run([[[1, 2]]], [[[2, 4]] * 7, [[1, 2]] * 8]),),
        may_be_refused=True,
    ),
    Case(
        "openvino_loop_state_changes_rank",
        OPENVINO,
        "OpenVINO Loop-5",
        "A back edge leads to a parameter of the same rank.",
        _state_changes_rank,
        (run([[1, 2]], [[[[2, 4]]]]),),
        may_be_refused=True,
    ),
)
