"""SequenceAt with a computed position, among items of different sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import agree, back_agrees, i64, needs_engines

pytestmark = needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


ITEMS = {
    "float": (np.array([1.5, -2]), np.array([3.0, 4, 5])),
    "int64": (np.array([1, -2]), np.array([3, 4, 5])),
    "bool": (np.array([True, False]), np.array([False, False, True])),
    "string": (np.array(["a", "bc"]), np.array(["", "d", "e"])),
}


@pytest.mark.parametrize("element", ITEMS)
def test_vectors(element: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g (int64 k, {element}[a] x, {element}[b] y) => ({element}[c] z) {{
  s = SequenceConstruct (x, y, x)  z = SequenceAt (s, k)
}}
"""
    x, y = (v.astype(np.float32) if v.dtype.kind == "f" else v for v in ITEMS[element])
    sets = [[i64(k), x, y] for k in (0, 1, 2, -1, -2)]
    agree(text, [*sets, [i64(0), y, x[:0]], [i64(1), y, x[:0]]], engines, tmp_path)
    back_agrees(sets, engines, tmp_path)


def test_matrices_of_known_and_unknown_sizes(engines: Engines, tmp_path: Path) -> None:
    text = """
g (int32 k, float[2, 3] x, float[n, 5] y) => (float[c, d] z) {
  t = Transpose (x)  s = SequenceConstruct (x, y, t)  z = SequenceAt (s, k)
}
"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = np.arange(20, dtype=np.float32).reshape(4, 5)
    sets = [[np.array(k, np.int32), x, y[:n]] for k in (0, 1, 2, -1, -3) for n in (4, 0)]
    agree(text, sets, engines, tmp_path)
    back_agrees(sets, engines, tmp_path)


def test_positions_in_a_loop(engines: Engines, tmp_path: Path) -> None:
    """The body captures the items; the loop runs zero times, often, and stops early."""
    text = """
g (int64 n, float[a] x, float[b] y) => (float end, float[k] all) {
  zero = Constant <value_float = 0.0> ()
  end, all = Loop (n, "", zero) <body = b (int64 i, bool c, float t) => (bool d, float u, float z) {
    three = Constant <value_int = 3> ()  r = Mod (i, three)  w = Neg (y)
    s = SequenceConstruct (x, y, w)  item = SequenceAt (s, r)
    total = ReduceSum <keepdims = 0> (item)  u = Add (t, total)  z = Identity (total)
    limit = Constant <value_float = 9.0> ()  d = Less (u, limit)
  }>
}
"""
    x, y = np.array([1, 2], np.float32), np.array([2, 1, 0.5], np.float32)
    sets = [[i64(n), x, y] for n in (5, 0, 2)] + [[i64(8), y * 2, x], [i64(3), x[:0], y]]
    agree(text, sets, engines, tmp_path)
    back_agrees(sets, engines, tmp_path)


def test_items_of_different_ranks_are_refused(tmp_path: Path) -> None:
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (int64 k, float[a] x, float[b, c] y) => (float z) {
  s = SequenceConstruct (x, y)  z = SequenceAt (s, k)
}
"""
    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    with pytest.raises(irloop.IrloopError, match="have the shapes"):
        irloop.convert(source)
