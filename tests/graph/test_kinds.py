"""A graph knows the classes of its operations, and whether they have bodies, after every change."""

from __future__ import annotations

import onnx.parser

from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.formats.onnx import reader
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.walk import all_graphs, count_nodes, has_op, kinds_of
from irloop.passes.common.unroll import Unroll
from irloop.passes.manager import Manager

F32 = TensorType(ElementType.F32, Shape.of(2))
LOOP = """<ir_version: 8, opset_import: ["" : 17]>
loop (float[2] x) => (float[2] y) <int64 m = {2}, bool yes = {1}> {
   y = Loop (m, yes, x) <body = step (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
      d = Identity (c)
      t = Neg (s)
   }>
}"""


def require_counted(graph: Graph) -> None:
    """Compare what each graph knows with its nodes."""
    total = 0
    for each in all_graphs(graph):
        nodes = list(each.nodes)
        total += len(nodes)
        assert set(each.kinds) == {type(node.op) for node in nodes}
        assert each.has_bodies == any(node.bodies for node in nodes)
    assert count_nodes(graph) == total


def test_changes_of_a_graph_are_counted() -> None:
    b = Builder(Graph("sums"))
    x = b.parameter("x", F32)
    first = b.emit(Add(), x, x, name="first")
    second = b.emit(Add(), first.output, x, name="second")
    b.result(second.output, "out")
    require_counted(b.graph)
    rewriter = Rewriter(b.graph)
    rewriter.replace_op(second, Multiply())
    assert kinds_of(b.graph) == {Add, Multiply}
    made = rewriter.insert(Multiply(), (x, x), before=first, name="made")
    rewriter.replace_node(first, [made.output])
    assert kinds_of(b.graph) == {Multiply}
    assert not has_op(b.graph, Add, Constant)
    require_counted(b.graph)


def test_a_loop_and_its_body_are_counted_until_it_is_unrolled() -> None:
    model = reader.from_proto(onnx.parser.parse_model(LOOP))
    loop, neg = ONNX.find("Loop", 17), ONNX.find("Neg", 17)
    assert loop is not None
    assert neg is not None
    assert [each.has_bodies for each in all_graphs(model.graph)] == [True, False]
    assert neg not in model.graph.kinds
    assert has_op(model.graph, neg)
    require_counted(model.graph)
    Manager([Unroll()]).run_passes(model)
    assert [each.has_bodies for each in all_graphs(model.graph)] == [False]
    assert not has_op(model.graph, loop)
    assert neg in model.graph.kinds
    require_counted(model.graph)
