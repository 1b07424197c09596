"""Reductions of integers with more than 24 bits, which OpenVINO computes in f32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.dialects.openvino.reduction import Reduction
from irloop.faults.catalogue import faults
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import agree, i64, needs_engines

pytestmark = needs_engines

RNG = np.random.default_rng(13)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def large(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Integers whose sums have at most 32 bits."""
    most = 2**31 // max(int(np.prod(shape)), 1)
    return RNG.integers(-most + 1, most, shape)


@pytest.mark.parametrize("element", ["int64", "int32"])
@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axes", ["0", "1", "-1", "0, 2", "0, 1, 2"])
def test_sums(element: str, keep: int, axes: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g ({element}[n, 3, m] x) => ({element} y) {{
  axes = Constant <value_ints = [{axes}]> ()  y = ReduceSum <keepdims = {keep}> (x, axes)
}}
"""
    shapes = [(5, 3, 4), (1, 3, 7), (0, 3, 4), (2, 3, 0)]
    agree(text, [[large(*shape).astype(element)] for shape in shapes], engines, tmp_path)


@pytest.mark.parametrize("element", ["int64", "int32"])
@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axes", ["1", "-1", "1, 2"])
@pytest.mark.parametrize("kind", ["Max", "Min"])
def test_extremes(
    kind: str, element: str, keep: int, axes: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""
g ({element}[n, 3, 4] x) => ({element} y) {{
  y = Reduce{kind} <keepdims = {keep}, axes = [{axes}]> (x)
}}
"""
    sets = [RNG.integers(-(2**31), 2**31, (n, 3, 4)) for n in (5, 0, 1)]
    agree(text, [[x.astype(element)] for x in sets], engines, tmp_path)


@pytest.mark.parametrize("nested", [False, True])
def test_reductions_in_loops(nested: bool, engines: Engines, tmp_path: Path) -> None:
    """The sum, which is divided, and the maximum of a state depend on all of its bits."""
    body = """(int64 i, bool k, int64[5] t) => (bool go, int64[5] next, int64 z) {
      axes = Constant <value_ints = [0]> ()  total = ReduceSum <keepdims = 0> (t, axes)
      best = ReduceMax <keepdims = 0> (t)  worst = ReduceMin <keepdims = 0> (t)
      seven = Constant <value_int = 7> ()  part = Div (total, seven)  a = Sub (best, part)
      b = Mul (t, seven)  c = Sub (b, total)  m = Constant <value_int = 300000007> ()
      next = Mod (c, m)  z = Sub (a, worst)  three = Constant <value_int = 3> ()
      go = Less (i, three)
    }"""
    if nested:
        body = f"""(int64 j, bool k0, int64[5] t0) => (bool k1, int64[5] end1, int64 z1) {{
          two = Constant <value_int = 2> ()
          end1, zs = Loop (two, "", t0) <body = inner {body}>
          z1 = ReduceSum <keepdims = 0> (zs)  k1 = Identity (k0)
        }}"""
    text = f"""
g (int64 n, int64[5] start) => (int64[5] end, int64[k] all) {{
  end, all = Loop (n, "", start) <body = outer {body}>
}}
"""
    x = np.array([200000001, -100000033, 77777777, 5, 123456789])
    agree(text, [[i64(n), x] for n in (4, 0, 1, 7)] + [[i64(3), -x]], engines, tmp_path)


def test_small_numbers_are_left_alone(tmp_path: Path) -> None:
    """Sizes and counts of booleans stay reductions; conversion recognises what it has written."""
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[n, m] x, bool[k] b, int64[2] s) => (int64 y, int64 z, int64 w) {
  shape = Shape (x)  y = ReduceMax <keepdims = 0> (shape)
  axes = Constant <value_ints = [0]> ()
  ones = Cast <to = 7> (b)  z = ReduceSum <keepdims = 0> (ones, axes)
  w = ReduceSum <keepdims = 0> (s, axes)
}
"""
    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    first = irloop.convert(source)[0]
    again = irloop.convert(irloop.convert(first)[0])[0]
    for model in (first, again):
        nodes = list(all_nodes(model.graph))
        assert sum(isinstance(node.op, Reduction) for node in nodes) == 2
        assert not any(map(faults()["OVN159"]().is_repaired, nodes))
        assert sum(node.op.type == "CumSum" for node in nodes) == 1
