"""Bitwise operations on u32, whose numbers from 2^31 on are negative for OpenVINO."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from tests.conversion.both_engines import agree, i64, needs_engines

pytestmark = needs_engines

HEADER = '<ir_version: 8, opset_import: ["" : 18]>\n'
RNG = np.random.default_rng(11)
X = np.array([*RNG.integers(0, 2**32, 60), 0, 1, 2**31, 2**31 - 1, 2**32 - 1], np.uint32)
Y = X[::-1]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("operation", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits_of_two_numbers(operation: str, engines: Engines, tmp_path: Path) -> None:
    text = f"{HEADER}g (uint32[n] x, uint32[n] y) => (uint32[n] z) {{ z = {operation} (x, y) }}"
    agree(text, [[X, Y], [X[:3], Y[5:8]]], engines, tmp_path)


def test_opposite_bits(engines: Engines, tmp_path: Path) -> None:
    text = f"{HEADER}g (uint32[n] x) => (uint32[n] z) {{ z = BitwiseNot (x) }}"
    agree(text, [[X], [X[:1]]], engines, tmp_path)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts(direction: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""{HEADER}
g (uint32[n, 1] x, uint32[m] y) => (uint32[n, m] z) {{
  z = BitShift <direction = "{direction}"> (x, y)
}}
"""
    amounts = np.arange(32, dtype=np.uint32)
    agree(text, [[X[:, None], amounts], [X[:2, None], amounts[::-1]]], engines, tmp_path)


def test_a_hash_in_a_loop(engines: Engines, tmp_path: Path) -> None:
    """The random generator xorshift32."""
    text = f"""{HEADER}
g (int64 n, uint32[k] start) => (uint32[k] last, uint32[t, k] all) {{
  a = Constant <value = uint32 {{13}}> ()  b = Constant <value = uint32 {{17}}> ()
  d = Constant <value = uint32 {{5}}> ()
  last, all = Loop (n, "", start) <body = body (int64 i, bool c, uint32[k] s)
      => (bool e, uint32[k] next, uint32[k] z) {{
    p = BitShift <direction = "LEFT"> (s, a)  q = BitwiseXor (s, p)
    r = BitShift <direction = "RIGHT"> (q, b)  u = BitwiseXor (q, r)
    v = BitShift <direction = "LEFT"> (u, d)  next = BitwiseXor (u, v)
    z = Identity (next)  e = Identity (c)
  }}>
}}
"""
    agree(text, [[i64(n), X[:5]] for n in (4, 0, 1, 6)], engines, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (BitwiseAnd(), X & Y),
        (BitwiseOr(), X | Y),
        (BitwiseXor(), X ^ Y),
        (BitwiseNot(), ~X),
    ],
)
def test_the_way_through_an_older_opset(
    op: Op, expected: np.ndarray, engines: Engines, tmp_path: Path
) -> None:
    m = IrModel()
    names = "x" if op == BitwiseNot() else "xy"
    inputs = [m.input(name, None, element=ElementType.U32) for name in names]
    model = m.done(m(op, *inputs))
    onnx, ir = tmp_path / "model.onnx", tmp_path / "model.xml"
    irloop.save_model(irloop.convert(model, opset=17)[0], onnx)
    irloop.save_model(irloop.convert(onnx)[0], ir, ir_version=11)
    for engine, path in (("onnxruntime", onnx), ("openvino", ir)):
        found = engines.run_all(engine, path, [[X, Y][: len(inputs)]], tmp_path)[0][0]
        np.testing.assert_array_equal(found, expected, err_msg=engine)
