"""Bodies: captured values become inputs when a model is read, and captured values again when it is
written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from irloop.errors import ReadError, WriteError
from irloop.formats.onnx import reader, writer
from irloop.graph.loops import Carried, Invariant, LastValue, PortMap, ScanInput, ScanOutput
from irloop.graph.model import Model, Node
from irloop.graph.verify import verify

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def parsed(text: str, head: str = HEAD) -> onnx.ModelProto:
    return onnx.parser.parse_model(head + text)


def model_of(text: str, head: str = HEAD) -> Model:
    model = reader.from_proto(parsed(text, head))
    verify(model.graph)
    return model


def node_of(model: Model, type: str) -> Node:
    return next(node for node in model.graph.nodes if node.op.type == type)


def again(model: Model) -> onnx.ModelProto:
    proto = writer.to_proto_model(model)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def run(proto: onnx.ModelProto, **feeds: Any) -> list[Any]:
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    results: list[Any] = session.run(None, feeds)
    return results


LOOP = """
g (int64 n, float[2] start, float[2] step) => (float[2] last, float[k,2] all) {
  yes = Constant <value = bool {1}> ()
  last, all = Loop (n, yes, start) <body = b
    (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[2] u)
    { d = Identity (c)
      t = Add (s, step)
      u = Identity (t) }>
}
"""


def test_loop_ports_and_captures() -> None:
    loop = node_of(model_of(LOOP), "Loop")
    (body,) = loop.bodies
    assert [value and value.name for value in loop.inputs] == ["n", "yes", "start", "step"]
    assert [node.name for node in body.graph.parameters] == ["i", "c", "s", "step"]
    assert body.ports == PortMap(
        (Carried(1, 1, 0), Carried(2, 2, 1), Invariant(3, 3)),
        (LastValue(1, 0), ScanOutput(2, 1)),
        iteration=0,
        condition=0,
    )


def test_loop_is_folded_back_and_still_counts() -> None:
    proto = again(model_of(LOOP))
    loop = proto.graph.node[1]
    assert list(loop.input) == ["n", "yes", "start"]
    assert [item.name for item in loop.attribute[0].g.input] == ["i", "c", "s"]
    one = np.ones(2, np.float32)
    last, total = run(proto, n=np.array(3), start=one, step=2 * one)
    assert last.tolist() == [7.0, 7.0]
    assert total.tolist() == [[3.0, 3.0], [5.0, 5.0], [7.0, 7.0]]


def test_loop_without_trip_count_and_condition() -> None:
    text = """
    g (float[1] x) => (float[1] y) {
      y = Loop (, , x) <body = b (int64 i, bool c, float[1] s) => (bool d, float[1] t)
        { d = Constant <value = bool {0}> ()
          t = Neg (s) }>
    }"""
    loop = node_of(model_of(text), "Loop")
    assert loop.inputs[:2] == (None, None)
    assert list(again(model_of(text)).graph.node[0].input) == ["", "", "x"]


def test_loop_without_state() -> None:
    text = """
    g (int64 n) => (int64[k] y) {
      y = Loop (n) <body = b (int64 i, bool c) => (bool d, int64 e)
        { d = Identity (c)
          e = Identity (i) }>
    }"""
    loop = node_of(model_of(text), "Loop")
    assert len(loop.inputs) == 2
    assert loop.body().ports.outputs == (ScanOutput(1, 0),)
    (result,) = run(again(model_of(text)), n=np.array(3))
    assert result.tolist() == [0, 1, 2]


def test_all_outputs_of_a_loop_have_names() -> None:
    # onnxruntime ends the process if an output of a Loop has no name.
    proto = parsed(LOOP.replace("last, all = Loop", ", all = Loop").replace("float[2] last, ", ""))
    written = again(reader.from_proto(proto))
    assert all(written.graph.node[1].output)
    assert len(written.graph.node[1].output) == 2


NESTED = """
g (bool p, float[2] x, float[2] w) => (float[2] y) {
  n = Constant <value = int64 {2}> ()
  y = Loop (n, , x) <body = outer
    (int64 i, bool c, float[2] s) => (bool d, float[2] t)
    { d = Identity (c)
      t = If (p) <
        then_branch = yes () => (float[2] a) { a = Add (s, w) },
        else_branch = no () => (float[2] b) { b = Sub (s, w) }
      > }>
}
"""


def test_captures_through_two_levels() -> None:
    model = model_of(NESTED)
    loop = node_of(model, "Loop")
    (outer,) = loop.bodies
    branch = next(node for node in outer.graph.nodes if node.op.type == "If")
    assert [value and value.name for value in loop.inputs] == ["n", None, "x", "p", "w"]
    # Each outer value becomes one input, whatever the number of branches that use it.
    assert [value and value.name for value in branch.inputs] == ["p", "s", "w"]
    assert branch.body("then").ports.inputs == (Invariant(1, 0), Invariant(2, 1))
    assert branch.body("else").ports.outputs == (LastValue(0, 0),)
    one = np.ones(2, np.float32)
    (result,) = run(again(model), p=np.array(False), x=one, w=3 * one)
    assert result.tolist() == [-5.0, -5.0]


def test_a_branch_that_returns_an_outer_value_gets_an_identity() -> None:
    text = """
    g (bool p, float[2] x) => (float[2] y) {
      y = If (p) <
        then_branch = yes () => (float[2] x) { },
        else_branch = no () => (float[2] b) { b = Neg (x) }
      >
    }"""
    model = model_of(text)
    assert node_of(model, "If").body("then").graph.results[0].name == "x"
    proto = again(model)
    (then,) = (item.g for item in proto.graph.node[0].attribute if item.name == "then_branch")
    assert [node.op_type for node in then.node] == ["Identity"]
    assert then.output[0].name not in ("x", "y")
    (result,) = run(proto, p=np.array(True), x=np.ones(2, np.float32))
    assert result.tolist() == [1.0, 1.0]


def test_shadowed_names_become_unique() -> None:
    text = """
    g (int64 n, float[1] x) => (float[1] y) {
      h = Neg (x)
      y = Loop (n, , h) <body = b (int64 n, bool c, float[1] x) => (bool d, float[1] h)
        { d = Identity (c)
          h = Add (x, x) }>
    }"""
    proto = again(model_of(text))
    body = proto.graph.node[1].attribute[0].g
    inner = {item.name for item in (*body.input, *body.output)}
    assert not inner & {"n", "x", "h", "y"}
    (result,) = run(proto, n=np.array(2), x=np.ones(1, np.float32))
    assert result.tolist() == [-4.0]


def test_results_that_return_an_input_or_one_value_twice() -> None:
    text = """
    g (int64 n, float[1] x) => (float[1] y, float[1] z, float[k,1] s) {
      y, z, s = Loop (n, , x, x) <body = b
        (int64 i, bool c, float[1] p, float[1] q) => (bool c, float[1] q, float[1] t, float[1] t)
        { t = Add (p, q) }>
    }"""
    proto = again(model_of(text))
    body = proto.graph.node[0].attribute[0].g
    assert [node.op_type for node in body.node] == ["Add"]
    y, z, _ = run(proto, n=np.array(3), x=np.ones(1, np.float32))
    # The states follow p, q = q, p + q, so they are Fibonacci numbers.
    assert (y.tolist(), z.tolist()) == ([3.0], [5.0])


def test_a_body_with_an_initializer_as_output() -> None:
    text = """
    g (int64 n, float[1] x) => (float[1] y, float[k,1] s) {
      y, s = Loop (n, , x) <body = b
        (int64 i, bool c, float[1] p) => (bool c, float[1] q, float[1] w)
        <float[1] w = {4.0}>
        { q = Add (p, w) }>
    }"""
    y, s = run(again(model_of(text)), n=np.array(2), x=np.ones(1, np.float32))
    assert (y.tolist(), s.tolist()) == ([9.0], [[4.0], [4.0]])


def test_unsorted_nodes_are_sorted_captures_included() -> None:
    proto = parsed(
        """
        g (bool p, float[1] x) => (float[1] y) {
          y = If (p) <
            then_branch = yes () => (float[1] b) { b = Neg (a)  a = Abs (h) },
            else_branch = no () => (float[1] e) { e = Abs (x) }
          >
          h = Neg (x)
        }"""
    )
    model = reader.from_proto(proto)
    verify(model.graph)
    assert [node.name for node in model.graph.nodes] == ["h", "y"]
    (result,) = run(again(model), p=np.array(True), x=np.full(1, 3, np.float32))
    assert result.tolist() == [-3.0]


def test_a_cycle_is_reported_with_its_nodes() -> None:
    proto = parsed("g (float[1] x) => (float[1] y) { a = Add (x, b)  b = Neg (a)  y = Neg (b) }")
    with pytest.raises(ReadError, match=r"cycle") as error:
        reader.from_proto(proto)
    assert "Neg 'b'" in str(error.value)
    assert "Add 'a'" in str(error.value)


def test_a_cycle_through_a_capture_is_found() -> None:
    proto = parsed(
        """
        g (bool p, float[1] x) => (float[1] y) {
          y = If (p) <
            then_branch = yes () => (float[1] b) { b = Neg (h) },
            else_branch = no () => (float[1] e) { e = Abs (x) }
          >
          h = Neg (y)
        }"""
    )
    with pytest.raises(ReadError, match="cycle"):
        reader.from_proto(proto)


def test_an_undefined_name_is_reported_with_the_node_that_reads_it() -> None:
    proto = parsed(
        """
        g (bool p, float[1] x) => (float[1] y) {
          [branch] y = If (p) <
            then_branch = yes () => (float[1] b) { [inner] b = Neg (ghost) },
            else_branch = no () => (float[1] e) { e = Abs (x) }
          >
        }"""
    )
    with pytest.raises(ReadError, match=r"Neg 'branch/then/inner' reads 'ghost'"):
        reader.from_proto(proto)


def test_values_of_a_body_are_not_seen_outside() -> None:
    proto = parsed(LOOP + "")
    proto.graph.node.add(op_type="Neg", name="outside", input=["u"], output=["z"])
    with pytest.raises(ReadError, match="Neg 'outside' reads 'u'"):
        reader.from_proto(proto)


def test_branch_inputs_with_names_of_outer_values_are_captures() -> None:
    # Some exporters declare captured values as inputs of the branch; only names connect them.
    proto = parsed(
        """
        g (bool p, float[1] x) => (float[1] y) {
          y = If (p) <
            then_branch = yes (float[1] x) => (float[1] b) { b = Neg (x) },
            else_branch = no (float[1] x) => (float[1] e) { e = Abs (x) }
          >
        }"""
    )
    written = again(reader.from_proto(proto))
    assert all(not item.g.input for item in written.graph.node[0].attribute)
    (result,) = run(written, p=np.array(True), x=np.ones(1, np.float32))
    assert result.tolist() == [-1.0]


SCAN = """
g (float[2] s, float[3,4,2] a, float[4,3,2] b) => (float[2] t, float[2,4] u) {
  t, u = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [0, 1],
               scan_output_axes = [-1], scan_output_directions = [1],
    body = f (float[2] p, float[3,2] q, float[3,2] r) => (float[2] v, float[2] w)
    { sum = Add (q, r)
      zero = Constant <value = int64[1] {0}> ()
      row = ReduceSum <keepdims = 0> (sum, zero)
      v = Add (p, row)
      w = Identity (row) }> (s, a, b)
}
"""


def test_scan_axes_and_directions_are_ports() -> None:
    ports = node_of(model_of(SCAN), "Scan").body().ports
    assert ports == PortMap(
        (Carried(0, 0, 0), ScanInput(1, 1, 1, False), ScanInput(2, 2, 0, True)),
        # The rank of the result is known, so -1 is its last axis.
        (LastValue(0, 0), ScanOutput(1, 1, 1, True)),
    )


def test_scan_is_written_without_change() -> None:
    before, after = parsed(SCAN), again(model_of(SCAN))
    values = {
        item.name: onnx.helper.get_attribute_value(item)
        for item in after.graph.node[0].attribute
        if item.name != "body"
    }
    assert values == {
        "num_scan_inputs": 2,
        "scan_input_axes": [1, 0],
        "scan_input_directions": [0, 1],
        "scan_output_axes": [1],
        "scan_output_directions": [1],
    }
    rng = np.random.default_rng(0)
    shapes = {"s": (2,), "a": (3, 4, 2), "b": (4, 3, 2)}
    feeds = {name: rng.random(shape).astype(np.float32) for name, shape in shapes.items()}
    for left, right in zip(run(before, **feeds), run(after, **feeds), strict=True):
        np.testing.assert_array_equal(left, right)


def test_scan_of_opset_8_counts_without_the_batch_axis() -> None:
    text = """
    g (float[1,2] s, float[1,3,2] a) => (float[1,2] t, float[1,3,2] u) {
      t, u = Scan <num_scan_inputs = 1, directions = [1],
        body = f (float[2] p, float[2] q) => (float[2] v, float[2] v) { v = Add (p, q) }
        > (, s, a)
    }"""
    head = '<ir_version: 4, opset_import: ["" : 8]>\n'
    scan = node_of(model_of(text, head), "Scan")
    assert scan.inputs[0] is None
    assert scan.body().ports.inputs == (Carried(1, 0, 0), ScanInput(2, 1, 0, True))
    written = writer.to_proto_model(model_of(text, head)).graph.node[0]
    assert list(written.input) == ["", "s", "a"]
    values = {item.name: list(item.ints) for item in written.attribute}
    assert values["directions"] == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LOOP.replace("(n, yes, start)", "(n, yes, start, step)"), "inputs of the body"),
        (LOOP.replace("last, all =", "last, all, more ="), "more outputs than its body"),
        (SCAN.replace("num_scan_inputs = 2", "num_scan_inputs = 4"), "num_scan_inputs"),
        (SCAN.replace("[1, 0], scan_in", "[1], scan_in"), "scan_input_axes"),
        (NESTED.replace("then_branch =", "other ="), "does not have the bodies"),
        (
            NESTED.replace("no () => (float[2] b)", "no () => (float[2] b, float[2] b)"),
            "different numbers of outputs",
        ),
    ],
    ids=["inputs", "outputs", "count", "axes", "branches", "branch-outputs"],
)
def test_bodies_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        reader.from_proto(parsed(text))


def test_captured_values_of_bodies_of_unknown_operations_become_inputs() -> None:
    text = """
    g (float[1] x, float[1] w) => (float[1] y) {
      y = my.Repeat <times = 3, body = b (float[1] p) => (float[1] q) { q = Add (p, w) }> (x)
    }"""
    head = '<ir_version: 8, opset_import: ["" : 17, "my" : 1]>\n'
    model = model_of(text, head)
    (node,) = model.graph.nodes
    assert [value and value.name for value in node.inputs] == ["x", "w"]
    assert node.body("body").ports.inputs == (Invariant(1, 1),)
    written = writer.to_proto_model(model).graph.node[0]
    assert list(written.input) == ["x"]
    assert [item.name for item in written.attribute[1].g.input] == ["p"]
    assert written.domain == "my"


def test_a_port_that_onnx_lacks_is_refused() -> None:
    model = model_of(LOOP)
    loop = node_of(model, "Loop")
    (body,) = loop.bodies
    ports = body.ports
    body.ports = PortMap(
        ports.inputs, (ports.outputs[0], ScanOutput(2, 1, axis=1)), ports.iteration, ports.condition
    )
    with pytest.raises(WriteError, match="stacks outputs only along axis 0"):
        writer.to_proto_model(model)


def test_loop_parameters_nobody_reads_are_written() -> None:
    model = model_of(LOOP)
    (body,) = node_of(model, "Loop").bodies
    body.graph.parameters.pop(0)
    body.ports = PortMap(
        tuple(
            Invariant(port.external, port.parameter - 1)
            if isinstance(port, Invariant)
            else Carried(port.external, port.parameter - 1, port.result)
            for port in body.ports.inputs
            if isinstance(port, Invariant | Carried)
        ),
        body.ports.outputs,
        None,
        body.ports.condition,
    )
    verify(model.graph)
    proto = again(model)
    body_inputs = proto.graph.node[1].attribute[0].g.input
    assert len(body_inputs) == 3
    assert body_inputs[0].type.tensor_type.elem_type == onnx.TensorProto.INT64


def test_a_branch_twice_is_refused() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = a () => (float[2] s) { s = Abs (x) },
                  else_branch = b () => (float[2] t) { t = Neg (x) }> }"""
    proto = onnx.parser.parse_model(text)
    proto.graph.node[0].attribute.append(proto.graph.node[0].attribute[0])
    with pytest.raises(ReadError, match="'then_branch' occurs twice"):
        reader.from_proto(proto)
