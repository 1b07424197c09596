"""QuantizeLinear and the operations that read its integers, as IR: equal to ONNX Runtime, without
unneeded conversions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import F32, HEADER, agree, i64, needs_engines

pytestmark = needs_engines

#: Multiples of 0.25: half of them are halfway between two steps of 0.5, and the largest are out of
#: range.
NUMBERS = np.arange(-600, 600, dtype=F32).reshape(4, 300) / F32(4)
SETS = [[NUMBERS], [NUMBERS[:1, ::7] + F32(0.1)], [-NUMBERS]]

CONSTANTS = """
  step = Constant <value_float = 0.5> ()  other = Constant <value_float = 0.3> ()
  z3 = Constant <value = uint8 {3}> ()  z7 = Constant <value = uint8 {7}> ()
  low = Constant <value = int8 {-5}> ()  none = Constant <value = int8 {0}> ()
"""
#: The number of computed values that the IR must convert, and the model.
PAIRS = {
    "u8": (0, "q = QuantizeLinear (x, step, z3)  y = DequantizeLinear (q, step, z3)"),
    "i8": (0, "q = QuantizeLinear (x, step, low)  y = DequantizeLinear (q, other, low)"),
    "zero": (0, "q = QuantizeLinear (x, step, none)  y = DequantizeLinear (q, step, none)"),
    "no zero point": (0, "q = QuantizeLinear (x, step)  y = DequantizeLinear (q, step)"),
    "two zero points": (0, "q = QuantizeLinear (x, step, z3)  y = DequantizeLinear (q, step, z7)"),
    "one zero point": (0, "q = QuantizeLinear (x, step, z3)  y = DequantizeLinear (q, step)"),
    "a computed zero point": (
        1,
        """z, u, v = DynamicQuantizeLinear (x)
        q = QuantizeLinear (x, step, v)  y = DequantizeLinear (q, step, v)""",
    ),
    "a cast that is no rounding": (
        2,
        """a = Constant <value_float = 0.0> ()  b = Constant <value_float = 255.0> ()
        c = Clip (x, a, b)  q = Cast <to = 2> (c)  y = DequantizeLinear (q, step, z3)""",
    ),
    "a narrower range": (
        0,
        """a = Constant <value = uint8 {9}> ()
        q = QuantizeLinear (x, step, z3)  m = Max (q, a)  y = DequantizeLinear (m, step, z3)""",
    ),
    "of integers": (
        0,
        """q, s, z = DynamicQuantizeLinear (x)
        w = Constant <value = int8[1, 1] {-3}> ()  at = Constant <value_ints = [0, 1]> ()
        last = Constant <value_ints = [2]> ()  u = Unsqueeze (q, last)
        p = MatMulInteger (u, w, z)  f = Cast <to = 1> (p)
        r = Squeeze (f, last)  y = Mul (r, s)""",
    ),
}
#: Models that need the integers themselves.
WITH_INTEGERS = ("a narrower range", "of integers")


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_compute_the_same_in_openvino(pair: str, engines: Engines, tmp_path: Path) -> None:
    converts, body = PAIRS[pair]
    text = f"g (float[r, c] x) => (float[r, c] y) {{ {CONSTANTS} {body} }}"
    agree(text, SETS, engines, tmp_path)
    if pair in WITH_INTEGERS:
        return
    source = tmp_path / "again.onnx"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    model = irloop.convert(source)[0]
    converted = [node.inputs[0] for node in all_nodes(model.graph) if node.op.type == "Convert"]
    computed = [value for value in converted if value is not None and value.producer.inputs]
    assert len(computed) <= converts


def test_integers_with_two_readers(engines: Engines, tmp_path: Path) -> None:
    text = f"""g (float[r, c] x) => (uint8[r, c] q, float[r, c] y, float[r, c] z) {{ {CONSTANTS}
  q = QuantizeLinear (x, step, z3)  y = DequantizeLinear (q, step, z3)
  z = DequantizeLinear (q, other, z7)
}}"""
    agree(text, SETS, engines, tmp_path)


def test_a_quantised_convolution_in_a_loop(engines: Engines, tmp_path: Path) -> None:
    text = f"""
g (int64 m, float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y, float[k, 1, 1, 4, 4] each) {{
  y, each = Loop (m, "", x) <body = b (int64 i, bool go, float[1, 1, 4, 4] state)
      => (bool next, float[1, 1, 4, 4] after, float[1, 1, 4, 4] one) {{ {CONSTANTS}
    next = Identity (go)  w = Constant <value = int8[1, 1, 2, 2] {{1, -2, 3, -4}}> ()
    f = DequantizeLinear (w, other, none)  q = QuantizeLinear (state, step, z3)
    d = DequantizeLinear (q, step, z3)  h = Conv <auto_pad = "SAME_UPPER"> (d, f)
    o = QuantizeLinear (h, other, low)  after = DequantizeLinear (o, other, low)
    one = Neg (after)
  }}>
}}
"""
    x = np.arange(16, dtype=F32).reshape(1, 1, 4, 4)
    agree(text, [[i64(3), x], [i64(1), -x], [i64(0), x], [i64(2), x]], engines, tmp_path)
