"""Gradients written out, against differences of the values of the function itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from irloop.execution.session import Session
from irloop.formats.onnx import reader

HEAD = '<ir_version: 8, opset_import: ["" : 13, "ai.onnx.preview.training" : 1]>\n'
A = np.array([[0.5, 1.5, 2.0], [0.25, 1.0, 3.0]])
B = np.array([[1.5, 0.5, 0.75], [2.0, 0.5, 1.25]])


def model(body: str, a: str = "double[2,3]", b: str = "double[2,3]") -> Any:
    text = f"""{HEAD} g ({a} a, {b} b) => (double y, double da, double db) {{
        {body}
        da, db = ai.onnx.preview.training.Gradient <xs = ["a", "b"], y = "y"> (a, b) }}"""
    proto = onnx.parser.parse_model(text)
    for item in proto.graph.output:
        item.type.tensor_type.ClearField("shape")
    return proto


def differences(session: Session, inputs: dict[str, Any], name: str) -> Any:
    """How the sum of y changes with each element of an input."""
    step, result = 1e-6, np.zeros_like(inputs[name])
    for at in np.ndindex(*result.shape):
        totals = []
        for sign in (1, -1):
            moved = {key: value.copy() for key, value in inputs.items()}
            moved[name][at] += sign * step
            totals.append(session.run(moved)["y"].sum())
        result[at] = (totals[0] - totals[1]) / (2 * step)
    return result


def assert_gradients(proto: Any, a: Any, b: Any) -> None:
    session, inputs = Session(reader.from_proto(proto)), {"a": a, "b": b}
    found = session.run(inputs)
    for name in inputs:
        expected = differences(session, inputs, name)
        assert found[f"d{name}"].shape == expected.shape
        np.testing.assert_allclose(found[f"d{name}"], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "y = Add (a, b)",
        "s = Sub (a, b) y = Mul (s, a)",
        "y = Div (a, b)",
        "y = Pow (a, b)",
        "s = Mul (a, a) t = Sqrt (s) n = Neg (t) y = Sum (n, b, a)",
        "e = Exp (a) l = Log (b) y = Mul (e, l)",
        "e = Tanh (a) l = Sigmoid (b) y = Div (e, l)",
        "s = Sin (a) c = Cos (b) y = Mul (s, c)",
        "d = Sub (a, b) r = Relu (d) m = Abs (d) y = Add (r, m)",
        "r = Reciprocal (a) p = Softplus (b) i = Identity (p) y = Mul (r, i)",
        "t = Transpose (b) y = MatMul (a, t)",
        "y = Gemm <transB = 1, alpha = 0.5> (a, b)",
        "y = Gemm <transA = 1> (a, b)",
        "t = Transpose <perm = [1, 0]> (a) y = Gemm <transA = 1, transB = 1> (t, b)",
        "m = ReduceMean <axes = [1], keepdims = 0> (a) s = ReduceSum (b) y = Mul (m, s)",
        "m = ReduceMean <axes = [-1]> (a) y = Mul (m, b)",
        "f = Flatten <axis = 0> (a) g = Flatten <axis = 0> (b) y = Mul (f, g)",
        "y = Identity (a)",
    ],
)
def test_derivatives(body: str) -> None:
    assert_gradients(model(body), A, B)


@pytest.mark.parametrize("b", ["double[3]", "double[1,3]", "double[N,3]"])
def test_what_is_broadcast_is_summed(b: str) -> None:
    proto = model("p = Mul (a, b) y = Sub (p, b)", b=b)
    assert_gradients(proto, A, B[0] if b == "double[3]" else B[:1])


def test_another_point_than_the_named_one() -> None:
    """d(a * b) at (a, 7) with respect to a is 7, whatever b is."""
    proto = onnx.parser.parse_model(
        f"""{HEAD} g (float[1] a, float[1] b, float[1] c) => (float[1] da) {{
            y = Mul (a, b)
            da = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], y = "y"> (a, c) }}"""
    )
    one, seven = np.ones(1, np.float32), np.full(1, 7, np.float32)
    found = Session(reader.from_proto(proto)).run({"a": one, "b": one, "c": seven})
    assert found["da"].tolist() == [7]


def test_second_derivatives() -> None:
    """a ** 3 -> 3 a ** 2 -> 6 a."""
    proto = onnx.parser.parse_model(
        f"""{HEAD} g (float[2] a) => (float[2] dda) {{
            s = Mul (a, a)
            y = Mul (s, a)
            da = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a)
            dda = ai.onnx.preview.training.Gradient <xs = ["a"], y = "da"> (a) }}"""
    )
    found = Session(reader.from_proto(proto)).run({"a": np.array([2, 5], np.float32)})
    assert found["dda"].tolist() == [12, 30]


@pytest.mark.parametrize(
    "body",
    [
        "y = Erf (a)",
        "p = Custom (a) y = Add (p, b)",
        "y = Mul (a)",
        "y = MatMul (a, b)",
    ],
)
def test_what_cannot_be_written_out_stays(body: str) -> None:
    b = "double[4,3,2]" if "MatMul" in body else "double[2,3]"
    kinds = {node.op.label for node in reader.from_proto(model(body, b=b)).graph.nodes}
    assert "ai.onnx.preview.training.Gradient-1" in kinds


def test_names_that_are_none_stay() -> None:
    proto = model("y = Add (a, b)")
    for name, value in (("xs", 3), ("xs", [b"\xff"]), ("y", [1.0])):
        damaged = onnx.ModelProto()
        damaged.CopyFrom(proto)
        node = damaged.graph.node[1]
        kept = [item for item in node.attribute if item.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])
        kinds = {node.op.label for node in reader.from_proto(damaged).graph.nodes}
        assert "ai.onnx.preview.training.Gradient-1" in kinds
