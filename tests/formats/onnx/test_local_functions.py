"""Expanded functions: names, attributes, opsets, limits; ONNX Runtime gives the expected values."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import irloop
from irloop.errors import ReadError
from irloop.execution.session import Session
from irloop.formats.onnx import reader, writer

HEAD = '<ir_version: 10, opset_import: ["" : 17, "my" : 1]>\n'
DOMAIN = '\n<domain: "my", opset_import: ["" : 17, "my" : 1]>\n'

X = np.array([1, -2], np.float32)


def parsed(graph: str, *functions: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + graph + "".join(DOMAIN + text for text in functions))


def on_onnxruntime(proto: onnx.ModelProto, inputs: dict[str, Any]) -> list[Any]:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, inputs))


def gives(proto: onnx.ModelProto, inputs: dict[str, Any], expected: list[Any]) -> None:
    """Assert that the model returns the expected values, in irloop and, after it was saved, in ONNX
    Runtime.

    ONNX Runtime computes bodies incorrectly that return their own input or one value twice (rules
    ONX310 and ONX402), so such results are made separate values in the saved model.
    """
    model = reader.from_proto(proto)
    written = writer.to_proto_model(model)
    assert not written.functions
    onnx.checker.check_model(written, full_check=True)
    separate, _ = irloop.transform(model, ["separate_results"])
    separated = writer.to_proto_model(separate)
    for found in (Session(model).run(inputs).values(), on_onnxruntime(separated, inputs)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_function_with_a_loop_body_that_returns_its_condition_is_expanded() -> None:
    proto = parsed(
        "g (float[2] x, int64 n) => (float[2] y) { y = my.F (x, n) }",
        """F (x, n) => (y) {
            y = Loop <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] r)
                { r = Mul (a, x) }> (n, "", x)
        }""",
    )
    for n in (0, 1, 3):
        inputs = {"x": X, "n": np.array(n)}
        gives(proto, inputs, [X ** (n + 1)])
        gives(proto, inputs, on_onnxruntime(proto, inputs))


def test_a_function_with_a_loop_body_that_returns_one_value_twice_is_expanded() -> None:
    proto = parsed(
        "g (float[2] x) => (float[2] y, float[2] z, float[k,2] v, float[k,1] w)"
        " { y, z, v, w = my.F (x) }",
        """F (x) => (y, z, v, w) {
            n = Constant <value_int = 2> ()
            y, z, v, w = Loop <body = b (int64 i, bool c, float[2] a, float[2] k)
                => (bool c, float[2] r, float[2] r, float[2] r, float[1] half)
                <float[1] half = {0.5}> { r = Neg (a) }> (n, "", x, x)
        }""",
    )
    gives(proto, {"x": X}, [X, X, np.stack([-X, X]), np.full((2, 1), 0.5, np.float32)])


def test_a_function_with_a_scan_body_that_returns_its_element_is_expanded() -> None:
    proto = parsed(
        "g (float[2,2] x, bool p) => (float[2,2] y, float[2] a, float[2] b)"
        " { y, a, b = my.F (x, p) }",
        """F (x, p) => (y, a, b) {
            s, y = Scan <num_scan_inputs: int = 1, body = each (float[2] t, float[2] e)
                => (float[2] u, float[2] e) { u = Add (t, e) }> (zero, x)
            zero = Constant <value_floats = [0.0, 0.0]> ()
            a, b = If (p) <then_branch = yes () => (float[2] m, float[2] m) { m = Neg (s) },
                           else_branch = no () => (float[2] m, float[2] q)
                                { m = Abs (s)  q = Exp (zero) }>
        }""",
    )
    x = np.array([[1, -2], [3, -4]], np.float32)
    gives(proto, {"x": x, "p": np.array(True)}, [x, -x.sum(0), -x.sum(0)])
    gives(proto, {"x": x, "p": np.array(False)}, [x, abs(x.sum(0)), np.ones(2, np.float32)])


def test_names_of_a_function_are_its_own() -> None:
    """A function and its caller use the same names; the body keeps its captured value."""
    proto = parsed(
        "g (float[2] a, float[2] x) => (float[2] y, float[2] r) {"
        " r__1 = Add (a, a)  y, r = my.F (r__1, a) }",
        """F (x, a) => (r, y) {
            t = Constant <value = bool {1}> ()
            r = If (t) <then_branch = b1 () => (float[2] y__1) { y__1 = Sub (x, a) },
                        else_branch = b2 () => (float[2] r__1) { r__1 = Add (x, a) }>
            n = Constant <value_int = 1> ()
            y = Loop <body = b (int64 i, bool c, float[2] x) => (bool d, float[2] a)
                { d = Identity (c)  a = Mul (x, r) }> (n, "", x)
        }""",
    )
    a, unread = np.array([3, 5], np.float32), np.zeros(2, np.float32)
    inputs = {"a": a, "x": unread}
    gives(proto, inputs, [a, 2 * a * a])


def test_a_function_that_returns_its_input_is_expanded() -> None:
    proto = parsed(
        "g (float[2] x) => (float[2] a, float[2] b, float[2] d)"
        ' { a, b = my.F (x)  "", d = my.F (b) }',
        "F (x) => (x, y) { y = Neg (x) }",
    )
    gives(proto, {"x": X}, [X, -X, X])


def test_inputs_and_outputs_that_a_call_leaves_out() -> None:
    proto = parsed(
        'g (float[2] x, float h) => (float[2] y, float[2] z) { y = my.F (x)  z = my.F (x, "", h) }',
        "F (x, low, high) => (y, unread) { y = Clip (x, low, high)  unread = Neg (y) }",
    )
    x = np.array([3, -3], np.float32)
    inputs = {"x": x, "h": np.array(2, np.float32)}
    gives(proto, inputs, [x, np.array([2, -3], np.float32)])


def test_attributes_of_a_call_reach_bodies_and_inner_functions() -> None:
    proto = parsed(
        "g (float[2] x, bool p) => (float[2] y, float[2] z)"
        " { y = my.F <alpha = 0.5> (x, p)  z = my.F (x, p) }",
        """F <beta, alpha: float = 0.25> (x, p) => (y) {
            y = If (p) <then_branch = yes () => (float[2] m)
                            { m = LeakyRelu <alpha: float = @alpha> (x) },
                        else_branch = no () => (float[2] n) { n = my.G <slope: float = @beta> (x) }>
        }""",
        # No call passes `beta`, so `slope` is omitted, and so is LeakyRelu's own attribute.
        "G <slope> (x) => (y) { y = LeakyRelu <alpha: float = @slope> (x) }",
    )
    x, half, quarter = (np.array([1, low], np.float32) for low in (-2, -1, -0.5))
    gives(proto, {"x": x, "p": np.array(True)}, [half, quarter])
    default = np.array([1, np.float32(-2) * np.float32(0.01)], np.float32)
    gives(proto, {"x": x, "p": np.array(False)}, [default, default])


def test_a_graph_that_a_call_passes_reads_the_callers_values() -> None:
    """`then_branch` and `else_branch` are attributes whose graphs use a name that the function
    uses, too.
    """
    proto = parsed(
        "g (float[2] x, bool p) => (float[2] y) { y = my.F (p, x) }",
        """F (p, h) => (y) { y = my.G <yes = b1 () => (float[2] h2) { h2 = Neg (h) },
                                       no = b2 () => (float[2] h2) { h2 = my.H (h) }> (p) }""",
        "H (h) => (h2) { h2 = Add (h, h) }",
    )
    function = helper.make_function(
        "my",
        "G",
        ["h"],
        ["h2"],
        [helper.make_node("If", ["h"], ["h2"])],
        proto.functions[0].opset_import,
        ["yes", "no"],
    )
    for name, source in (("then_branch", "yes"), ("else_branch", "no")):
        attribute = function.node[0].attribute.add(name=name, ref_attr_name=source)
        attribute.type = onnx.AttributeProto.GRAPH
    proto.functions.append(function)
    gives(proto, {"x": X, "p": np.array(True)}, [-X])
    gives(proto, {"x": X, "p": np.array(False)}, [X + X])


def test_unknown_sizes_of_two_calls_are_different() -> None:
    proto = parsed(
        "g (float[2] x, float[3] w) => (float[2] y, float[3] z) { y = my.F (x)  z = my.F (w) }",
        """F (x) => (y) {
            n = Constant <value_int = 2> ()
            y = Loop <body = b (int64 i, bool c, float[N] a) => (bool d, float[N] r)
                { d = Identity (c)  r = Neg (a) }> (n, "", x)
        }""",
    )
    w = np.array([1, 2, 3], np.float32)
    gives(proto, {"x": X, "w": w}, [X, w])
    loops = [node for node in reader.from_proto(proto).graph.nodes if node.op.type == "Loop"]
    first, second = (str(node.bodies[0].graph.parameters[2].outputs[0].type) for node in loops)
    assert first != second


def test_overloads_are_different_functions() -> None:
    proto = parsed(
        "g (float[2] x) => (float[2] y, float[2] z) { y = my.F:a (x)  z = my.F:b (x) }",
        "F (x) => (y) { y = Neg (x) }",
        "F (x) => (y) { y = Add (x, x) }",
    )
    for node, function, overload in zip(proto.graph.node, proto.functions, "ab", strict=True):
        node.op_type, node.overload, function.overload = "F", overload, overload
    gives(proto, {"x": X}, [-X, X + X])


def test_a_function_of_an_older_opset_whose_operations_are_the_same() -> None:
    """Neg-13 is the version for opsets 14 and 17; Relu changed in opset 14, BatchNormalization in
    opset 15.
    """
    proto = parsed(
        "g (float[2] x) => (float[2] y) { y = my.F (x) }", "F (x) => (y) { y = Neg (x) }"
    )
    proto.functions[0].opset_import[0].version = 14
    gives(proto, {"x": X}, [-X])
    proto.functions[0].node[0].op_type = "BatchNormalization"
    with pytest.raises(ReadError, match="its BatchNormalization is of a different opset"):
        reader.from_proto(proto)


def test_domains_that_only_a_function_imports() -> None:
    proto = parsed(
        "g (float[2] x) => (float[2] y) { y = my.F (x) }",
        "F (x) => (y) { y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) }",
    )
    proto.functions[0].opset_import.add(domain="ai.onnx.ml", version=3)
    gives(proto, {"x": X}, [2 * (X - 1)])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("F (x) => (y) { y = Add (x, w) }", "function 'F' of the model reads 'w'"),
        ("F (x) => (z) { y = Neg (x) }", "function 'F' of the model reads 'z'"),
        ("F (x) => (y) { y = Neg (x)  y = Abs (x) }", "function 'F' of the model: 'y' is defined"),
        (
            "F () => (y) { y = Constant <value_int = 2> () }",
            "has more inputs or outputs than function 'F'",
        ),
        ("F (x) => (y) { y = my.F (x) }", "'F' of the model calls itself"),
    ],
)
def test_functions_that_contradict_themselves(function: str, message: str) -> None:
    """`w` is a value of the main graph, which a function cannot read."""
    proto = parsed("g (float[2] x) => (float[2] y) { w = Neg (x)  y = my.F (x) }", function)
    with pytest.raises(ReadError, match=message):
        reader.from_proto(proto)


def doubling(levels: int, leaf: list[onnx.NodeProto]) -> onnx.ModelProto:
    """A model with functions, each of which calls the previous one twice."""
    proto = parsed(f"g (float[2] x) => (float[2] y) {{ y = my.f{levels} (x) }}")
    for level in range(levels + 1):
        inner = [
            helper.make_node(f"f{level - 1}", ["a"], ["c"], domain="my"),
            helper.make_node(f"f{level - 1}", ["c"], ["b"], domain="my"),
        ]
        nodes = inner if level else leaf
        proto.functions.append(
            helper.make_function("my", f"f{level}", ["a"], ["b"], nodes, proto.opset_import)
        )
    return proto


def test_functions_that_double_are_refused_before_they_are_expanded() -> None:
    proto = doubling(20000, [helper.make_node("Neg", ["a"], ["b"])])
    with pytest.raises(ReadError, match="too many nodes") as caught:
        reader.from_proto(proto)
    assert "each call of 'f" in str(caught.value)
    # 2 ** 11 copies of Neg are an even number, so the result is x.
    gives(doubling(11, [helper.make_node("Neg", ["a"], ["b"])]), {"x": X}, [X])


def test_constants_in_functions_that_double_are_counted() -> None:
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2**18], bytes(2**20), raw=True)
    leaf = [
        helper.make_node("Constant", [], ["w"], value=weight),
        helper.make_node("Identity", ["a"], ["b"]),
    ]
    with pytest.raises(ReadError, match="too many nodes"):
        reader.from_proto(doubling(9, leaf))


def test_graphs_that_functions_pass_on_twice_are_counted() -> None:
    """Each function passes on a graph with twice the nodes of the graph that it gets."""
    functions = [
        f"""f{level} <way> (p) => (y) {{
            y = my.f{level + 1} <way = b () => (t)
                {{ t = If (p) <then_branch: graph = @way, else_branch: graph = @way> }}> (p)
        }}"""
        for level in range(25)
    ]
    proto = parsed(
        """g (float[2] x, bool p) => (float[2] y)
           { y = my.f0 <way = b () => (float[2] t) { t = Neg (x) }> (p) }""",
        *functions,
        """f25 <way> (p) => (y)
            { y = If (p) <then_branch: graph = @way, else_branch: graph = @way> }""",
    )
    with pytest.raises(ReadError, match="functions of the model expand to"):
        reader.from_proto(proto)
    proto.functions[3].node[0].op_type = "f25"
    gives(proto, {"x": X, "p": np.array(True)}, [-X])
