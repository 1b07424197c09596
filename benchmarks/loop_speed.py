"""The cost of a loop per iteration: irloop against ONNX Runtime and onnx.reference in one run.

    python -m benchmarks.loop_speed [--iterations 10000] [--rounds 9]

Three models: *carried*, a Loop of five operations on float[4]; *hoisted*, a Loop that multiplies
two matrices which do not change; *scan*, an LSTM decomposed into a Scan. Engines take turns within
a round, on one thread; medians are compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from irloop.execution.session import Session
from irloop.formats.onnx import reader

Array = np.ndarray[Any, np.dtype[Any]]

CARRIED = """
<ir_version: 8, opset_import: ["" : 16]>
carried (int64 trip, float[4] start) => (float[4] last) {
   go = Constant <value = bool {1}> ()
   last = Loop (trip, go, start)
      <body = step (int64 i, bool going, float[4] x) => (bool on, float[4] y) {
      half = Constant <value = float {0.5}> ()
      on = Identity (going)
      a = Mul (x, half)
      b = Add (a, half)
      c = Tanh (b)
      d = Sub (c, x)
      y = Mul (d, half)
   }>
}
"""

HOISTED = """
<ir_version: 8, opset_import: ["" : 16]>
hoisted (int64 trip, float[64,64] left, float[64,64] right, float[64,64] start) =>
      (float[64,64] last) {
   go = Constant <value = bool {1}> ()
   last = Loop (trip, go, start)
      <body = step (int64 i, bool going, float[64,64] x) => (bool on, float[64,64] y) {
      on = Identity (going)
      product = MatMul (left, right)
      small = Tanh (product)
      y = Add (x, small)
   }>
}
"""

SCAN = """
<ir_version: 8, opset_import: ["" : 16]>
scanned (float[1,256] h0, float[1,256] c0, float[T,1,64] xs, float[64,1024] w, float[256,1024] r) =>
      (float[1,256] h, float[1,256] c, float[T,1,256] ys) {
   h, c, ys = Scan <num_scan_inputs = 1,
      body = cell (float[1,256] hp, float[1,256] cp, float[1,64] x) =>
      (float[1,256] hn, float[1,256] cn, float[1,256] y) {
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


def engines(model: onnx.ModelProto) -> dict[str, Callable[[dict[str, Array]], list[Any]]]:
    """One function per engine, from inputs by name to the outputs."""
    ort: Any = onnxruntime  # the package does not declare its exports
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    peer = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    own = Session(reader.from_proto(model))
    reference = ReferenceEvaluator(model)
    return {
        "irloop": lambda given: list(own.run(given).values()),
        "onnxruntime": lambda given: list(peer.run(None, given)),
        "onnx.reference": lambda given: list(reference.run(None, given)),
    }


def measure(name: str, text: str, given: dict[str, Array], count: int, rounds: int) -> None:
    """Print microseconds per iteration and the ratios."""
    found = engines(onnx.parser.parse_model(text))
    wanted = found["onnxruntime"](given)
    for output, expected in zip(found["irloop"](given), wanted, strict=True):
        np.testing.assert_allclose(output, expected, rtol=1e-3, atol=1e-4)
    times: dict[str, list[float]] = {engine: [] for engine in found}
    for turn in range(rounds):
        for engine, run in found.items():
            if engine == "onnx.reference" and turn >= 3:
                continue
            start = time.perf_counter()
            run(given)
            times[engine].append(time.perf_counter() - start)
    median = {engine: statistics.median(taken) for engine, taken in times.items()}
    each = ", ".join(f"{engine} {taken / count * 1e6:.2f} us" for engine, taken in median.items())
    print(
        f"{name}: {each}; irloop is {median['irloop'] / median['onnxruntime']:.2f}x ONNX Runtime, "
        f"{median['onnx.reference'] / median['irloop']:.1f}x faster than onnx.reference"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    random = np.random.default_rng(0)

    def numbers(*shape: int) -> Array:
        return (random.standard_normal(shape) * 0.1).astype(np.float32)

    count = options.iterations
    trip = np.array(count, np.int64)
    measure("carried", CARRIED, {"trip": trip, "start": numbers(4)}, count, options.rounds)
    square = {"left": numbers(64, 64), "right": numbers(64, 64), "start": numbers(64, 64)}
    few = max(1, count // 10)
    measure("hoisted", HOISTED, {"trip": np.array(few), **square}, few, options.rounds)
    cell = {"h0": numbers(1, 256), "c0": numbers(1, 256), "xs": numbers(few, 1, 64)}
    weights = {"w": numbers(64, 1024), "r": numbers(256, 1024)}
    measure("scan", SCAN, {**cell, **weights}, few, options.rounds)


if __name__ == "__main__":
    main()
