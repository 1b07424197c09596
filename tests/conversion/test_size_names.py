"""Names of dynamic dimensions of inputs, which survive the way through an IR."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.graph.model import Model
from tests.conversion.both_engines import F32, HEADER, agree, needs_engines

MASKED = """g (float[t,b,4] x, int64[b] lengths) => (float[b,4] last) {
  zero = Constant <value = int64 {0}> ()  one = Constant <value_ints = [1]> ()
  sizes = Shape (x)  n = Gather (sizes, zero)
  batch = Gather (sizes, one)  width = Constant <value_ints = [4]> ()
  shape = Concat <axis = 0> (batch, width)  h0 = ConstantOfShape (shape)
  last = Loop (n, "", h0) <body = step (int64 i, bool go, float[b,4] h) => (bool on, float[b,4] k) {
    v = Gather (x, i)  s = Add (h, v)  runs = Less (i, lengths)  r = Unsqueeze (runs, one)
    k = Where (r, s, h)  on = Identity (go) }>
}"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def written(text: str, folder: Path) -> Path:
    """The IR of an ONNX model, as a file."""
    onnx.save(onnx.parser.parse_model(HEADER + text), folder / "model.onnx")
    irloop.save_model(irloop.convert(folder / "model.onnx")[0], folder / "model.xml")
    return folder / "model.xml"


def names(model: Model) -> list[str]:
    return [str(value.type) for value in model.graph.inputs]


def test_names_come_back(tmp_path: Path) -> None:
    ir = written(MASKED, tmp_path)
    back = irloop.convert(ir)[0]
    assert names(back) == ["f32[t,b,4]", "i64[b]"]
    irloop.save_model(back, tmp_path / "back.onnx")
    irloop.save_model(irloop.convert(tmp_path / "back.onnx")[0], tmp_path / "again.xml")
    types = [
        [
            node.op.type
            for loop in model.graph.nodes
            for body in loop.bodies
            for node in body.graph.nodes
        ]
        for model in map(irloop.read_model, (ir, tmp_path / "again.xml"))
    ]
    # Without the name, the size of the state might change.
    assert sorted(types[0]) == sorted(types[1])
    assert "Tile" not in types[0]


def test_a_name_of_one_dimension_says_nothing(tmp_path: Path) -> None:
    ir = written("g (float[a,4] x, float[b,4] y) => (float[c,4] z) { z = Add (x, y) }", tmp_path)
    assert "size_names" not in ir.read_text()
    assert names(irloop.convert(ir)[0]) == ["f32[x_0,4]", "f32[y_0,4]"]


def test_only_dimensions_that_are_still_dynamic_get_names(tmp_path: Path) -> None:
    ir = written("g (float[a,b] x, float[a,b] y) => (float[a,b] z) { z = Add (x, y) }", tmp_path)
    text = ir.read_text()
    assert '<info name="x/1" value="b"/>' in text
    ir.write_text(text.replace('"x/0"', '"x/7"'))
    found = irloop.convert(ir, shapes={"x": [None, 3]})[0]
    assert names(found) == ["f32[x_0,3]", "f32[a,b]"]


def test_an_unnamed_dimension_gets_no_name_of_another(tmp_path: Path) -> None:
    text = """g (float[?] x, float[x_0] y, float[x_0] z) => (float[?] v, float[x_0] w)
        { v = Neg (x)  w = Add (y, z) }"""
    back = irloop.convert(written(text, tmp_path))[0]
    assert names(back) == ["f32[x__0]", "f32[x_0]", "f32[x_0]"]


@needs_engines
def test_openvino_keeps_the_names(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    model = openvino.Core().read_model(written(MASKED, tmp_path))
    openvino.save_model(model, tmp_path / "saved.xml", compress_to_fp16=False)
    assert names(irloop.convert(tmp_path / "saved.xml")[0]) == ["f32[t,b,4]", "i64[b]"]


@needs_engines
def test_named_sizes_that_change(engines: Engines, tmp_path: Path) -> None:
    draw = np.random.default_rng(0).standard_normal
    sets = [
        [draw((t, b, 4)).astype(F32), np.arange(b)] for t, b in ((3, 2), (0, 3), (2, 1), (3, 4))
    ]
    agree(MASKED, sets, engines, tmp_path)
