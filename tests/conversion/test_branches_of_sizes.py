"""An If that depends on a size: decided if the size is known, else a note names the option."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.graph.types import Shape
from tests.conversion.both_engines import F32, agree, needs_engines

#: As voice activity detectors have it: another rank where the signal is short, in a branch that
#: the sampling rate decides.
DETECTOR = """<ir_version: 8, opset_import: ["" : 17]>
g (float[B,L] x, int64 rate) => (float y) {
    sixteen = Constant<value = int64 {16000}>()
    fast = Equal(rate, sixteen)
    y = If(fast) <
        then_branch = t () => (float r) {
            at = Constant<value = int64 {1}>()
            limit = Constant<value = int64 {100}>()
            shape = Shape(x)
            size = Gather(shape, at)
            long = Less(limit, size)
            some = If(long) <
                then_branch = a () => (float[B,L] u) { u = Neg(x) },
                else_branch = b () => (float[L] v) {
                    z = ReduceMax<keepdims = 0, axes = [0]>(x)
                    v = Abs(z)
                }
            >
            r = ReduceMean<keepdims = 0>(some)
        },
        else_branch = e () => (float q) { q = ReduceMean<keepdims = 0>(x) }
    >
}"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def written(folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(DETECTOR).SerializeToString())
    return path


def test_the_advice_names_the_inputs_whose_sizes_decide(tmp_path: Path) -> None:
    _, notes = irloop.convert(written(tmp_path))
    (note,) = [item for item in notes if item.code == "CNV101"]
    assert note.fix.endswith("only the branch that is taken is written: --shape x=N,N")


@needs_engines
@pytest.mark.parametrize("length", [40, 200])
def test_a_known_size_chooses_the_branch(length: int, engines: Engines, tmp_path: Path) -> None:
    source, ir = written(tmp_path), tmp_path / "model.xml"
    model, notes = irloop.convert(source, shapes={"x": Shape.of(1, length)})
    assert [item.code for item in notes if item.code == "CNV101"] == []
    irloop.save_model(model, ir, ir_version=11)
    x = np.random.default_rng(3).normal(size=(1, length)).astype(F32)
    sets = [[x, np.array(rate, np.int64)] for rate in (16000, 8000)]
    expected = engines.run_all("onnxruntime", source, sets, tmp_path)
    found = engines.run_all("openvino", ir, sets, tmp_path)
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)


def test_branches_of_a_folded_condition_that_return_an_input(
    engines: Engines, tmp_path: Path
) -> None:
    """The condition is constant only once the Loop of constants is folded."""
    text = """g (float[2, 3] x, float[n] w) => (float[2, 3] y, float[n] z, int64 last) {
  n = Constant <value_int = 3> ()  zero = Constant <value_int = 0> ()
  last = Loop (n, "", zero) <body = b (int64 i, bool c, int64 s) => (bool d, int64 t) {
    d = Identity (c)  t = Add (s, i) }>
  c = Less (zero, last)
  y, z = If (c) <then_branch = t () => (float[2, 3] a, float[n] e) {
      a = Identity (x)  e = Identity (w) },
    else_branch = f () => (float[2, 3] b, float[n] g) { b = Neg (x)  g = Neg (w) }>
}"""
    x = np.arange(6, dtype=F32).reshape(2, 3)
    agree(text, [[x + k, np.arange(k, dtype=F32)] for k in (3, 5, 2)], engines, tmp_path)
