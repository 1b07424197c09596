"""Quotients and remainders of integers with more than 24 bits, which OpenVINO computes in f32."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.building.ir_model import IrModel
from irloop.conversion.pipelines import upgrade
from irloop.dialects.openvino.elementwise import Divide, FloorMod, Maximum, Mod
from irloop.faults.catalogue import faults
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import agree, i64, needs_engines

pytestmark = needs_engines

RNG = np.random.default_rng(7)
ENDS = (2**31 - 1, -(2**31), 2**24 + 1, -(2**24) - 1, 0, 1, -1)
X = np.array([*RNG.integers(-(2**31), 2**31, 300), *ENDS])
#: Half of the divisors are small. -2^31 is not supported.
DIVISORS = np.where(RNG.integers(0, 2, X.size), RNG.integers(1, 300, X.size), X[::-1])
DIVISORS[(DIVISORS == 0) | (DIVISORS == -(2**31))] = 7
OPERATIONS = {"Mod": "Mod (x, y)", "fmod": "Mod <fmod = 1> (x, y)", "Div": "Div (x, y)"}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("element", ["int64", "int32"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_divisors_that_are_inputs(
    operation: str, element: str, engines: Engines, tmp_path: Path
) -> None:
    text = (
        f"g ({element}[n] x, {element}[n] y) => ({element}[n] z) {{ z = {OPERATIONS[operation]} }}"
    )
    x, y = X.astype(element), DIVISORS.astype(element)
    agree(text, [[x, y], [x[::-1], y], [x[:0], y[:0]]], engines, tmp_path)


@pytest.mark.parametrize(
    "divisor", [1, 3, 1000, -1000003, 2**22, 2**22 + 1, -(2**24) - 3, 10**9 + 7, 2**31 - 1]
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_constant_divisors(operation: str, divisor: int, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g (int32[n] x) => (int32[m] z) {{
  y = Constant <value = int32[1] {{{divisor}}}> ()
  z = {OPERATIONS[operation]}
}}
"""
    agree(text, [[X.astype(np.int32)], [X[5:9].astype(np.int32)]], engines, tmp_path)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_sums_are_divided(operation: str, engines: Engines, tmp_path: Path) -> None:
    """The plugin may compute a division together with the reduction before it (OVN145).

    The sums are multiples of 64, because the plugin computes sums in f32, too.
    """
    text = f"""
g (int64[r, 4] v) => (int64[r] z) {{
  axis = Constant <value_ints = [1]> ()  y = Constant <value_int = 6968> ()
  x = ReduceSum <keepdims = 0> (v, axis)  z = {OPERATIONS[operation]}
}}
"""
    rows = np.array([[875362048, 0, 0, 0], [-875362048, 0, 0, 0], [5, 6, 7, 6960]])
    agree(text, [[rows], [rows[:1]], [rows[1:]]], engines, tmp_path)


STEPS = {
    # A linear congruential generator.
    "generator": "a = Mul (s, k)  x = Add (a, i)  next = Mod (x, y)",
    "hash": "a = Mul (s, k)  x = Add (a, v)  h = Mod <fmod = 1> (x, y)  next = Sub (h, i)",
    "quotient": "a = Mul (v, k)  x = Add (a, s)  next = Div (x, y)",
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("nested", [False, True])
def test_divisions_in_loops(step: str, nested: bool, engines: Engines, tmp_path: Path) -> None:
    body = f"(int64 i, bool c, int64[w] s) => (bool d, int64[w] next, int64[w] z) {{ {STEPS[step]}"
    stop = "  last = Constant <value_int = 1000000> ()  m = ReduceMax <keepdims = 0> (next)"
    inner = f"inner {body}  z = Identity (next)  d = Identity (c) }}"
    outer = f"outer {body}{stop}  d = Less (m, last)  z = Identity (next) }}"
    if nested:
        outer = f"""outer (int64 j, bool c, int64[w] t) => (bool d, int64[w] next, int64[w] z) {{
          two = Constant <value_int = 2> ()
          next, zs = Loop (two, "", t) <body = {inner}>
          {stop}  d = Less (m, last)  z = Add (next, t)
        }}"""
    text = f"""
g (int64 n, int64[w] v, int64[w] start) => (int64[w] end, int64[t, w] all) {{
  k = Constant <value_int = 1103> ()  y = Constant <value_int = 1000003> ()
  end, all = Loop (n, "", start) <body = {outer}>
}}
"""
    v, start = np.array([12345, 1900000, 77]), np.array([1000002, 1, 999])
    sets = [[i64(n), v, start] for n in (4, 0, 1, 7)] + [[i64(3), -v, start]]
    agree(text, sets, engines, tmp_path)


def test_divisions_of_sizes_stay(tmp_path: Path) -> None:
    """OpenVINO computes shapes when it compiles a model, through a plain Divide."""
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[n, m] x, int64[n] ids) => (float[k, l] y, int64[n] half) {
  shape = Shape (x)  four = Constant <value_ints = [2, 1]> ()  sizes = Div (shape, four)
  zero = Constant <value_int = 0> ()  steps = Constant <value_int = 1> ()
  starts = Constant <value_ints = [0, 0]> ()  y = Slice (x, starts, sizes)
  rows = Constant <value_int = 0> ()  size = Gather (shape, rows)
  places = Range (zero, size, steps)  two = Constant <value_int = 2> ()
  halves = Div (places, two)  rest = Mod (ids, two)  half = Add (halves, rest)
}
"""

    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    model = irloop.convert(source)[0]
    divisions = [node for node in all_nodes(model.graph) if isinstance(node.op, Divide)]
    # Two for the sizes, and the one that corrects `rest`.
    assert len(divisions) == 3


def test_corrected_divisions_are_left_alone(tmp_path: Path) -> None:
    """Conversion recognises what it has written, also after the way through ONNX."""
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (int64[n] x, int64[n] y) => (int64[n] z, int64[n] q) { z = Mod (x, y)  q = Div (x, y) }
"""
    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    first = irloop.convert(source)[0]
    assert not any(map(faults()["OVN155"]().is_repaired, all_nodes(first.graph)))
    again = irloop.convert(irloop.convert(first)[0])[0]
    counts = [sum(isinstance(n.op, Divide) for n in all_nodes(m.graph)) for m in (first, again)]
    assert counts[0] == counts[1]


def test_chosen_dividends(engines: Engines, tmp_path: Path) -> None:
    """The dividends come from a Where or an If, whose conditions are booleans."""
    text = """
g (int64[n] x, int64[n] w, bool c) => (int64[n] y, int64[n] z) {
  k = Constant <value_int = 6968> ()  zero = Constant <value_int = 0> ()
  less = Less (w, zero)  a = Where (less, x, w)  y = Mod (a, k)
  b = If (c) <then_branch = t () => (int64[n] p) { p = Identity (x) },
              else_branch = e () => (int64[n] q) { q = Neg (w) }>
  z = Mod (b, k)
}
"""
    small = np.clip(X[::-1], -(2**31) + 1, None)
    sets = [[X, small, np.array(c)] for c in (True, False)]
    agree(text, sets, engines, tmp_path)


def test_pairs_at_the_bounds_of_a_quotient(engines: Engines, tmp_path: Path) -> None:
    """Multiples of divisors and their neighbours, where a quotient in f32 is rounded up or down."""
    powers = 1 << np.arange(31)
    divisors = np.unique(np.concatenate([powers + step for step in (-3, -1, 0, 1, 3)]))
    divisors = divisors[(divisors > 0) & (divisors < 2**31)]
    most = (2**31 - 1) // divisors
    quotients = np.stack([most, most // 2, most // 3, np.minimum(most, 1), np.minimum(most, 2)])
    x = (quotients * divisors)[..., None] + np.arange(-2, 3)
    y = np.broadcast_to(divisors[:, None], x.shape)
    x, y = np.clip(x, -(2**31), 2**31 - 1).reshape(-1), y.reshape(-1)
    for operation in OPERATIONS.values():
        text = f"g (int64[n] x, int64[n] y) => (int64[n] z) {{ z = {operation} }}"
        agree(text, [[a * x, b * y] for a in (1, -1) for b in (1, -1)], engines, tmp_path)


@pytest.mark.parametrize("divisor", [2, 3, 127, 6968, 2**20 + 1, 2**22 - 1, 2**22, 2**22 + 1])
def test_multiples_of_constant_divisors(divisor: int, engines: Engines, tmp_path: Path) -> None:
    """Multiples and their neighbours, by one rounded quotient for all operations."""
    most = (2**31 - 1) // divisor
    factors = np.concatenate([most // (1 << np.arange(31)), RNG.integers(0, most + 1, 400)])
    x = np.unique(np.clip(factors[:, None] * divisor + np.arange(-2, 3), -(2**31), 2**31 - 1))
    ends = np.array([2**20, 2**24, 2**31 - 130])
    x = np.concatenate([x, *(ends + step for step in (-1, 0, 1)), [-(2**31)]])
    results = "abc"[: len(OPERATIONS)]
    steps = "  ".join(f"{z} = {op}" for z, op in zip(results, OPERATIONS.values(), strict=True))
    outputs = ", ".join(f"int64[n] {z}" for z in results)
    text = f"""
g (int64[n] x) => ({outputs}) {{ y = Constant <value_int = {divisor}> ()  {steps} }}
"""
    agree(text, [[x], [np.minimum(-x, 2**31 - 1)], [x[:1]]], engines, tmp_path)


def test_quotients_that_are_split(engines: Engines, tmp_path: Path) -> None:
    text = """
g (int64[4] x, int64[4] y) => (int64[2] a, int64[2] b) {
  q = Div (x, y)  a, b = Split (q)
}
"""
    x, y = i64([875362016, -875362016, 7, 0]), i64([6968, 6968, 2, 5])
    agree(text, [[x, y], [y, x + 1]], engines, tmp_path)


def test_divisions_of_the_same_operands_share_a_quotient() -> None:
    m = IrModel()
    x, ten = m.input("x", None, element=ElementType.I64), m.constant(10, ElementType.I64)
    ops = (FloorMod(), Divide(m_pythondiv=False), Mod(), FloorMod())
    made = m.done(*(m(op, x, ten) for op in ops))
    upgrade(made)
    counts = Counter(node.op.type for node in made.graph.nodes)
    # The small part of x, the rounded quotient, and what is missing in it.
    assert (counts["Divide"], counts["Multiply"], counts["Subtract"]) == (3, 1, 2)
    assert (counts["FloorMod"], counts["Mod"], counts["Add"]) == (2, 1, 1)
    assert not any(map(faults()["OVN155"]().is_repaired, all_nodes(made.graph)))


def test_signs_that_are_known() -> None:
    """A size has no sign, nor has a positive constant: fewer operations divide them."""
    x = IrModel()
    large = x.input("x", None, element=ElementType.I64)
    zero, counts = x.constant(0, ElementType.I64), {}
    for name, divided in (("any", large), ("positive", x(Maximum(), large, zero))):
        for divisor in (7, 2**23, None):
            other = large if divisor is None else x.constant(divisor, ElementType.I64)
            counts[name, divisor] = (divided, other)
    outputs = {key: x(Divide(m_pythondiv=False), *pair) for key, pair in counts.items()}
    made = x.done(*outputs.values())
    upgrade(made)
    signs = Counter(node.op.type for node in made.graph.nodes)["Sign"]
    # Those of long divisions: of unknown dividends and divisors, and of what remains.
    assert signs == (0 + 2 + 2) + (0 + 1 + 2)
