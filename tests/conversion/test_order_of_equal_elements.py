"""ONNX orders equal elements by position, the lower first; OpenVINO's TopK of opset3 does not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.diagnostics import Diagnostic
from irloop.dialects.openvino.search import TopK3, TopK11
from irloop.formats.onnx import reader
from irloop.graph.model import Model
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import HEADER, agree, i64, needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def with_ties(*shape: int, kind: str = "float32", seed: int = 0) -> np.ndarray[Any, np.dtype[Any]]:
    """Numbers of which many are equal."""
    return np.random.default_rng(seed).integers(0, 3, shape).astype(kind)


def topk(data: str, axis: int, *, largest: int = 1, element: str = "float") -> str:
    return f"""g ({element}[{data}] x, int64[1] k) => ({element}[{data}] v, int64[{data}] i) {{
      v, i = TopK <axis = {axis}, largest = {largest}> (x, k)
    }}"""


@needs_engines
@pytest.mark.parametrize(
    ("element", "kind"), [("float", "float32"), ("int32", "int32"), ("int64", "int64")]
)
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_topk_of_a_known_size(
    axis: int, largest: int, element: str, kind: str, engines: Engines, tmp_path: Path
) -> None:
    text = topk("40, 33", axis, largest=largest, element=element)
    text = text.replace(
        f"=> ({element}[40, 33] v, int64[40, 33] i)", f"=> ({element}[a, b] v, int64[c, d] i)"
    )
    sets = [[with_ties(40, 33, kind=kind, seed=k), i64([k])] for k in (33, 1, 20, 2)]
    agree(HEADER + text, sets, engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("axis", [0, 1])
def test_topk_of_an_unknown_size(axis: int, engines: Engines, tmp_path: Path) -> None:
    text = topk("n, m", axis).replace(
        "(float[n, m] v, int64[n, m] i)", "(float[a, b] v, int64[c, d] i)"
    )
    sets = [[with_ties(*size), i64([k])] for size, k in (((30, 40), 25), ((3, 2), 2), ((50, 9), 1))]
    agree(HEADER + text, sets, engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("sizes", ["4, 20, 30", "a, b, c"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_positions_of_extremes(axis: int, sizes: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""g (float[{sizes}] x)
      => (int64[d, e, f] a, int64[g, h] b, int64[i, j, k] c, float[l, m, n] y) {{
      a = ArgMax <axis = {axis}> (x)
      b = ArgMin <axis = {axis}, keepdims = 0> (x)
      c = ArgMax <axis = {axis}, select_last_index = 1> (x)
      y = Hardmax <axis = {axis}> (x)
    }}"""
    agree(HEADER + text, [[with_ties(4, 20, 30, seed=at)] for at in (0, 1)], engines, tmp_path)


@needs_engines
def test_topk_in_nested_loops(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[20] x, int64 trips, int64 limit) => (float[20] last, int64[n, 7] found) {
      last, found = Loop <body = outer (int64 i, bool going, float[20] s)
          => (bool more, float[20] next, int64[7] at) {
        k = Constant <value_ints = [7]> ()
        v, at = TopK (s, k)
        more = Less (i, limit)
        zero = Constant <value_ints = [0]> ()
        first = Gather (at, zero)
        one = Constant <value = float[1] {-1}> ()
        next = ScatterElements (s, first, one)
      }> (trips, , x)
    }"""
    sets = [
        [with_ties(20), i64(6), i64(9)],
        [with_ties(20, seed=1), i64(6), i64(1)],
        [with_ties(20), i64(0), i64(9)],
    ]
    agree(HEADER + text, sets, engines, tmp_path)


def convert(sizes: str, k: int, opset: int | None = None) -> tuple[Model, list[Diagnostic]]:
    text = f"""g (float[{sizes}] x) => (float[{k}] v, int64[{k}] i) {{
      k = Constant <value_ints = [{k}]> ()
      v, i = TopK (x, k)
    }}"""
    model = reader.from_proto(onnx.parser.parse_model(HEADER + text))
    return irloop.convert(model, opset=opset)


@pytest.mark.parametrize(("size", "k"), [("46339", 5), ("300", 1), ("n", 1)])
def test_the_default_opset_keeps_the_order_without_a_note(size: str, k: int) -> None:
    model, notes = convert(size, k)
    assert not notes
    assert max(node.op.since for node in all_nodes(model.graph)) <= 8


@pytest.mark.parametrize("size", ["46340", "n"])
def test_a_note_names_the_newer_opset_or_the_lost_order(size: str) -> None:
    model, (note,) = convert(size, 5)
    assert any(isinstance(node.op, TopK11) for node in all_nodes(model.graph))
    assert note.code == "CNV105"
    assert "OpenVINO has since 2023.0; opset8 does not keep the order" in note.message
    model, (note,) = convert(size, 5, opset=8)
    assert any(isinstance(node.op, TopK3) for node in all_nodes(model.graph))
    assert (note.code, "--opset 11" in note.fix) == ("CNV112", True)
    _, notes = convert(size, 5, opset=11)
    assert not notes
