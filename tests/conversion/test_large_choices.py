"""Comparisons and choices of integers with more than 24 bits, which OpenVINO computes in f32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.convert import Convert
from irloop.faults.catalogue import faults
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import agree, i64, needs_engines

pytestmark = needs_engines

RNG = np.random.default_rng(11)
X = np.array([*RNG.integers(-(2**31), 2**31, 200), 2**31 - 1, -(2**31), 2**24 + 1, 2**24, 0, -1])
#: A third of the numbers are equal to those of `X`, and a third are greater by 1.
Y = np.select([np.arange(X.size) % 3 == 0, np.arange(X.size) % 3 == 1], [X, X + 1], X[::-1])
Y[Y == 2**31] = 5
COMPARISONS = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("element", ["int64", "int32"])
@pytest.mark.parametrize("operation", COMPARISONS)
def test_comparisons(operation: str, element: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g ({element}[n] x, {element}[n] y) => (bool[n] c, bool[n] d, {element}[n] z) {{
  c = {operation} (x, y)  d = Not (c)  z = Where (d, x, y)
}}
"""
    x, y = X.astype(element), Y.astype(element)
    agree(text, [[x, y], [y, x], [x[:3], y[:3]], [x[:0], y[:0]]], engines, tmp_path)


CONDITIONS = {
    "comparison": "c = Less (s, zero)",
    "of floats": "f = Cast <to = 1> (s)  c = Greater (f, half)",
    "not": "d = Less (zero, s)  c = Not (d)",
    "and": "d = Less (zero, s)  e = Less (s, three)  c = And (d, e)",
    "one for all": "m = ReduceMax <axes = [0]> (s)  c = Less (m, three)",
    "expanded": "d = Less (s, zero)  shape = Shape (d)  c = Expand (d, shape)",
    "reshaped": "d = Less (s, zero)  r = Constant <value_ints = [-1]> ()  c = Reshape (d, r)",
    "zero": "c = Equal (s, zero)",
    "not zero": "d = Equal (zero, s)  c = Not (d)",
    "zero remains": "r = Mod (s, three)  c = Equal (r, zero)",
    "nan": "f = Cast <to = 1> (s)  q = Sqrt (f)  c = IsNaN (q)",
}
CONSTANTS = """
  zero = Constant <value_int = 0> ()  three = Constant <value_int = 3> ()
  half = Constant <value_float = 0.5> ()
"""


@pytest.mark.parametrize("condition", CONDITIONS)
def test_choices(condition: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g (int64[n] s, int64[n] x, int64[n] y) => (int64[n] z, int64[n] w) {{
  {CONSTANTS} {CONDITIONS[condition]}
  z = Where (c, x, y)  big = Constant <value_int = 2147483647> ()  w = Where (c, s, big)
}}
"""
    small = RNG.integers(-5, 6, X.size)
    agree(text, [[small, X, Y], [small[:4], Y[:4], X[:4]]], engines, tmp_path)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("nested", [False, True])
def test_choices_in_loops(condition: str, nested: bool, engines: Engines, tmp_path: Path) -> None:
    step = f"""{CONSTANTS} s = Sub (v, i)  {CONDITIONS[condition]}
      w = Where (c, t, x)  b = Less (w, x)  a = Where (b, x, w)  next = Add (a, i)
      go = Less (i, three)"""
    body = f"""(int64 i, bool k, int64[w] t) => (bool go, int64[w] next, int64[w] z) {{
      {step}  z = Identity (next)
    }}"""
    if nested:
        body = f"""(int64 j, bool k0, int64[w] t0) => (bool k1, int64[w] end1, int64[w] z1) {{
          two = Constant <value_int = 2> ()
          end1, zs = Loop (two, "", t0) <body = inner {body}>
          z1 = Add (end1, j)  k1 = Identity (k0)
        }}"""
    text = f"""
g (int64 n, int64[w] v, int64[w] x, int64[w] start) => (int64[w] end, int64[k, w] all) {{
  end, all = Loop (n, "", start) <body = outer {body}>
}}
"""
    v, x = np.array([-3, 0, 1, 5]), np.array([16777219, -1900000001, 123456789, 2**30 + 9])
    sets = [[i64(n), v, x, x[::-1].copy()] for n in (4, 0, 1, 7)]
    agree(text, [*sets, [i64(3), v[::-1].copy(), x + 1, x]], engines, tmp_path)


def test_zero_is_told_from_all_other_numbers(engines: Engines, tmp_path: Path) -> None:
    """The Convert that tells it takes the size of -2^31, which is no i32, for 0."""
    text = """
g (int64[n] s, int64[n] x, int64[n] y) => (int64[n] z, int64[n] w) {
  zero = Constant <value_int = 0> ()  c = Equal (s, zero)  z = Where (c, x, y)
  zeros = Sub (x, x)  d = Equal (zeros, s)  w = Where (d, y, x)
}
"""
    powers = 2 ** np.arange(31)
    s = np.array([0, *powers, *-powers, *(256 * RNG.integers(-300, 300, 40)), *X[-6:]])
    x, y = (np.full(s.shape, value) for value in (16777217, -16777219))
    agree(text, [[s, x, y], [s[:1], x[:1], y[:1]], [s[-6:-5], x[:1], y[:1]]], engines, tmp_path)


def test_comparisons_as_conditions_of_a_loop(engines: Engines, tmp_path: Path) -> None:
    """The loop stops when its state reaches a large number exactly."""
    text = """
g (int64 n, int64 start, int64 goal) => (int64 end, int64[k] all) {
  yes = Constant <value = bool {1}> ()  one = Constant <value_int = 1> ()
  end, all = Loop (n, yes, start) <body = b
    (int64 i, bool c, int64 s) => (bool d, int64 t, int64 z) {
    t = Add (s, one)  z = Identity (s)  d = Less (t, goal)
  }>
}
"""
    goals = [(16777215, 16777219), (2**31 - 9, 2**31 - 2), (5, 7), (16777217, 3)]
    agree(text, [[i64(12), i64(a), i64(b)] for a, b in goals], engines, tmp_path)


def test_small_numbers_are_left_alone(tmp_path: Path) -> None:
    """OpenVINO folds sizes, so they stay as they are; one small operand makes rounding harmless."""
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[n, m] x, int64[k] ids) => (int64[2] y, bool[k] c, int64[k] z) {
  shape = Shape (x)  four = Constant <value_ints = [2, 1]> ()  less = Less (shape, four)
  y = Where (less, shape, four)  five = Constant <value_int = 5> ()  c = Equal (ids, five)
  zeros = Sub (ids, ids)  ones = Cast <to = 9> (zeros)  z = Where (ones, ids, five)
}
"""
    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    nodes = list(all_nodes(irloop.convert(source)[0].graph))
    types = [node.op.type for node in nodes]
    assert types.count("Less") == types.count("Equal") == 1
    chosen = [n.inputs[0].producer for n in nodes if isinstance(n.op, Select) and n.inputs[0]]
    # The only condition from a Convert is the one of the model.
    assert sum(isinstance(node.op, Convert) for node in chosen) == 1


def test_forms_are_recognised(tmp_path: Path) -> None:
    """Conversion leaves alone what it has written, also after the way through ONNX."""
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (int64[n] x, int64[n] y) => (int64[n] z, bool[n] c) { c = Less (x, y)  z = Where (c, x, y) }
"""
    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    first = irloop.convert(source)[0]
    again = irloop.convert(irloop.convert(first)[0])[0]
    for model in (first, again):
        nodes = list(all_nodes(model.graph))
        known = [faults()[code]() for code in ("OVN157", "OVN158")]
        assert not any(fault.is_repaired(node) for fault in known for node in nodes)
    types = [[node.op.type for node in all_nodes(model.graph)] for model in (first, again)]
    assert types[0].count("Subtract") == types[1].count("Subtract") == 1
