"""Iterations that write into arrays allocated once return the same numbers as ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from irloop.errors import ExecutionError
from irloop.execution.iterations import MANY
from irloop.execution.loops import Loop
from irloop.execution.session import Session
from irloop.formats.onnx import reader

ort: Any = onnxruntime

CELL = """
<ir_version: 8, opset_import: ["" : 16]>
m (float[1,32] h0, float[1,32] c0, float[T,1,8] xs, float[8,128] w, float[32,128] r)
   => (float[1,32] h, float[1,32] c, float[T,1,32] ys) {
   h, c, ys = Scan <num_scan_inputs = 1, body = cell
      (float[1,32] hp, float[1,32] cp, float[1,8] x)
      => (float[1,32] hn, float[1,32] cn, float[1,32] y) {
      fed = MatMul (x, w)
      back = MatMul (hp, r)
      gates = Add (fed, back)
      gi, gf, gc, go = Split <axis = 1> (gates)
      i = Sigmoid (gi)
      f = Sigmoid (gf)
      o = Sigmoid (go)
      n = Tanh (gc)
      keep = Mul (f, cp)
      new = Mul (i, n)
      cn = Add (keep, new)
      out = Tanh (cn)
      hn = Mul (o, out)
      y = Identity (hn)
   }> (h0, c0, xs)
}
"""

#: The states are a and b; u and v are the parts of a Split of a buffered sum; the condition counts
#: down.
LOOP = """
<ir_version: 8, opset_import: ["" : 16]>
m (int64 trip, float[A] a0, float[B] b0, float left, float[2,4] k) => (OUTPUTS) {
   go = Constant <value = bool {1}> ()
   one = Constant <value = float {1}> ()
   OUTS = Loop (trip, go, a0, b0, left) <body = f
      (int64 i, bool going, float[A] a, float[B] b, float rest)
      => (bool on, RESULTS) {
      zero = Constant <value = float {0}> ()
      half = Constant <value = float {0.5}> ()
      fewer = Sub (rest, half)
      on = Greater (fewer, zero)
      BODY
   }>
}
"""


def loop_model(body: str, results: str, outputs: str) -> onnx.ModelProto:
    names = ", ".join(part.split()[-1] for part in outputs.split(", "))
    text = LOOP.replace("BODY", body).replace("RESULTS", results)
    return onnx.parser.parse_model(text.replace("OUTPUTS", outputs).replace("OUTS", names))


def both(model: onnx.ModelProto, given: dict[str, Any], *, buffers: bool = True) -> None:
    """Compare two inferences of one session with ONNX Runtime; the second one has other inputs."""
    peer = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    own = Session(reader.from_proto(model))
    loops = [step.fn for step in own._program.steps if isinstance(step.fn, Loop)]
    loops += [step.fn for loop in loops for step in loop.program.steps if isinstance(step.fn, Loop)]
    plans = [plan for loop in loops for plan in (loop._plan, loop._whole_plan) if plan]
    assert any(plan.buffered is not None for plan in plans) == buffers
    for factor in (1, -0.75):
        inputs = {
            name: (value * factor).astype(value.dtype) if value.ndim else value
            for name, value in given.items()
        }
        wanted = peer.run(None, inputs)
        for expected, found in zip(wanted, own.run(inputs).values(), strict=True):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def numbers(*shape: int) -> Any:
    values = np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape)
    return values.astype(np.float32)


@pytest.mark.parametrize("count", [1, 2, MANY, MANY + 2, 150])
def test_a_cell_of_an_lstm(count: int) -> None:
    given = {"h0": numbers(1, 32), "c0": numbers(1, 32), "xs": numbers(count, 1, 8)}
    both(
        onnx.parser.parse_model(CELL),
        {**given, "w": numbers(8, 128), "r": numbers(32, 128) / 8},
    )


BODIES = [
    # One part of the Split is a state and another is concatenated, so both outlive the iteration.
    (
        """
        s = Add (a, k) t = Tanh (s) u, v = Split <axis = 0> (t)
        sh = Constant <value_ints = [4]> () an = Reshape (u, sh) bn = Identity (an) y = Neg (v)
        """,
        "float[4] an, float[4] bn, float fewer, float[1,4] y, float[1,4] v",
        "float[4] a, float[4] b, float r, float[n,1,4] y, float[n,1,4] v",
    ),
    # Several parts are operands of one function; one of its results is concatenated, another is a
    # state.
    (
        """
        s = Mul (a, k) u, v = Split <axis = 0> (s) su = Sigmoid (u) sv = Sigmoid (v)
        sh = Constant <value_ints = [4]> () an = Reshape (sv, sh) w = Add (u, su)
        bn = ReduceSum <keepdims = 0> (w, axes) axes = Constant <value_ints = [0]> ()
        """,
        "float[4] an, float[4] bn, float fewer, float[1,4] su",
        "float[4] a, float[4] b, float r, float[n,1,4] y",
    ),
    # The states are exchanged, and one is concatenated as it came in.
    (
        "s = Sub (b, half) t = Mul (s, half) an = Tanh (t) bn = Identity (a) y = Identity (b)",
        "float[4] an, float[4] bn, float fewer, float[4] y",
        "float[4] a, float[4] b, float r, float[n,4] y",
    ),
    # A sum is read long after it was computed, while arrays of its shape are allocated and
    # released.
    (
        """
        s = Add (a, b) t1 = Tanh (s) t2 = Sin (t1) t3 = Mul (t2, t1) t4 = Sub (t3, t2)
        an = Mul (s, half) bn = Add (t4, s)
        """,
        "float[4] an, float[4] bn, float fewer",
        "float[4] a, float[4] b, float r",
    ),
    # Scalars are used beside arrays.
    (
        """
        n = Cast <to = 1> (i) d = Mul (n, half) e = Sin (d) s = Mul (a, e) an = Tanh (s)
        bn = Add (b, e)
        """,
        "float[4] an, float[4] bn, float fewer, float e",
        "float[4] a, float[4] b, float r, float[n] e",
    ),
]


def fixed_order(body: str) -> str:
    """The body with its Constants in front, as the format requires."""
    parts = [part.strip() for part in body.replace(") ", ")\n").splitlines() if part.strip()]
    return "\n".join(sorted(parts, key=lambda part: "Constant" not in part))


@pytest.mark.parametrize(("body", "results", "outputs"), BODIES)
@pytest.mark.parametrize(("trip", "left"), [(0, 99.0), (3, 99.0), (200, 999.0), (200, 18.0)])
def test_values_that_outlive_an_iteration_are_kept(
    body: str, results: str, outputs: str, trip: int, left: float
) -> None:
    """Few half-units are left, so the condition ends the loop during iterations without checks."""
    both(
        loop_model(fixed_order(body), results, outputs),
        {
            "trip": np.array(trip),
            "a0": numbers(4),
            "b0": numbers(4) + 1,
            "left": np.array(left, np.float32),
            "k": numbers(2, 4),
        },
    )


def test_a_growing_state_is_not_buffered() -> None:
    model = loop_model(
        "an = Concat <axis = 0> (a, b) bn = Tanh (b)",
        "float[p] an, float[q] bn, float fewer",
        "float[p] a, float[q] b, float r",
    )
    given = {"a0": numbers(4), "b0": numbers(3), "k": numbers(2, 4)}
    given |= {"trip": np.array(70), "left": np.array(99, np.float32)}
    both(model, given, buffers=False)


def test_a_state_that_takes_its_final_shape_in_the_first_iteration() -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 16]>
    m (int64 trip, float[p,4] a0, float[2,4] k) => (float[p,4] a, float[n,2,4] y) {
       go = Constant <value = bool {1}> ()
       a, y = Loop (trip, go, a0) <body = f (int64 i, bool going, float[p,4] x)
          => (bool on, float[p,4] xn, float[q,4] t) {
          on = Identity (going)
          s = Add (x, k)
          t = Tanh (s)
          xn = Sub (t, k)
       }>
    }
    """
    model = onnx.parser.parse_model(text)
    both(model, {"trip": np.array(50), "a0": numbers(1, 4), "k": numbers(2, 4)})


def test_nested_loops() -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 16]>
    m (int64 trip, int64 times, float[4] a0) => (float[4] a, float[n,4] ys) {
       go = Constant <value = bool {1}> ()
       a, ys = Loop (times, go, a0) <body = f (int64 i, bool going, float[4] x)
          => (bool on, float[4] xn, float[4] y) {
          on = Identity (going)
          half = Constant <value = float {0.5}> ()
          s = Sub (x, half)
          in = Loop (trip, going, s) <body = g (int64 j, bool c, float[4] z)
             => (bool d, float[4] zn) {
             d = Identity (c)
             p = Mul (z, x)
             q = Add (p, s)
             zn = Tanh (q)
          }>
          xn = Mul (in, half)
          y = Add (xn, s)
       }>
    }
    """
    model = onnx.parser.parse_model(text)
    both(model, {"trip": np.array(40), "times": np.array(60), "a0": numbers(4)})


def test_a_failure_among_iterations_without_checks_names_its_node_and_iteration() -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 16]>
    m (int64 trip, float[4] a0, float[60] table) => (float[4] a) {
       go = Constant <value = bool {1}> ()
       a = Loop (trip, go, a0) <body = f (int64 i, bool going, float[4] x)
          => (bool on, float[4] xn) {
          on = Identity (going)
          item = Gather (table, i)
          p = Mul (x, item)
          xn = Tanh (p)
       }>
    }
    """
    session = Session(reader.from_proto(onnx.parser.parse_model(text)))
    given = {"a0": numbers(4), "table": numbers(60)}
    session.run({"trip": np.array(60), **given})
    with pytest.raises(ExecutionError) as caught:
        session.run({"trip": np.array(90), **given})
    assert "iteration 60" in str(caught.value)
    assert "Gather" in str(caught.value)


@pytest.mark.parametrize("operation", ["Gemm", "Gemm <transB = 1>", "MatMul"])
def test_small_and_large_products(operation: str) -> None:
    for size in (16, 640):
        bias = ", c" if "Gemm" in operation else ""
        text = f"""
        <ir_version: 8, opset_import: ["" : 16]>
        m (int64 trip, float[1,{size}] a0, float[{size},{size}] w, float[{size}] c)
           => (float[1,{size}] a) {{
           go = Constant <value = bool {{1}}> ()
           a = Loop (trip, go, a0) <body = f (int64 i, bool going, float[1,{size}] x)
              => (bool on, float[1,{size}] xn) {{
              on = Identity (going)
              p = {operation} (x, w{bias})
              xn = Tanh (p)
           }}>
        }}
        """
        given = {"a0": numbers(1, size), "w": numbers(size, size) / size, "c": numbers(size)}
        both(onnx.parser.parse_model(text), {"trip": np.array(40), **given})
