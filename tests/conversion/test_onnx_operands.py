"""ONNX to IR with operands of unknown size and scalars, which OpenVINO refuses in other forms."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, i64, needs_engines

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@needs_engines
@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_weights_of_unknown_sizes(kind: str, gates: int, engines: Engines, tmp_path: Path) -> None:
    text = f"""g (float[t, n, 3] x, float[d, g, i] w, float[e, h, j] r, float[f, k] b)
      => (float[o, p, q, s] y) {{ y = {kind} <hidden_size = 5> (x, w, r, b) }}"""
    shapes = [(4, 2, 3), (1, 5 * gates, 3), (1, 5 * gates, 5), (1, 10 * gates)]
    given = [RANDOM.normal(size=shape).astype(F32) for shape in shapes]
    agree(text, [given, [RANDOM.normal(size=(2, 1, 3)).astype(F32), *given[1:]]], engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("opset", [13, 18])
def test_lengths_of_unknown_number(opset: int, engines: Engines, tmp_path: Path) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]>
      g (float[n] x, int64[k] s) => (float[a] y, float[b] z) {{ y, z = Split (x, s) }}"""
    x = np.arange(6, dtype=F32)
    agree(text, [[x, i64([2, 4])], [x, i64([5, 1])]], engines, tmp_path)


@needs_engines
def test_boxes_of_unknown_sizes(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[n, m, four] boxes, float[n, c, m] scores) => (int64[k, 3] y) {
      most = Constant <value_ints = [3]> ()
      y = NonMaxSuppression (boxes, scores, most)
    }"""
    corner = RANDOM.random((1, 6, 2)).astype(F32)
    boxes = np.concatenate((corner, corner + 1), 2)
    scores = RANDOM.random((1, 2, 6)).astype(F32)
    agree(text, [[boxes, scores], [boxes[:, :2], scores[:, :, :2]]], engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_scalar_axis(axis: int, engines: Engines, tmp_path: Path) -> None:
    text = f"""g (float[a, b] x, int64 at) => (float[c, d, e] y, float[f, g, h] z) {{
      axis = Constant <value_int = {axis}> ()
      y = Unsqueeze (x, axis)
      z = Unsqueeze (x, at)
    }}"""
    x = np.arange(6, dtype=F32).reshape(2, 3)
    agree(text, [[x, i64(axis)], [x.T.copy(), i64(axis)]], engines, tmp_path)


@needs_engines
def test_an_expanded_function_of_an_initializer(engines: Engines, tmp_path: Path) -> None:
    """The body of this function depends on the types of its inputs."""
    key = ", ".join(str(number / 8) for number in range(8))
    text = f"""<ir_version: 13, opset_import: ["" : 27]>
    g (float[1, 2, 4] query, float[1, 2, 4] value) => (float[1, 2, 4] y, float[1, 2, 2, 2] state)
      <float[1, 2, 4] key = {{{key}}}> {{
      y, state = LinearAttention
        <kv_num_heads = 2, q_num_heads = 2, update_rule = "linear"> (query, key, value)
    }}"""
    agree(text, [[RANDOM.normal(size=(1, 2, 4)).astype(F32) for _ in "qv"]], engines, tmp_path)
