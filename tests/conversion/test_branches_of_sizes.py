"""An If that depends on a size is decided if the size is known; otherwise a note names the
option.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.errors import InferenceError
from irloop.graph.types import Shape
from irloop.passes.common.fix_input import FixInput
from tests.conversion.both_engines import F32, agree, needs_engines

#: As in voice activity detectors: a short signal gets another rank, in a branch that the sampling
#: rate selects.
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
    assert note.fix.endswith("only the branch that is taken is converted: --shape x=N,N")


def test_the_advice_names_the_input_that_chooses_the_outer_branch(tmp_path: Path) -> None:
    _, notes = irloop.convert(written(tmp_path))
    (note,) = [item for item in notes if item.code == "CNV101"]
    assert note.fix.startswith("rate chooses the branch that contains it")
    assert "--pass fix_input=rate=VALUE --pass inline_constant_if. Then the condition" in note.fix


#: A branch for data of 8 columns and one for data of 16.
WIDTHS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[R,C] x, int64 rate) => (float[R,2] y) {
    sixteen = Constant<value = int64 {16}>()  wide = Equal(rate, sixteen)
    y = If(wide) <
        then_branch = t () => (float[R,2] a) {
            w = Constant <value_floats = [1.0]> ()  s = Constant <value_ints = [16, 2]> ()
            m = Expand (w, s)  a = MatMul (x, m)
        },
        else_branch = e () => (float[R,2] b) {
            w2 = Constant <value_floats = [1.0]> ()  s2 = Constant <value_ints = [8, 2]> ()
            m2 = Expand (w2, s2)  b = MatMul (x, m2)
        }
    >
}"""


def test_shapes_that_one_branch_does_not_fit(tmp_path: Path) -> None:
    """The error names the input that selects the branch; once its value is fixed, the model
    converts.
    """
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    path.write_bytes(onnx.parser.parse_model(WIDTHS).SerializeToString())
    with pytest.raises(InferenceError) as raised:
        irloop.convert(path, shapes={"x": Shape.of(3, 16)})
    (found,) = raised.value.diagnostics
    assert found.fix.startswith("rate chooses the branch of 'y'"), found.fix
    assert "--pass fix_input=rate=VALUE --pass inline_constant_if" in found.fix
    irloop.save_model(
        irloop.transform(path, [FixInput(("rate=16",)), "inline_constant_if"])[0], fixed
    )
    model, notes = irloop.convert(fixed, shapes={"x": Shape.of(3, 16)})
    assert not notes
    assert "If" not in [node.op.type for node in model.graph.nodes]


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


#: The branches return inputs of the model, one of them as an output of the model.
BRANCHES = """
  y, z = If (c) <then_branch = t () => (float[2, 3] a, float[n] e) {
      a = Identity (x)  e = Identity (w) },
    else_branch = f () => (float[2, 3] b, float[n] g) { b = Neg (x)  g = Neg (w) }>
"""


@pytest.mark.parametrize("limit", [2.0, 12.0])
def test_branches_whose_condition_is_constant_once_a_loop_is_unrolled(
    limit: float, engines: Engines, tmp_path: Path
) -> None:
    """Only in the IR a Scan-8 is unrolled; `many` has too many rows for the Scan to be folded."""
    text = f"""<ir_version: 8, opset_import: ["" : 8]>
g (float[2, 3] x, float[n] w, float[1, 2, 3] many)
    => (float[2, 3] y, float[n] z, float[1, 2, 3] rows)
    <float[1] start = {{1}}, float[1] limit = {{{limit}}}> {{
  first = Unsqueeze <axes = [0]> (start)
  last, rows = Scan ("", first, many) <num_scan_inputs = 1, body = b (float[1] s, float[3] r)
    => (float[1] t, float[3] q) {{ t = Add (s, s)  q = Neg (r) }}>
  sum = ReduceSum <keepdims = 0> (last)
  c = Greater (sum, limit)
{BRANCHES}}}"""
    x = np.arange(6, dtype=F32).reshape(2, 3)
    sets = [[x + k, np.arange(k, dtype=F32), x[None] - k] for k in (3, 0, 2)]
    agree(text, sets, engines, tmp_path, loops="unroll")


def test_branches_of_a_condition_that_many_constants_decide(
    engines: Engines, tmp_path: Path
) -> None:
    """OpenVINO folds constants of any size, also in a model without loops and in bodies."""
    text = f"""g (float[2, 3] x, float[n] w, bool outer)
    => (float[2, 3] y, float[n] z, float[2, 3] v) {{
  shape = Constant <value_ints = [200, 100]> ()
  many = ConstantOfShape <value = float[1] {{1}}> (shape)
  sum = ReduceSum <keepdims = 0> (many)
  limit = Constant <value_float = 19999.0> ()
  c = Greater (sum, limit)
{BRANCHES}
  v = If (outer) <then_branch = t2 () => (float[2, 3] a2) {{
      a2 = If (c) <then_branch = t3 () => (float[2, 3] a3) {{ a3 = Identity (x) }},
        else_branch = f3 () => (float[2, 3] b3) {{ b3 = Neg (x) }}> }},
    else_branch = f2 () => (float[2, 3] b2) {{ b2 = Abs (x) }}>
}}"""
    x = np.arange(6, dtype=F32).reshape(2, 3) - 2
    sets = [[x, np.arange(k, dtype=F32), np.array(k > 2)] for k in (3, 0, 4)]
    agree(text, sets, engines, tmp_path)
