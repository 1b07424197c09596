"""Latency in ONNX Runtime of `convert --contrib` against plain `convert`, in one process.

    python -m benchmarks.contrib_speed

Each line is a model: its best latency without and with ``--contrib`` in turn, on one core, and the
ratio of both, below 1 where ``--contrib`` is faster.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

import irloop

__all__ = ["attention", "products"]

SECONDS = 2.0


def products(positions: int, size: int, block: int, *, opset: int = 21) -> onnx.ModelProto:
    """Two products with 4-bit weights in blocks."""
    random = np.random.default_rng(0)

    def weights(name: str, rows: int, columns: int) -> list[onnx.TensorProto]:
        codes = random.integers(0, 16, (rows, columns // block, block))
        scales = random.uniform(0.001, 0.01, (rows, columns // block, 1)).astype(np.float32)
        zeros = random.integers(0, 16, (rows, columns // block, 1))
        return [
            onnx.helper.make_tensor(f"{name}c", onnx.TensorProto.UINT4, codes.shape, codes.ravel()),
            onnx.helper.make_tensor(f"{name}z", onnx.TensorProto.UINT4, zeros.shape, zeros.ravel()),
            numpy_helper.from_array(scales, f"{name}s"),
            numpy_helper.from_array(np.array([rows, columns]), f"{name}d"),
        ]

    def product(x: str, name: str, y: str) -> str:
        return f"""{name}1 = Cast<to = 1>({name}c)  {name}2 = Cast<to = 1>({name}z)
            {name}3 = Sub({name}1, {name}2)  {name}4 = Mul({name}3, {name}s)
            {name}5 = Reshape({name}4, {name}d)  {name}6 = Transpose<perm = [1, 0]>({name}5)
            {y} = MatMul({x}, {name}6)"""

    text = f"""<ir_version: 10, opset_import: ["": {opset}]>
        g (float[B,{positions},{size}] x) => (float[B,{positions},{size}] y) {{
            {product("x", "a", "h")}  r = Relu(h)  {product("r", "b", "y")} }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(weights("a", 2 * size, size) + weights("b", size, 2 * size))
    return model


def attention(positions: int, heads: int, size: int, *, bias: str = "") -> onnx.ModelProto:
    """Attention of several heads to itself; `bias` is the shape of a bias after the batch."""
    whole = heads * size
    text = f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[B,{positions},{whole}] q, float[B,{positions},{whole}] k,
            float[B,{positions},{whole}] v {f", float[B,{bias}] m" if bias else ""})
            => (float[B,{positions},{whole}] y) {{
            split = Constant<value_ints = [0, 0, {heads}, {size}]>()
            join = Constant<value_ints = [0, 0, {whole}]>()
            scale = Constant<value_float = {size**-0.5}>()
            q1 = Reshape(q, split)  q2 = Transpose<perm = [0, 2, 1, 3]>(q1)
            k1 = Reshape(k, split)  k2 = Transpose<perm = [0, 2, 3, 1]>(k1)
            v1 = Reshape(v, split)  v2 = Transpose<perm = [0, 2, 1, 3]>(v1)
            s1 = MatMul(q2, k2)  s2 = Mul(s1, scale)
            {"s3 = Add(s2, m)  p = Softmax(s3)" if bias else "p = Softmax(s2)"}  o1 = MatMul(p, v2)
            o2 = Transpose<perm = [0, 2, 1, 3]>(o1)  y = Reshape(o2, join) }}"""
    return onnx.parser.parse_model(text)


def main() -> None:
    """Print a line for each model."""
    models = {
        f"4-bit weights, {positions} positions, {size} wide": products(positions, size, 32)
        for positions, size in ((1, 1024), (1, 2048), (16, 1024), (128, 1024))
    }
    for positions in (64, 128, 512):
        models[f"attention, {positions} positions"] = attention(positions, 12, 64)
        biases = {"bias": f"1,{positions},{positions}", "bias of keys": f"1,1,{positions}"}
        for name, shape in biases.items():
            models[f"attention with {name}, {positions} positions"] = attention(
                positions, 12, 64, bias=shape
            )
    for name, model in models.items():
        plain, fused = _latencies(model)
        print(f"{name}: {plain * 1e3:.3f} ms, {fused * 1e3:.3f} ms, ratio {fused / plain:.2f}")


def _latencies(model: onnx.ModelProto) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("source.onnx", "fused.onnx")]
        paths[0].write_bytes(model.SerializeToString())
        irloop.save_model(irloop.convert(paths[0], "onnx", contrib=True)[0], paths[1])
        assert any(item.domain == "com.microsoft" for item in onnx.load(paths[1]).opset_import)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        sessions = [onnxruntime.InferenceSession(str(path), options) for path in paths]
    given = _inputs(sessions[0])
    best = [float("inf")] * 2
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        for at, session in enumerate(sessions):
            before = time.perf_counter()
            session.run(None, given)
            best[at] = min(best[at], time.perf_counter() - before)
    return best


def _inputs(session: Any) -> dict[str, Any]:
    random = np.random.default_rng(1)
    shapes = {
        item.name: [size if isinstance(size, int) else 1 for size in item.shape]
        for item in session.get_inputs()
    }
    return {
        name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }


if __name__ == "__main__":
    main()
