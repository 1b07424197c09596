"""Dimensions that only a one-element constant has, which OpenVINO's CPU plugin loses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks.engines import Engines
from irloop.conversion.pipelines import to_openvino
from irloop.formats.onnx import reader
from tests.conversion.both_engines import F32, HEADER, agree, needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


MOVED = """
g (float[3, 1] x) => (float[q, r] y, float[s, t] z) {
  zero = Constant <value_int = 0> ()  first = Constant <value_ints = [1]> ()
  flat = Constant <value_ints = [-1]> ()  axes = Constant <value_ints = [0, 1]> ()
  c = Constant <value_float = 2.0> ()  wide = Unsqueeze (c, axes)
  MOVE
  y = OP (p, wide)  z = OP (wide, p)
}"""

MOVES = {
    "Gather": "p = Gather (x, zero)",
    "Squeeze": "p = Squeeze (x, first)",
    "Reshape": "p = Reshape (x, flat)",
    "two of them": "v = Squeeze (x, first)  p = Gather (v, zero)",
    "ReduceMax": "p = ReduceMax <keepdims = 0> (x)",
}


@needs_engines
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Pow", "Max"])
@pytest.mark.parametrize("move", MOVES)
def test_arithmetic_keeps_the_dimensions_of_the_constant(
    move: str, op: str, engines: Engines, tmp_path: Path
) -> None:
    x = np.array([[1], [2], [3]], F32)
    agree(MOVED.replace("MOVE", MOVES[move]).replace("OP", op), [[x], [x + 1]], engines, tmp_path)


@pytest.mark.parametrize(("dims", "added"), [("[1, 1]", 1), ("[1]", 0), ("[1, 2]", 0)])
def test_an_operation_is_added_only_if_the_constant_adds_a_dimension(dims: str, added: int) -> None:
    numbers = "{1, 2}" if "2" in dims else "{1}"
    text = f"g (float[2] x) => (float[q] y) <float{dims} c = {numbers}> {{ y = Add (x, c) }}"
    model, _ = to_openvino(reader.from_proto(onnx.parser.parse_model(HEADER + text)))
    assert [node.op.type for node in model.graph.nodes].count("Unsqueeze") == added
