"""Divisions of integers that OpenVINO's CPU plugin rounds to the nearest integer."""

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
from irloop.graph.builder import element_of
from irloop.graph.types import ElementType
from tests.conversion.both_engines import agree, i64, needs_engines

pytestmark = needs_engines

X = np.array([[1, 2, 3], [4, 5, 8], [-7, -8, -2]], np.int64)
#: Integers computed from `x`, after which the plugin may compute a division in floating point.
SOURCES = {
    "sum": "y = ReduceSum <keepdims = 0> (x, axis)",
    "largest": "y = ReduceMax <axes = [1], keepdims = 0> (x)",
    "product": "p = MatMul (x, ones)  y = Squeeze (p, axis)",
    "next": "s = ReduceSum <keepdims = 1> (x, axis)  p = Squeeze (s, axis)  y = Add (p, one)",
    "turned": "s = ReduceSum <keepdims = 0> (x, axis)  y = Gather (s, order)",
}
DIVISIONS = {
    "by 4": "z = Div (y, four)",
    "of 40": "z = Div (forty, y)",
    "by 4, times 4": "q = Div (y, four)  z = Mul (q, four)",
}
CONSTANTS = """
  axis = Constant <value_ints = [1]> ()  four = Constant <value_int = 4> ()
  one = Constant <value_int = 1> ()  forty = Constant <value_int = 40> ()
  ones = Constant <value = int64[3, 1] {1, 1, 1}> ()  order = Constant <value_ints = [2, 0, 1]> ()
"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_quotients_are_truncated(
    source: str, division: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""
g (int64[r, 3] x) => (int64[s] z) {{ {CONSTANTS} {SOURCES[source]}  {DIVISIONS[division]} }}
"""
    agree(text, [[X], [X[::-1] + 1]], engines, tmp_path)


@pytest.mark.parametrize("division", DIVISIONS)
def test_quotients_in_a_loop(division: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g (int64 n, int64[r, 3] x) => (int64[s] last, int64[t, u] all) {{ {CONSTANTS}
  first = ReduceMax <axes = [1], keepdims = 0> (x)
  last, all = Loop (n, "", first) <body = b (int64 i, bool c, int64[v] state)
      => (bool d, int64[w] next, int64[w] z) {{
    d = Identity (c)  s = ReduceSum <keepdims = 0> (x, axis)  y = Add (s, i)
    {DIVISIONS[division]}  next = Add (state, z)
  }}>
}}
"""
    sets = [[i64(n), x] for n, x in ((3, X), (0, X), (1, X[:2] + 1), (2, X))]
    agree(text, sets, engines, tmp_path)


def test_an_operand_without_a_type_takes_that_of_the_other() -> None:
    """Without validation, conversion gets inputs for which a file declares no type."""
    text = """<ir_version: 8, opset_import: ["" : 10]>
    g (int32[6] x, int32[6] y) => (int32[6] z) { z = Mod (x, y) }"""
    proto = onnx.parser.parse_model(text)
    proto.graph.input[0].ClearField("type")
    model = from_proto(proto)
    assert element_of(model.graph.input(0)) is ElementType.DYNAMIC
    converted, _ = irloop.convert(model)
    assert element_of(converted.graph.output(0)) is ElementType.I32
