"""Operations that are computed once for all slices return the same as slice by slice."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irloop.execution.limits import Limits
from irloop.execution.loops import Loop
from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.graph.model import Model

SCAN = """
<ir_version: 8, opset_import: ["" : 16]>
m (float[2,3] s0, float[n,DIMS] xs, float[3] k, float[DIMS] like, float[3,4] w)
   => (float[2,3] s, float[n,A] ys) {
   shape = Constant <value_ints = [-1]> ()
   axes = Constant <value_ints = [0]> ()
   s, ys = Scan <num_scan_inputs = 1, body = f (float[2,3] a, float[DIMS] x)
      => (float[2,3] b, float[A] y) {
      BODY
      one = Constant <value_float = 1.0> ()
      b = Add (a, one)
   }> (s0, xs)
}
"""


def model(dims: str, body: str) -> Model:
    text = SCAN.replace("DIMS", dims).replace("BODY", body)
    return reader.from_proto(onnx.parser.parse_model(text))


def whole_steps(session: Session) -> list[str]:
    """The types of the loop's operations that are computed for all slices at once."""
    loop = session._program.steps[0].fn
    assert isinstance(loop, Loop)
    return [step.node.op.type for step in loop.program.whole]


@pytest.mark.parametrize(
    ("dims", "body", "whole"),
    [
        ("2,3", "t = Tanh (x) y = Neg (t)", ["Tanh", "Neg"]),
        ("2,3", "y = Add (x, k)", ["Add"]),
        ("2,3", "y = Sub (k, x)", ["Sub"]),
        ("3", "t = Abs (x) u = Sqrt (t) y = Mul (u, k)", ["Abs", "Sqrt", "Mul"]),
        ("1", "y = Mul (x, k)", ["Mul"]),
        ("2,1", "t = Mul (x, k) y = Sub (t, x)", ["Mul", "Sub"]),
        ("2,3", "t = ReduceSum <keepdims = 0> (x) y = Add (t, x)", []),
        ("2,3", "y = MatMul (x, w)", ["MatMul"]),
        ("3", "y = MatMul (x, w)", ["MatMul"]),
        ("5,2,3", "y = MatMul (x, w)", ["MatMul"]),
        ("2,3", "y = Reshape (x, shape)", ["Reshape"]),
        ("1,3", "t = Squeeze (x, axes) y = MatMul (t, w)", ["Squeeze", "MatMul"]),
        ("2,3", "t = Add (x, a) y = Neg (t)", []),
        ("2,3", "t = Add (x, x) y = Mul (t, a)", ["Add"]),
        ("2,3", "c = Greater (x, k) y = Cast <to = 1> (c)", ["Greater", "Cast"]),
        ("2,3", "t = Exp (x) y = Gather <axis = 0> (t, axes)", ["Exp"]),
    ],
)
@pytest.mark.parametrize("count", [1, 4, 9])
def test_all_slices_at_once_give_the_same_as_one_by_one(
    dims: str, body: str, whole: list[str], count: int
) -> None:
    subject = model(dims, body)
    session = Session(subject)
    assert whole_steps(session) == whole
    random = np.random.default_rng(count)
    shape = tuple(map(int, dims.split(",")))
    inputs = [
        random.standard_normal(size).astype(np.float32)
        for size in ((2, 3), (count, *shape), (3,), shape, (3, 4))
    ]
    found = session.run(inputs)
    plain = Session(subject, hoist=False).run(inputs)
    for name, value in plain.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-6)


def test_slices_are_processed_one_by_one_if_memory_is_short() -> None:
    subject = model("2,3", "y = Tanh (x)")
    xs = np.ones((10_000, 2, 3), np.float32)
    start, ones = np.zeros((2, 3), np.float32), np.ones((3, 4), np.float32)
    inputs = [start, xs, ones[:, 0], xs[0], ones]
    # Input and output take 240 kB each, so a second output of this size would not fit.
    found = Session(subject).run(inputs, limits=Limits(max_memory=300_000))
    np.testing.assert_allclose(found["ys"], np.tanh(xs))
