"""Generated inputs lie in the domain of the operations that read them: ONNX Runtime takes them."""

from __future__ import annotations

import onnx
import pytest

from irloop.comparison.compare import compare
from irloop.formats.onnx import reader

MODELS = {
    "axes of a reduction": "m (float[2,3,4] x, int64[2] a) => (float[?,?,?] y) "
    "{ y = ReduceSum (x, a) }",
    "axes of a squeeze": "m (float[2,1,4] x, int64[1] a) => (float[?,?] y) { y = Squeeze (x, a) }",
    "new axes": "m (float[2,4] x, int64[2] a) => (float[?,?,?,?] y) { y = Unsqueeze (x, a) }",
    "the axis of a sum": "m (float[2,4] x, int64 a) => (float[2,4] y) { y = CumSum (x, a) }",
    "bounds of a slice": "m (float[6,4] x, int64[2] s, int64[2] e, int64[2] a, int64[2] t) => "
    "(float[?,?] y) { y = Slice (x, s, e, a, t) }",
    "factors of an image": "m (float[1,3,4,4] x, float[4] s) => (float[?,?,?,?] y) "
    '{ y = Resize <mode = "linear"> (x, , s) }',
    "sizes of an image": "m (float[1,3,4,4] x, int64[4] s) => (float[?,?,?,?] y) "
    '{ y = Resize <mode = "nearest"> (x, , , s) }',
    "a shape": "m (float[2,3,4] x, int64[2] s) => (float[?,?] y) { y = Reshape (x, s) }",
    "thresholds": "m (float[1,8,4] b, float[1,2,8] s, int64 n, float i, float t) => (int64[?,3] y) "
    "{ y = NonMaxSuppression (b, s, n, i, t) }",
    "axes of a padding": "m (float[2,3] x, int64[2] p, int64[1] a) => (float[?,?] y) "
    "{ c = Constant <value_float = 0.0> () y = Pad (x, p, c, a) }",
    "lengths": "m (float[4,3] x, int64[3] l) => (float[4,3] y) { y = ReverseSequence (x, l) }",
    "shapes of ScatterND": "m (float[3,4,5] x, int64[n,2] i, float[a,b] u) => (float[3,4,5] y) "
    "{ y = ScatterND (x, i, u) }",
}


@pytest.mark.parametrize("name", MODELS)
def test_an_engine_takes_all_generated_inputs(name: str) -> None:
    text = '<ir_version: 8, opset_import: ["" : 18]>' + MODELS[name]
    model = reader.from_proto(onnx.parser.parse_model(text))
    found = compare(model, model)
    assert found.outcome == "equal", str(found)
    assert all(run.ran == run.tried for run in found.runs), str(found)
