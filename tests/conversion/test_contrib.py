"""`convert --contrib`: ONNX models that use ONNX Runtime's own operations, against ONNX Runtime."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.contrib_speed import attention, products
from benchmarks.engines import Engines
from irloop.errors import UsageError
from tests.conversion.both_engines import needs_engines

pytestmark = needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def types(path: Path) -> list[str]:
    """The types of all ONNX Runtime operations in a file, including those in bodies."""

    def of(graph: onnx.GraphProto) -> Iterator[str]:
        for node in graph.node:
            if node.domain == "com.microsoft":
                yield node.op_type
            for attribute in node.attribute:
                yield from of(attribute.g)

    model = onnx.load(path)
    imported = any(item.domain == "com.microsoft" for item in model.opset_import)
    found = list(of(model.graph))
    assert imported == bool(found)
    return found


def contrib(model: onnx.ModelProto, folder: Path) -> Path:
    """Convert a model with `contrib`, and return the path of the result."""
    source, target = folder / "source.onnx", folder / "target.onnx"
    source.write_bytes(model.SerializeToString())
    irloop.save_model(irloop.convert(source, "onnx", contrib=True)[0], target)
    return target


def fused(
    model: onnx.ModelProto | str, sets: list[list[Any]], engines: Engines, folder: Path
) -> list[str]:
    """Convert with contrib; assert that ONNX Runtime computes the same, and return the types."""
    if isinstance(model, str):
        model = onnx.parser.parse_model(model)
    target = contrib(model, folder)
    expected = engines.run_all("onnxruntime", folder / "source.onnx", sets, folder)
    found = engines.run_all("onnxruntime", target, sets, folder)
    for one, other in zip(found, expected, strict=True):
        for left, right in zip(one, other, strict=True):
            assert left.shape == right.shape
            np.testing.assert_allclose(left, right, 1e-4, 1e-5)
    return types(target)


@pytest.mark.parametrize("block", [16, 32, 64])
def test_4_bit_weights_in_blocks_become_matmul_nbits(
    block: int, engines: Engines, tmp_path: Path
) -> None:
    sets = [[drawn(1, 2, 3, 64)], [drawn(2, 1, 3, 64)]]
    assert fused(products(3, 64, block), sets, engines, tmp_path) == ["MatMulNBits"] * 2


def test_blocks_that_are_too_small_stay(engines: Engines, tmp_path: Path) -> None:
    assert fused(products(3, 64, 8), [[drawn(1, 2, 3, 64)]], engines, tmp_path) == []


@pytest.mark.parametrize("opset", [None, 17])
def test_ir_with_4_bit_weights(opset: int | None, engines: Engines, tmp_path: Path) -> None:
    source, ir, target = (tmp_path / name for name in ("a.onnx", "b.xml", "c.onnx"))
    source.write_bytes(products(3, 64, 32).SerializeToString())
    irloop.save_model(irloop.convert(source)[0], ir)
    irloop.save_model(irloop.convert(ir, opset=opset, contrib=True)[0], target)
    assert types(target) == ["MatMulNBits"] * 2
    sets = [[drawn(1, 2, 3, 64)], [drawn(2, 1, 3, 64)]]
    wanted = engines.run_all("openvino", ir, sets, tmp_path)
    for one, other in zip(
        engines.run_all("onnxruntime", target, sets, tmp_path), wanted, strict=True
    ):
        np.testing.assert_allclose(one[0], other[0], 1e-4, 1e-5)


#: For each case: the type of the codes, the sizes of codes and scales, and the attributes of
#: DequantizeLinear.
DEQUANTIZED: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "blocks": ("UINT4", (48, 5), (3, 5), {"axis": 0, "block_size": 16}),
    "columns": ("INT4", (48, 5), (5,), {"axis": 1}),
    "one scale": ("INT4", (40, 5), (), {}),
}


def dequantized(
    name: str, graph: onnx.GraphProto, *, has_zeros: bool
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Add a DequantizeLinear of constants to a graph as w, and return its value."""
    type, shape, of_scales, attributes = DEQUANTIZED[name]
    random = np.random.default_rng(3)
    kind, low = getattr(onnx.TensorProto, type), 0 if type == "UINT4" else -8
    codes = random.integers(low, low + 16, shape)
    zeros = random.integers(low, low + 16, of_scales)
    scales = random.uniform(0.01, 0.1, of_scales).astype(np.float32)
    names = ["codes", "scales", *(["zeros"] if has_zeros else [])]
    graph.node.insert(0, onnx.helper.make_node("DequantizeLinear", names, ["w"], **attributes))
    graph.initializer.append(onnx.helper.make_tensor("codes", kind, shape, codes.ravel()))
    graph.initializer.append(onnx.numpy_helper.from_array(scales, "scales"))
    if has_zeros:
        graph.initializer.append(onnx.helper.make_tensor("zeros", kind, of_scales, zeros.ravel()))
    wide = [scales.astype(np.float64), zeros if has_zeros else np.zeros(of_scales)]
    factors, shifts = (np.repeat(item, 16, 0) if name == "blocks" else item for item in wide)
    return np.asarray((codes - shifts) * factors, np.float64)


# ONNX Runtime itself rounds the data to 8 bits in products with a DequantizeLinear of 4 bits, so
# the expected numbers are computed here.
@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("name", DEQUANTIZED)
def test_weights_of_dequantize_linear_become_matmul_nbits(
    name: str, has_zeros: bool, engines: Engines, tmp_path: Path
) -> None:
    rows = DEQUANTIZED[name][1][0]
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 21]>
        g (float[2,{rows}] x) => (float[2,5] y) {{ y = MatMul(x, w) }}"""
    )
    weights = dequantized(name, model.graph, has_zeros=has_zeros)
    target = contrib(model, tmp_path)
    assert types(target) == ["MatMulNBits"]
    sets = [[drawn(1, 2, rows)], [drawn(2, 2, rows)]]
    for (x,), (y,) in zip(
        sets, engines.run_all("onnxruntime", target, sets, tmp_path), strict=True
    ):
        np.testing.assert_allclose(y, x @ weights, 1e-4, 1e-5)


def test_4_bit_weights_in_a_loop_body(engines: Engines, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21]>
        g (int64 n, float[2,48] x) => (float[2,48] y) <bool yes = {1}> {
        y = Loop(n, yes, x) <body = b (int64 i, bool c, float[2,48] a)
            => (bool again, float[2,48] next) {
            again = Identity(c)  five = MatMul(a, w)  next = MatMul(five, k) }> }"""
    )
    body = model.graph.node[0].attribute[0].g
    factor = drawn(7, 5, 48)
    body.initializer.append(onnx.numpy_helper.from_array(factor, "k"))
    weights = dequantized("columns", body, has_zeros=True)
    target = contrib(model, tmp_path)
    assert types(target) == ["MatMulNBits"]
    sets = [[np.array(count), drawn(count, 2, 48)] for count in (2, 0, 3)]
    for (count, x), (y,) in zip(
        sets, engines.run_all("onnxruntime", target, sets, tmp_path), strict=True
    ):
        wanted = x.astype(np.float64)
        for _ in range(int(count)):
            wanted = wanted @ weights @ factor
        np.testing.assert_allclose(y, wanted, 1e-4, 1e-3)


@pytest.mark.parametrize("bias", ["", "1,6,6", "4,6,6", "1,1,6"])
def test_attention_with_and_without_bias_becomes_multi_head_attention(
    bias: str, engines: Engines, tmp_path: Path
) -> None:
    shapes = [(6, 12)] * 3 + ([tuple(map(int, bias.split(",")))] if bias else [])
    sets = [
        [drawn(batch + at, batch, *shape) for at, shape in enumerate(shapes)] for batch in (2, 1)
    ]
    model = attention(6, 4, 3, bias=bias)
    assert fused(model, sets, engines, tmp_path) == ["MultiHeadAttention"]


ATTENTION = """<ir_version: 8, opset_import: ["": 17]>
    g (float[B,P,8] x, float[B,K,8] z, float[B,1,1,K] m) => (float[a,b,c] y) {{
    two = Constant<value_float = 2.0>()  half = Constant<value_float = 0.5>()
    split = Constant<value_ints = [0, -1, 2, 4]>()  join = Constant<value_ints = [{join}]>()
    q1 = Reshape(x, split)  q2 = Transpose<perm = [0, 2, 1, 3]>(q1)  q3 = Div(q2, two)
    k1 = Reshape(z, split)  k2 = Transpose<perm = [0, 2, 1, 3]>(k1)
    k3 = Transpose<perm = [0, 1, 3, 2]>(k2)  k4 = Mul(half, k3)
    v1 = Reshape(z, split)  v2 = Transpose<perm = [0, 2, 1, 3]>(v1)
    s = MatMul(q3, k4)  t = Add(m, s)  p = Softmax<axis = {axis}>(t)  o = MatMul(p, v2)
    r = Transpose<perm = [0, 2, {last}]>(o)  y = Reshape(r, join) }}"""
#: One model of attention with separated and joined heads, and models that only resemble it.
FORMS = {
    "attention": ({}, ["MultiHeadAttention"]),
    "another axis": ({"axis": "-2"}, []),
    "positions joined with heads": ({"join": "0, 8, -1"}, []),
    "another order": ({"last": "3, 1"}, []),
}


@pytest.mark.parametrize("name", FORMS)
def test_only_attention_of_one_form_is_fused(name: str, engines: Engines, tmp_path: Path) -> None:
    changes, wanted = FORMS[name]
    words = {"join": "0, 0, 8", "axis": "-1", "last": "1, 3"} | changes
    if name == "another order":
        words["join"] = "0, -1, 8"
    sets = [[drawn(1, 2, 3, 8), drawn(2, 2, 5, 8), drawn(3, 2, 1, 1, 5)]]
    sets.append([drawn(1, 1, 4, 8), drawn(2, 1, 2, 8), drawn(3, 1, 1, 1, 2)])
    assert fused(ATTENTION.format(**words), sets, engines, tmp_path) == wanted


def test_contrib_needs_onnx_output(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(products(1, 16, 16).SerializeToString())
    with pytest.raises(UsageError, match="contrib is an option for ONNX"):
        irloop.convert(path, contrib=True)
    with pytest.raises(UsageError, match="target is an option for OpenVINO IR"):
        irloop.convert(path, "onnx", contrib=True, target="openvino-2021.4")
    with pytest.raises(UsageError, match="contradict"):
        irloop.convert(path, "onnx", contrib=True, standard=True)


def test_the_option_contrib_writes_fused_operators(tmp_path: Path) -> None:
    source, target = tmp_path / "m.onnx", tmp_path / "c.onnx"
    source.write_bytes(products(1, 16, 16).SerializeToString())
    command = [sys.executable, "-m", "irloop", "convert", str(source), "--contrib", "-o"]
    found = subprocess.run(
        [*command, str(target), "--check"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.startswith("equal")
    assert types(target) == ["MatMulNBits"] * 2
    refused = subprocess.run(
        [*command, str(tmp_path / "c.xml")], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "--contrib is an option for ONNX" in refused.stderr
