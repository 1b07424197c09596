"""Iteration numbers and slices in the shape in which the body reads them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.formats.onnx.reader import from_proto
from irloop.graph.builder import shape_of
from tests.conversion.both_engines import F32, HEADER, agree, i64, needs_engines

#: What a body computes from the number `i`, x [5, 3] and m.
LISTS = {
    "slice": "b = Unsqueeze (i, zero)  j = Add (i, two)  e = Unsqueeze (j, zero)  "
    "y = Slice (x, b, e, zero)",
    "gather": "r = Gather <axis = 1> (x, i)  y = Unsqueeze (r, one)",
    "gathers": "r = Gather (x, i)  a = Unsqueeze (r, zero)  b = Unsqueeze (r, first)  "
    "y = Add (a, b)",
    "reshape": "k = Mul (two, i)  b = Reshape (k, one)  y = Gather (x, b)",
    "joined": "y = Identity (i)",
}
SCALARS = {
    "another axis": "r = Gather (x, i)  y = Unsqueeze (r, one)",
    "condition": "b = Unsqueeze (i, zero)  e = Add (b, one)  y = Slice (x, b, e, zero)  "
    "t = Greater (i, two)",
    "state": "j = Add (i, m)  b = Unsqueeze (j, zero)  y = Gather (x, b)",
    "two ranks": "b = Unsqueeze (i, zero)  f = Cast <to = 1> (i)  r = Gather (x, b)  "
    "y = Add (r, f)",
}
BODIES = {**LISTS, **SCALARS}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def model(body: str) -> str:
    goes_on = "go = Identity (c)" if "t = " not in body else "go = Not (t)"
    kind, dims = ("int64", "k") if body == "y = Identity (i)" else ("float", "k,p,q")
    return f"""g (float[5,3] x, int64 n, int64 m) => ({kind}[{dims}] all, int64 last) {{
  zero = Constant <value_ints = [0]> ()  one = Constant <value_ints = [1]> ()
  first = Constant <value_ints = [-2]> ()  two = Constant <value_int = 2> ()
  last, all = Loop (n, "", m) <body = b (int64 i, bool c, int64 m0)
      => (bool go, int64 m1, {kind}[{dims[2:]}] y) {{
    {body}  {goes_on}  m1 = Identity (m0) }}>
}}"""


@pytest.mark.parametrize("name", BODIES)
def test_the_number_is_a_list_if_the_body_makes_one_of_it(name: str) -> None:
    source = from_proto(onnx.parser.parse_model(HEADER + model(BODIES[name])))
    (loop,) = [node for node in irloop.convert(source)[0].graph.nodes if node.bodies]
    position = loop.body().ports.iteration
    assert position is not None
    assert shape_of(loop.body().graph.inputs[position]).rank == (name in LISTS)


@needs_engines
@pytest.mark.parametrize("name", BODIES)
def test_both_shapes_give_the_same_numbers(name: str, engines: Engines, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(F32)
    sets = [[x, i64(n), i64(0)] for n in (2, 0, 1, 3)]
    agree(model(BODIES[name]), sets, engines, tmp_path)


@needs_engines
def test_an_axis_that_is_removed_and_added_again(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[t,3] x, float[t,3] w) => (float[3,3] last) {
      zero = Constant <value_ints = [0]> ()  one = Constant <value_ints = [1]> ()
      shape = Constant <value_ints = [3, 3]> ()  start = ConstantOfShape (shape)
      last = Scan <num_scan_inputs = 2, body = b (float[3,3] s, float[3] v, float[3] u)
          => (float[3,3] r) {
        row = Unsqueeze (v, zero)  column = Unsqueeze (u, one)  p = Mul (row, column)
        r = Add (s, p) }> (start, x, w)
    }"""
    there = irloop.convert(from_proto(onnx.parser.parse_model(HEADER + text)))[0]
    (loop,) = [node for node in there.graph.nodes if node.bodies]
    types = [node.op.type for node in loop.body().graph.nodes]
    assert (types.count("Squeeze"), types.count("Unsqueeze")) == (1, 1)
    draw = np.random.default_rng(0).standard_normal
    sets = [[draw((t, 3)).astype(F32) for _ in range(2)] for t in (4, 1, 2, 4)]
    agree(text, sets, engines, tmp_path)


def test_a_long_chain_of_sums_of_the_number() -> None:
    """It was refused, as nested too deeply."""
    count = 1500
    sums = " ".join(f"v{k + 1} = Add (v{k}, one)" for k in range(count))
    text = f"""g (int64 n) => (int64[m,1] y) {{
      one = Constant <value = int64 {{1}}> ()  axis = Constant <value_ints = [0]> ()
      y = Loop (n, "") <body = step (int64 v0, bool go) => (bool on, int64[1] u) {{
        {sums} u = Unsqueeze (v{count}, axis) on = Identity (go) }}> }}"""
    model = irloop.convert(from_proto(onnx.parser.parse_model(HEADER + text)))[0]
    result = irloop.run(model, [np.array(2)])
    assert [array.tolist() for array in result.values()] == [[[count], [count + 1]]]
