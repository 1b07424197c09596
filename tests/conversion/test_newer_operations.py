"""Operations written in a newer opset than the default, because its own forms need large tables."""

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
from irloop.dialects.openvino import scatter
from irloop.errors import UsageError
from irloop.formats.onnx import reader
from irloop.graph.builder import Builder
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import F32, agree, i64, needs_engines
from tests.passes.openvino_models import model_of

HEADER = '<ir_version: 9, opset_import: ["" : 18]>\n'


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def newest(model: Model) -> Node:
    """The node of the newest opset."""
    return max(all_nodes(model.graph), key=lambda node: node.op.since)


def convert(text: str, *, opset: int | None = None) -> tuple[Model, list[str]]:
    """The IR of an ONNX model, and the codes and messages of the notes."""
    model = reader.from_proto(onnx.parser.parse_model(HEADER + text))
    result, notes = irloop.convert(model, opset=opset)
    return result, [f"{note.code} {note.message} ({note.fix})" for note in notes]


def elements(length: int, count: int) -> str:
    return f"""g (float[{length}] d, int64[{count}] i, float[{count}] u) => (float[{length}] y) {{
      y = ScatterElements <reduction = "add"> (d, i, u)
    }}"""


def coordinates(rows: int, count: int) -> str:
    return f"""g (float[{rows}, 3] d, int64[{count}, 1] i, float[{count}, 3] u)
      => (float[{rows}, 3] y) {{ y = ScatterND <reduction = "max"> (d, i, u) }}"""


def unique(length: int) -> str:
    return f"g (float[{length}] x) => (float[n] y) {{ y = Unique (x) }}"


# The table of the first two has one element for each update and row, that of Unique one for each
# pair of elements. 128 * 128 and 43 * 3 * 127 are at most 2^14, but 128 * 129 and 43 * 3 * 128 are
# more.
SMALL = [elements(128, 128), coordinates(127, 43), unique(128)]
LARGE = [
    (elements(129, 128), 12, "2023.1"),
    (coordinates(128, 43), 15, "2024.5"),
    (unique(129), 10, "2022.3"),
]


@pytest.mark.parametrize("text", SMALL, ids=["elements", "coordinates", "unique"])
def test_small_tables_stay_in_the_default_opset(text: str) -> None:
    model, notes = convert(text)
    assert newest(model).op.since <= 8
    assert not notes


@pytest.mark.parametrize(
    ("text", "since", "version"), LARGE, ids=["elements", "coordinates", "unique"]
)
def test_large_tables_are_avoided_by_a_newer_operation(text: str, since: int, version: str) -> None:
    model, notes = convert(text)
    assert newest(model).op.since == since
    (note,) = notes
    assert note.startswith("CNV105")
    assert f"an operation of opset{since} is written, which OpenVINO has since {version}" in note
    assert "--opset 8" in note
    older, notes = convert(text, opset=8)
    assert newest(older).op.since <= 8
    assert not notes


@pytest.mark.parametrize(
    "sizes", ["float[n] d, int64[m] i, float[m] u", "float[4] d, int64[m] i, float[m] u"]
)
def test_unknown_sizes_count_as_large(sizes: str) -> None:
    text = f'g ({sizes}) => (float[k] y) {{ y = ScatterElements <reduction = "add"> (d, i, u) }}'
    model, (note,) = convert(text)
    assert isinstance(newest(model).op, scatter.ScatterElementsUpdate12)
    assert "CNV105" in note


def test_one_note_names_the_first_operation_and_counts_the_others() -> None:
    text = """g (float[n] d, int64[m] i, float[m] u) => (float[n] y) {
      a = ScatterElements <reduction = "add"> (d, i, u)
      b = ScatterElements <reduction = "mul"> (a, i, u)
      y = ScatterElements <reduction = "min"> (b, i, u)
    }"""
    _, (note,) = convert(text)
    assert "and 2 more: an operation of opset12" in note


@needs_engines
@pytest.mark.parametrize("count", [128, 129])
def test_both_sides_of_the_limit_return_what_onnx_runtime_returns(
    count: int, engines: Engines, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    sets = [
        [
            random.normal(size=128).astype(F32),
            random.integers(-128, 128, count),
            random.normal(size=count).astype(F32),
        ]
        for _ in range(2)
    ]
    agree(HEADER + elements(128, count), sets, engines, tmp_path)


IN_LOOPS = """g (DATA d, INDEX i, UPDATES u, int64 n, int64 limit, float[t] k)
  => (DATA y, float[q, r] rows) {
  y, rows = Scan <num_scan_inputs = 1, body = outer (DATA s, float f) => (DATA w, DATA w2) {
    t = Mul (s, f)
    w = Loop <body = inner (int64 at, bool going, DATA v) => (bool more, DATA next) {
      next = SCATTER (v, i, u)
      more = Less (at, limit)
    }> (n, , t)
    w2 = Identity (w)
  }> (d, k)
}"""

NODES: dict[str, tuple[str, str, str, list[Any]]] = {
    "ScatterElements": ("float[r]", "int64[m]", "float[m]", [[0, 2, 2, -1], [1, 1]]),
    "ScatterND": ("float[r]", "int64[m, 1]", "float[m]", [[[0], [2], [2], [-1]], [[1], [1]]]),
}


@needs_engines
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("type", NODES)
def test_newer_operations_run_in_nested_loops(
    type: str, reduction: str, engines: Engines, tmp_path: Path
) -> None:
    data, index, updates, where = NODES[type]
    text = IN_LOOPS.replace("DATA", data).replace("INDEX", index).replace("UPDATES", updates)
    text = text.replace("SCATTER", f'{type} <reduction = "{reduction}">')
    start = np.array([1, -2, 3], F32)
    many, few = (np.array(item, np.int64) for item in where)
    rows = np.array([2, -1], F32)
    sets = [
        [start, many, np.array([1, -3, 5, 2], F32), i64(3), i64(9), rows],
        # The loop ends by its condition, and then does not run at all.
        [start, few, np.array([4, -1], F32), i64(5), i64(1), rows],
        [start, few, np.array([4, -1], F32), i64(0), i64(9), rows[:1]],
    ]
    agree(HEADER + text, sets, engines, tmp_path)


@needs_engines
def test_a_minimum_of_i32_is_not_the_smallest_number(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO reduces i32 as f32, in which the largest i32 would become the smallest."""
    text = """g (int32[3] d, int64[2] i, int32[2] u) => (int32[3] y, int32[3] z) {
      y = ScatterElements <reduction = "min"> (d, i, u)
      z = ScatterElements <reduction = "max"> (d, i, u)
    }"""
    data, updates = np.array([5, -2, 7], np.int32), np.array([3, 9], np.int32)
    agree(HEADER + text, [[data, i64([0, 2]), updates]], engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("in_order", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_unique_slices_of_8_bits(
    axis: int, in_order: int, engines: Engines, tmp_path: Path
) -> None:
    text = f"""g (int8[r, s] x) => (int8[n, m] y, int64[a] first, int64[b] group, int64[c] count) {{
      y, first, group, count = Unique <axis = {axis}, sorted = {in_order}> (x)
    }}"""
    random = np.random.default_rng(3)
    sets = [[random.integers(0, 2, shape).astype(np.int8)] for shape in ((6, 2), (2, 7), (5, 3))]
    agree(HEADER + text, sets, engines, tmp_path)


def scattered(length: int | None, reduction: str) -> Model:
    def build(b: Builder, d: Value, i: Value, u: Value) -> Value:
        return b(scatter.ScatterElementsUpdate12(reduction), d, i, u, b.i64(0))

    f32, i64_ = ElementType.F32, ElementType.I64
    return model_of(build, (f32, (length,)), (i64_, (128,)), (f32, (128,)))


@pytest.mark.parametrize(
    ("length", "reduction", "opset"),
    [(128, "max", 17), (129, "max", 18), (None, "min", 18), (None, "sum", 17)],
)
def test_onnx_is_written_in_an_opset_without_large_tables(
    length: int | None, reduction: str, opset: int
) -> None:
    model, notes = irloop.convert(scattered(length, reduction))
    assert model.opsets[""] == opset
    assert [note.code for note in notes] == ["CNV105"] * (opset > 17)
    assert all("has only forms with large tables" in note.message for note in notes)


def test_a_requested_opset_of_onnx_is_kept() -> None:
    model, notes = irloop.convert(scattered(129, "max"), opset=17)
    assert model.opsets[""] == 17
    assert not notes


@pytest.mark.parametrize("opset", [7, 18])
def test_an_opset_that_no_ir_is_written_in_is_refused(opset: int) -> None:
    with pytest.raises(UsageError, match=f"OpenVINO opset {opset} cannot be written"):
        convert(elements(4, 4), opset=opset)


def test_target_and_opset_contradict_each_other() -> None:
    model = reader.from_proto(onnx.parser.parse_model(HEADER + elements(4, 4)))
    with pytest.raises(UsageError, match="opset and target contradict"):
        irloop.convert(model, opset=8, target="openvino-2026")
