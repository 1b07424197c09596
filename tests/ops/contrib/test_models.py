"""Models as ONNX Runtime fuses them, operations in bodies, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.dialects.contrib import ContribOp
from irloop.dialects.onnx.base import ONNX
from irloop.errors import InternalError, IrloopError, PassError, UnsupportedError
from irloop.execution.session import Session
from irloop.graph.walk import all_nodes
from tests.ops.contrib.against_runtime import DOMAIN, drawn

HEADER = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>\n'

LAYER = """
g (float[b,4,8] x) => (float[b,4,8] y)
<float[8,16] up, float[16] b1, float[16,8] down, float[8] b2, float[8] scale, float[8] shift> {
    two = Constant<value = float {2.0}>()  root = Constant<value = float {1.4142135}>()
    half = Constant<value = float {0.5}>()  one = Constant<value = float {1.0}>()
    tiny = Constant<value = float {0.00001}>()
    h = MatMul(x, up)  hb = Add(h, b1)
    d = Div(hb, root)  e = Erf(d)  f = Add(e, one)  m = Mul(hb, f)  gelu = Mul(m, half)
    o = MatMul(gelu, down)  ob = Add(o, b2)  s = Add(ob, x)
    mean = ReduceMean<axes = [-1]>(s)  c = Sub(s, mean)  sq = Pow(c, two)
    var = ReduceMean<axes = [-1]>(sq)  ve = Add(var, tiny)  sd = Sqrt(ve)
    n = Div(c, sd)  ns = Mul(n, scale)  y = Add(ns, shift)
}"""

CONVOLUTION = """
g (float[b,3,8,8] x) => (float[b,4,6,6] y) <float[4,3,3,3] w, float[4] bias> {
    c = Conv(x, w, bias)  y = LeakyRelu<alpha = 0.2>(c)
}"""

PRODUCT = """
g (float[b,4,8] x) => (float[b,4,4] y) {
    t = Transpose<perm = [0, 2, 1]>(x)  p = MatMul(x, t)
    k = Constant<value = float {0.35}>()  y = Mul(p, k)
}"""

#: The text of a model, its input, and the operations into which ONNX Runtime fuses the model.
FUSED = [
    (LAYER, (2, 4, 8), {"BiasGelu", "SkipLayerNormalization"}),
    (CONVOLUTION, (2, 3, 8, 8), {"FusedConv"}),
    (PRODUCT, (2, 4, 8), {"FusedMatMul"}),
]


def with_weights(text: str) -> onnx.ModelProto:
    """The model of a text, with random values for its listed initializers."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>' + text)
    for seed, info in enumerate(model.graph.value_info):
        dims = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        array = drawn(seed, *dims)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, info.name))
    return model


def judged(source: Path, inputs: list[Any], engines: Engines, folder: Path) -> None:
    """Assert that the executor, the standard operations and the IR return what ONNX Runtime
    returns.
    """
    expected = engines.run("onnxruntime", source, inputs, folder)
    assert not irloop.validate(source).has_errors
    standard, ir = folder / "standard.onnx", folder / "model.xml"
    irloop.save_model(irloop.convert(source, "onnx", standard=True)[0], standard)
    assert all(not node.op.domain for node in all_nodes(irloop.read_model(standard).graph))
    irloop.save_model(irloop.convert(source)[0], ir, ir_version=11)
    found = [
        list(Session(irloop.read_model(source)).run(inputs).values()),
        *engines.run_all("onnxruntime", standard, [inputs, inputs], folder),
        *engines.run_all("openvino", ir, [inputs, inputs], folder),
    ]
    for outputs in found:
        for one, other in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(one, other, 1e-4, 1e-5)


@pytest.mark.parametrize(("text", "shape", "made"), FUSED, ids=["layer", "conv", "product"])
def test_models_that_onnx_runtime_has_fused(
    text: str, shape: tuple[int, ...], made: set[str], engines: Engines, tmp_path: Path
) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(tmp_path / "fused.onnx")
    onnxruntime.InferenceSession(
        with_weights(text).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    fused = onnx.load(tmp_path / "fused.onnx")
    assert made <= {node.op_type for node in fused.graph.node if node.domain == DOMAIN}
    judged(tmp_path / "fused.onnx", [drawn(9, *shape)], engines, tmp_path)


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_operations_in_loops_and_branches(trips: int, engines: Engines, tmp_path: Path) -> None:
    text = """
    g (int64 n, float[3,4] x) => (float[3,4] y, float[t,3,4] all) {
        yes = Constant<value = bool {1}>()  bias = Constant<value = float[4] {0.1, 0.2, 0.3, 0.4}>()
        y, all = Loop (n, yes, x) <body = body (int64 i, bool go, float[3,4] h)
            => (bool out, float[3,4] k, float[3,4] part) {
            out = Identity(go)
            k = com.microsoft.BiasGelu(h, bias)
            two = Constant<value = int64 {2}>()
            late = Less(i, two)
            part = If (late) <
                then_branch = a () => (float[3,4] p) { p = com.microsoft.QuickGelu(k) },
                else_branch = b () => (float[3,4] q) { q = com.microsoft.FastGelu(k, bias) }>
        }>
    }"""
    path = tmp_path / "loop.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    judged(path, [np.array(trips, np.int64), drawn(1, 3, 4)], engines, tmp_path)


def test_a_domain_that_is_not_imported(engines: Engines, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        HEADER + "g (float[2,3] x) => (float[2,3] y) { y = com.microsoft.Gelu(x) }"
    )
    kept = [item for item in model.opset_import if item.domain != DOMAIN]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    judged(path, [drawn(1, 2, 3)], engines, tmp_path)


REFUSED = [
    ("BeamSearch", "it runs a search over a decoder"),
    ("Sampling", "it draws random numbers"),
    ("NeverHeardOf", "com.microsoft.NeverHeardOf"),
]


@pytest.mark.parametrize(("type", "reason"), REFUSED)
def test_a_refused_operator_is_named_with_the_reason(
    type: str, reason: str, tmp_path: Path
) -> None:
    text = f"g (float[2,3] x) => (float[2,3] y) {{ y = com.microsoft.{type}(x) }}"
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    assert not irloop.validate(path).has_errors
    for refuse in (
        lambda: Session(irloop.read_model(path)),
        lambda: irloop.convert(path),
        lambda: irloop.convert(path, "onnx", standard=True),
    ):
        with pytest.raises(UnsupportedError) as caught:
            refuse()
        (finding,) = caught.value.diagnostics
        assert reason in f"{finding.message} {finding.cause}"
        assert type in finding.message


def test_operations_that_standard_operations_cannot_compute_are_refused(tmp_path: Path) -> None:
    text = "g (float[65,65] x) => (float[65,65] y) { y = com.microsoft.Inverse(x) }"
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    with pytest.raises(UnsupportedError) as caught:
        irloop.convert(path, "onnx", standard=True)
    assert "65 rows are too many" in caught.value.diagnostics[0].message


HOSTILE = [
    "y = com.microsoft.MultiHeadAttention<num_heads = 0>(x, x, x)",
    "y = com.microsoft.MultiHeadAttention<num_heads = -3>(x, x, x)",
    "y = com.microsoft.Attention<num_heads = 5>(x, x)",
    "y = com.microsoft.MatMulNBits<K = 0, N = -1, block_size = 0>(x, b, x)",
    "y = com.microsoft.MatMulNBits<K = 16, N = 900000000000, block_size = 16>(x, b, x)",
    "y = com.microsoft.BiasSplitGelu(x, zero)",
    "y = com.microsoft.GroupQueryAttention<num_heads = 3, kv_num_heads = 0>(x, x, x, , , k, k)",
    "y = com.microsoft.CropAndResize(x, x, k, huge)",
    "y = com.microsoft.FusedMatMul<transA = 1>(zero, x)",
    "y = com.microsoft.RotaryEmbedding<num_heads = 0, rotary_embedding_dim = 4>(x, k, x, x)",
]


@pytest.mark.parametrize("line", HOSTILE)
def test_contradictory_attributes_are_refused(line: str, tmp_path: Path) -> None:
    text = f"""g (float[2,3,4] x, uint8[2,3,4] b, int32[2] k, float zero) => (float[a,b,c] y)
        <int32[2] huge = {{2147483647, 2147483647}}> {{ {line} }}"""
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    irloop.validate(path)
    for standard in (False, True):
        with pytest.raises(IrloopError) as caught:
            irloop.convert(path, "onnx" if standard else None, standard=standard)
        assert not isinstance(caught.value, InternalError | PassError)


@pytest.mark.parametrize("names", ["", "x, "])
def test_absent_inputs_are_refused(names: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    least = 2 if names else 0
    operations = [
        item for item in ONNX.all() if issubclass(item, ContribOp) and item.arity[0] > least
    ]
    assert len(operations) > 20
    for item in operations:
        prefix = f"{item.domain}." if item.domain else ""
        opset = min(item.until or 13, 13)
        text = f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = {prefix}{item.type}({names}) }}"
        model = onnx.parser.parse_model(HEADER.replace("17", str(opset)) + text)
        path.write_bytes(model.SerializeToString())
        with pytest.raises(IrloopError) as caught:
            irloop.convert(path)
        assert not isinstance(caught.value, InternalError | PassError), item.type
