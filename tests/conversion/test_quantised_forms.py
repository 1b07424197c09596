"""Quantised models as IR and back: ONNX's operations where they are equivalent, otherwise
arithmetic.

Sums of products with the weights used here are exact, so the order of additions does not matter. On
some processors ONNX Runtime adds two products of u8 and i8 in 16 bits; here, these sums fit.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import F32, HEADER, assert_same, i64, needs_engines

pytestmark = needs_engines

#: Multiples of 0.25, of which every second one is halfway between two steps of 0.5; with each zero
#: point, the largest are out of range.
NUMBERS = np.arange(-1100, 1100, dtype=F32).reshape(4, 550) / F32(4)
SPECIAL = np.array([[np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40, -0.0]], F32)
SETS = [[NUMBERS], [-NUMBERS[:1, ::7] - F32(0.1)], [SPECIAL]]

#: Models of QuantizeLinear and DequantizeLinear: their constants, and nodes that use x [r, c]. All
#: become ONNX's operations again.
PAIRS = {
    "u8": "z = Constant <value = uint8 {3}> ()",
    "lowest u8": "z = Constant <value = uint8 {0}> ()",
    "highest u8": "z = Constant <value = uint8 {255}> ()",
    "i8": "z = Constant <value = int8 {-5}> ()",
    "lowest i8": "z = Constant <value = int8 {-128}> ()",
    "highest i8": "z = Constant <value = int8 {127}> ()",
}
PAIR = """s = Constant <value_float = 0.5> ()  t = Constant <value_float = 0.3> ()
  q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, t, z)"""

#: Arithmetic that is equivalent to no QuantizeLinear of 8 bits.
OTHERS = {
    "255 levels": ("0.5", "-127.0", "127.0"),
    "a half limit": ("0.5", "-0.5", "254.5"),
    "limits above 0": ("0.5", "1.0", "256.0"),
    "a scale of 0": ("0.0", "0.0", "255.0"),
    "a negative scale": ("-0.5", "0.0", "255.0"),
    "a subnormal scale": ("1e-40", "0.0", "255.0"),
}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def both_ways(text: str, sets: list[list[Any]], engines: Engines, folder: Path) -> Counter[str]:
    """The operations of the ONNX model that is made from the IR of an ONNX model.

    Asserts that ONNX Runtime returns the same for both ONNX models, and OpenVINO for the IR.
    """
    source, ir, again = folder / "model.onnx", folder / "model.xml", folder / "again.onnx"
    full = text if text.lstrip().startswith("<") else HEADER + text
    source.write_bytes(onnx.parser.parse_model(full).SerializeToString())
    irloop.save_model(irloop.convert(source)[0], ir, ir_version=11)
    model = irloop.convert(ir)[0]
    irloop.save_model(model, again)
    expected = engines.run_all("onnxruntime", source, sets, folder)
    found = engines.run_all("onnxruntime", again, sets, folder)
    in_openvino = engines.run_all("openvino", ir, sets, folder)
    for at in range(len(sets)):
        assert_same(found[at], expected[at], f"the ONNX model, inputs {at}")
        assert_same(in_openvino[at], expected[at], f"the IR, inputs {at}")
    return Counter(node.op.type for node in all_nodes(model.graph))


@pytest.mark.parametrize("zero", PAIRS)
def test_quantise_dequantise_pairs_return_after_conversion(
    zero: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"g (float[r, c] x) => (float[r, c] y) {{ {PAIRS[zero]} {PAIR} }}"
    written = both_ways(text, SETS, engines, tmp_path)
    assert written["QuantizeLinear"] == written["DequantizeLinear"] == 1
    assert not written["Clip"]
    assert not written["Mul"]


def test_two_zero_points_and_integers(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[r, c] x) => (float[r, c] y, int8[r, c] q, uint8[r, c] u) {
  s = Constant <value_float = 0.5> ()  t = Constant <value_float = 0.3> ()
  z = Constant <value = int8 {-5}> ()  w = Constant <value = int8 {7}> ()
  q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, t, w)
  v = Constant <value_float = 0.25> ()  u = QuantizeLinear (x, v)
}"""
    # These numbers include no NaN, for which ONNX defines no integer.
    written = both_ways(text, SETS[:2], engines, tmp_path)
    assert written["QuantizeLinear"] == 3
    assert written["DequantizeLinear"] == 1


@pytest.mark.parametrize("axis", [1, -1])
def test_scales_along_an_axis(axis: int, engines: Engines, tmp_path: Path) -> None:
    """When ONNX Runtime computes products in integers, it ignores the axis."""
    text = f"""g (float[n, 3, 3] x) => (float[n, 3, 3] y) {{
  s = Constant <value = float[3] {{0.5, 0.25, 2}}> ()
  z = Constant <value = uint8[3] {{9, 9, 9}}> ()
  q = QuantizeLinear <axis = {axis}> (x, s, z)  y = DequantizeLinear <axis = {axis}> (q, s, z)
}}"""
    numbers = NUMBERS.reshape(-1)[:1800].reshape(-1, 3, 3)
    written = both_ways(text, [[numbers], [-numbers[:1]]], engines, tmp_path)
    assert not written["DequantizeLinear"]


@pytest.mark.parametrize("kind", OTHERS)
def test_arithmetic_that_is_no_quantisation(kind: str, engines: Engines, tmp_path: Path) -> None:
    scale, low, high = OTHERS[kind]
    text = f"""g (float[r, c] x) => (float[r, c] y) {{ s = Constant <value_float = {scale}> ()
  low = Constant <value_float = {low}> ()  high = Constant <value_float = {high}> ()
  t = Constant <value_float = 0.5> ()
  d = Div (x, s)  r = Round (d)  l = Clip (r, low, high)  y = Mul (l, t)
}}"""
    numbers = NUMBERS + F32(0.1)
    written = both_ways(text, [[numbers], [-numbers]], engines, tmp_path)
    assert not written["QuantizeLinear"]
    assert written["Round"] == 1


WEIGHTS = """w = Constant <value = int8[2, 3] {1, -64, 63, 4, 5, -6}> ()"""
#: Products of quantised data x [4, 2], and the number of DequantizeLinear nodes that are written.
PRODUCTS = {
    "one scale": (
        2,
        """ws = Constant <value_float = 0.25> ()  wz = Constant <value = int8 {0}> ()
        f = DequantizeLinear (w, ws, wz)  y = MatMul (d, f)""",
    ),
    "columns": (
        2,
        """ws = Constant <value = float[3] {0.25, 0.5, 2}> ()
        wz = Constant <value = int8[3] {-128, 127, 5}> ()
        f = DequantizeLinear <axis = 1> (w, ws, wz)  y = MatMul (d, f)""",
    ),
    "one scale, turned": (
        2,
        """ws = Constant <value_float = 0.25> ()  wz = Constant <value = int8 {7}> ()
        v = Constant <value = int8[3, 2] {1, -64, 63, 4, 5, -6}> ()
        f = DequantizeLinear (v, ws, wz)  e = Transpose <perm = [1, 0]> (f)  y = MatMul (d, e)""",
    ),
    "rows": (
        1,
        """ws = Constant <value = float[2, 1] {0.25, 0.5}> ()  wf = Cast <to = 1> (w)
        f = Mul (wf, ws)  y = MatMul (d, f)""",
    ),
    "rows of a square": (
        1,
        """ws = Constant <value = float[2, 1] {0.25, 0.5}> ()
        v = Constant <value = int8[2, 2] {1, -64, 63, 4}> ()  vf = Cast <to = 1> (v)
        f = Mul (vf, ws)  p = MatMul (d, f)
        last = Constant <value_ints = [1]> ()  e = ReduceSum (d, last)
        y = Concat <axis = 1> (p, e)""",
    ),
    "the first operand": (
        1,
        """ws = Constant <value_float = 0.25> ()  wz = Constant <value = int8 {0}> ()
        v = Constant <value = int8[3, 4] {1, -64, 63, 4, 5, -6, 7, 8, 9, 10, 11, 12}> ()
        f = DequantizeLinear (v, ws, wz)  dt = Transpose <perm = [1, 0]> (d)
        p = MatMul (f, d)  y = Transpose <perm = [1, 0]> (p)""",
    ),
    "data that is not quantised": (
        1,
        """ws = Constant <value_float = 0.25> ()  wz = Constant <value = int8 {0}> ()
        f = DequantizeLinear (w, ws, wz)  p = MatMul (x, f)  r = MatMul (d, f)  y = Add (p, r)""",
    ),
    "weights that are no operand": (
        1,
        """ws = Constant <value_float = 0.25> ()  wz = Constant <value = int8 {0}> ()
        f = DequantizeLinear (w, ws, wz)  p = MatMul (d, f)  one = Constant <value_ints = [0]> ()
        r = ReduceSum (f, one)  y = Add (p, r)""",
    ),
}


@pytest.mark.parametrize("kind", PRODUCTS)
def test_quantised_weights_return_after_conversion(
    kind: str, engines: Engines, tmp_path: Path
) -> None:
    count, body = PRODUCTS[kind]
    text = f"""g (float[r, 2] x) => (float[r, 3] y) {{ {WEIGHTS} s = Constant <value_float = 0.5> ()
  z = Constant <value = uint8 {{4}}> ()  q = QuantizeLinear (x, s, z)
  d = DequantizeLinear (q, s, z)  {body} }}"""
    data = NUMBERS[:, 270:272]
    written = both_ways(text, [[data], [-data]], engines, tmp_path)
    assert written["DequantizeLinear"] == count


#: Nodes after a convolution of quantised data in a loop, and the number of DequantizeLinear nodes.
CONVOLUTIONS = {
    "results quantised": (3, "h = Conv (d, f)", "after = DequantizeLinear (o, os, oz)"),
    "results not quantised": (1, "h = Conv (d, f)", "after = Relu (h)"),
    "a bias of integers": (
        4,
        """bi = Constant <value = int32[2] {-9, 40}> ()
        bs = Constant <value = float[2] {0.125, 0.0625}> ()
        bias = DequantizeLinear <axis = 0> (bi, bs)  h = Conv (d, f, bias)""",
        "after = DequantizeLinear (o, os, oz)",
    ),
    "a bias in f32": (
        4,
        "bias = Constant <value = float[2] {-1.5, 0.3}> ()  h = Conv (d, f, bias)",
        "after = DequantizeLinear (o, os, oz)",
    ),
    "a Relu of 0 and more": (
        3,
        "c = Conv (d, f)  h = Relu (c)",
        """none = Constant <value = uint8 {0}> ()  n = QuantizeLinear (h, os, none)
        after = DequantizeLinear (n, os, none)""",
    ),
    "a Relu that is needed": (
        2,
        "c = Conv (d, f)  h = Relu (c)",
        "after = DequantizeLinear (o, os, oz)",
    ),
    "an addend without channels": (
        2,
        "a = Constant <value_float = 1.5> ()  c = Conv (d, f)  h = Add (c, a)",
        "after = DequantizeLinear (o, os, oz)",
    ),
}


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_a_convolution_in_a_loop(kind: str, engines: Engines, tmp_path: Path) -> None:
    count, middle, ends = CONVOLUTIONS[kind]
    text = f"""
g (int64 m, float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y, float[k, 1, 2, 3, 3] each) {{
  y, each = Loop (m, "", x) <body = b (int64 i, bool go, float[1, 2, 3, 3] state)
      => (bool next, float[1, 2, 3, 3] after, float[1, 2, 3, 3] one) {{
    next = Identity (go)  s = Constant <value_float = 0.5> ()
    z = Constant <value = uint8 {{4}}> ()
    w = Constant <value = int8[2, 2, 1, 1] {{1, -2, 3, -64}}> ()
    ws = Constant <value = float[2] {{0.25, 0.125}}> ()
    wz = Constant <value = int8[2] {{0, 0}}> ()
    os = Constant <value_float = 2.0> ()  oz = Constant <value = uint8 {{128}}> ()
    f = DequantizeLinear <axis = 0> (w, ws, wz)  q = QuantizeLinear (state, s, z)
    d = DequantizeLinear (q, s, z)  {middle}  o = QuantizeLinear (h, os, oz)
    {ends}  one = Neg (after)
  }}>
}}"""
    x = np.arange(18, dtype=F32).reshape(1, 2, 3, 3) - F32(6.25)
    sets = [[i64(3), x], [i64(1), -x], [i64(0), x], [i64(2), x]]
    written = both_ways(text, sets, engines, tmp_path)
    assert written["DequantizeLinear"] == count


#: Products of quantised data x [n, 2, 2, 2] with f32 weights of different sizes.
FLOAT_WEIGHTS = {
    "convolution": "h = Conv (d, w)",
    "and bias": """b = Constant <value = float[2, 1, 1] {0.5, -1}> ()
        c = Conv (d, w)  h = Add (c, b)""",
    "and Relu": "c = Conv (d, w)  h = Relu (c)",
    "moved": """e = Transpose <perm = [0, 1, 3, 2]> (d)  c = Conv (e, w)
        h = MaxPool <kernel_shape = [1, 1]> (c)""",
    "matrix product and bias": """rows = Constant <value_ints = [-1, 2]> ()
        a = Constant <value = float[2] {0.5, -1}> ()  all = Constant <value_ints = [-1, 2, 2, 2]> ()
        e = Reshape (d, rows)  c = MatMul (e, v)  p = Add (c, a)  h = Reshape (p, all)""",
}


@pytest.mark.parametrize("kind", FLOAT_WEIGHTS)
def test_weights_in_f32(kind: str, engines: Engines, tmp_path: Path) -> None:
    """ONNX Runtime would quantise the weights to 8 bits, with a single scale."""
    text = f"""g (float[n, 2, 2, 2] x) => (float[n, 2, 2, 2] y) {{
  s = Constant <value_float = 0.5> ()  z = Constant <value = uint8 {{3}}> ()
  t = Constant <value_float = 0.125> ()
  w = Constant <value = float[2, 2, 1, 1] {{0.0625, 0.125, 16, -128}}> ()
  v = Constant <value = float[2, 2] {{0.0625, 16, 0.125, -128}}> ()
  qf = QuantizeLinear (x, s, z)  d = DequantizeLinear (qf, s, z)  {FLOAT_WEIGHTS[kind]}
  lower = Constant <value_float = -128.0> ()  upper = Constant <value_float = 127.0> ()
  r = Div (h, t)  i = Round (r)  l = Clip (i, lower, upper)  y = Mul (l, t)
}}"""
    numbers = np.arange(-16, 16, dtype=F32).reshape(4, 2, 2, 2)
    source, ir, again = tmp_path / "model.onnx", tmp_path / "model.xml", tmp_path / "again.onnx"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    irloop.save_model(irloop.convert(source)[0], ir)
    model = irloop.convert(ir)[0]
    irloop.save_model(model, again)
    # The original model has no QuantizeLinear after the product.
    expected = engines.run_all("onnxruntime", source, [[numbers]], tmp_path)[0]
    assert_same(engines.run_all("openvino", ir, [[numbers]], tmp_path)[0], expected, "the IR")
    found = engines.run_all("onnxruntime", again, [[numbers]], tmp_path)[0]
    assert_same(found, expected, "the ONNX model")
    assert sum(node.op.type == "QuantizeLinear" for node in all_nodes(model.graph)) == 2


def test_quantize_linear_is_written_since_opset_13(tmp_path: Path) -> None:
    text = f"g (float[r, c] x) => (float[r, c] y) {{ {PAIRS['u8']} {PAIR} }}"
    source, ir = tmp_path / "model.onnx", tmp_path / "model.xml"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    irloop.save_model(irloop.convert(source)[0], ir)
    for opset, count in ((12, 0), (13, 1), (21, 1)):
        model = irloop.convert(ir, opset=opset)[0]
        assert sum(node.op.type == "QuantizeLinear" for node in all_nodes(model.graph)) == count


#: Data that are quantised by their range: mixed signs, positive, negative, zeros, one number,
#: extremes.
RANGES = [
    [NUMBERS[:, :3]],
    [-NUMBERS[:, 500:503] - F32(1000)],
    [NUMBERS[:, 540:543] + F32(1000)],
    [np.zeros((2, 3), F32)],
    [np.full((1, 3), -7, F32)],
    [np.array([[-1, 0, 254]], F32)],
    [np.array([[3e38, -3e37, 0]], F32)],
]


def test_dynamic_quantisation(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[r, 3] x) => (uint8[r, 3] q, float s, uint8 z, float[r, 3] y) {
  q, s, z = DynamicQuantizeLinear (x)  y = DequantizeLinear (q, s, z)
}"""
    written = both_ways(text, RANGES, engines, tmp_path)
    assert written["DynamicQuantizeLinear"] == 1
    assert not written["ReduceMin"]
    assert not written["Round"]


#: Weights of a matrix product, and the number of MatMulInteger nodes that are written.
INTEGER_PRODUCTS = {
    "no zero point": (1, "", "MatMulInteger (q, w, z)"),
    "i8": (1, "v = Constant <value = int8 {5}> ()", "MatMulInteger (q, w, z, v)"),
    "columns": (1, "v = Constant <value = int8[2] {5, -60}> ()", "MatMulInteger (q, w, z, v)"),
    "no zero point of the data": (0, "", "MatMulInteger (q, w)"),
    "one of each row": (
        0,
        "v = Constant <value = uint8[1] {7}> ()",
        "MatMulInteger (q, w, v)",
    ),
}


@pytest.mark.parametrize("kind", INTEGER_PRODUCTS)
def test_integer_products(kind: str, engines: Engines, tmp_path: Path) -> None:
    """The product is in a loop, whose state is quantised by its range in each iteration."""
    count, constants, product = INTEGER_PRODUCTS[kind]
    text = f"""g (int64 m, float[r, 2] x) => (float[r, 2] y, int32[k, r, 2] each) {{
  y, each = Loop (m, "", x) <body = b (int64 i, bool go, float[r, 2] state)
      => (bool next, float[r, 2] after, int32[r, 2] p) {{
    next = Identity (go)  w = Constant <value = int8[2, 2] {{1, -64, 63, 4}}> ()  {constants}
    q, s, z = DynamicQuantizeLinear (state)  p = {product}
    f = Cast <to = 1> (p)  t = Constant <value_float = 0.0078125> ()  st = Mul (s, t)
    after = Mul (f, st)
  }}>
}}"""
    # The range has 255 steps of 0.5, so the first integers are exact in both engines.
    x = np.array([[-20, 107.5], [3, 4.5], [0, 50]], F32)
    sets = [[i64(3), x], [i64(1), -x], [i64(0), x], [i64(2), np.zeros_like(x)]]
    written = both_ways(text, sets, engines, tmp_path)
    assert written["MatMulInteger"] == count
    assert written["DynamicQuantizeLinear"] == 1


def test_integer_products_that_may_overflow(tmp_path: Path) -> None:
    """The sum of 33,026 products of 8-bit numbers does not fit into i32, but it does into f32."""
    for terms, count in ((33025, 1), (33026, 0)):
        source, ir = tmp_path / "model.onnx", tmp_path / "model.xml"
        text = f"g (float[1, {terms}] x, int8[{terms}, 2] w) => (int32[1, 2] y)"
        text += " { q, s, z = DynamicQuantizeLinear (x)  y = MatMulInteger (q, w, z) }"
        source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
        irloop.save_model(irloop.convert(source)[0], ir)
        written = [node.op.type for node in all_nodes(irloop.convert(ir)[0].graph)]
        assert written.count("MatMulInteger") == count
