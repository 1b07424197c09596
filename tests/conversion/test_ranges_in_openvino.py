"""Ranges whose step may point away from their end: OpenVINO counts such steps without their sign.

The expected values are ONNX Runtime's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.dialects.openvino.elementwise import Maximum
from irloop.graph.walk import has_op
from tests.conversion.both_engines import F32, HEADER, agree, i64, needs_engines

pytestmark = needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


BOUNDS = [(0, 3, 1), (0, -3, 1), (5, 0, 2), (0, 5, -2), (4, 0, -3), (2, 2, 1), (-7, -2, 3)]


@pytest.mark.parametrize(("name", "kind"), [("int64", "i8"), ("int32", "i4"), ("float", "f4")])
def test_all_bounds_are_inputs(name: str, kind: str, engines: Engines, tmp_path: Path) -> None:
    text = f"g ({name} a, {name} b, {name} c) => ({name}[n] y) {{ y = Range (a, b, c) }}"
    sets = [[np.array(number, kind) for number in bounds] for bounds in BOUNDS]
    agree(text, sets, engines, tmp_path)


def test_a_step_of_unknown_type_is_left_alone(tmp_path: Path) -> None:
    """The step would be compared with a zero of its type; a note names the fault instead."""
    text = "g (float a, float b, float c) => (float[n] y) { y = Range (a, b, c) }"
    proto = onnx.parser.parse_model(HEADER + text)
    proto.graph.input[2].type.tensor_type.elem_type = onnx.TensorProto.UNDEFINED
    source = tmp_path / "m.onnx"
    source.write_bytes(proto.SerializeToString())
    converted, notes = irloop.convert(source)
    assert not has_op(converted.graph, Maximum)
    assert any("OVN151" in note.message for note in notes)


@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_the_step_is_constant(step: int, engines: Engines, tmp_path: Path) -> None:
    text = f"""g (int64 a, int64 b) => (int64[n] y) {{
  c = Constant <value_int = {step}> ()  y = Range (a, b, c)
}}"""
    sets = [[i64(first), i64(last)] for first, last, _ in BOUNDS]
    agree(text, sets, engines, tmp_path)


def test_fractions(engines: Engines, tmp_path: Path) -> None:
    text = "g (float a, float b, float c) => (float[n] y) { y = Range (a, b, c) }"
    bounds = [(0.1, -0.2, 0.6), (0.1, -0.9, 0.6), (0.1, -0.9, -0.3), (0, 2.5, 1), (0, 0.5, -1)]
    agree(text, [[F32(number) for number in row] for row in bounds], engines, tmp_path)


def test_a_loop_counts_down_to_an_empty_range(engines: Engines, tmp_path: Path) -> None:
    text = """g (int64 m, int64 left) => (int64 total) {
  go = Constant <value = bool {1}> ()  zero = Constant <value_int = 0> ()
  total, rest = Loop (m, go, zero, left) <body = b (int64 i, bool c, int64 s, int64 n)
      => (bool d, int64 t, int64 k) {
    d = Identity (c)  one = Constant <value_int = 1> ()  from = Constant <value_int = 0> ()
    numbers = Range (from, n, one)  size = Size (numbers)  t = Add (s, size)  k = Sub (n, one)
  }>
}"""
    # 3 + 2 + 1, then nothing.
    sets = [[i64(count), i64(3)] for count in (2, 6, 0, 4)] + [[i64(3), i64(-1)]]
    agree(text, sets, engines, tmp_path)


SIZES = {
    "a size": "n = Gather <axis = 0> (shape, zero)  y = Range (zero, n, one)",
    "a product of sizes": "n = ReduceProd <keepdims = 0> (shape)  y = Range (zero, n, one)",
    "so many after the start": (
        "n = Gather <axis = 0> (shape, zero)  end = Add (past, n)  y = Range (past, end, one)"
    ),
}


@pytest.mark.parametrize("size", SIZES)
def test_sizes_need_no_limit(size: str, tmp_path: Path) -> None:
    text = f"""{HEADER}g (float[r, c] x, int64 past) => (int64[n] y) {{
  zero = Constant <value_int = 0> ()  one = Constant <value_int = 1> ()  shape = Shape (x)
  {SIZES[size]}
}}"""
    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    model, notes = irloop.convert(source)
    assert not has_op(model.graph, Maximum)
    assert not notes
