"""Values of element types that IR has no name for; each is refused by name (CNV003)."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

from irloop.conversion.pipelines import to_openvino
from irloop.errors import UnsupportedError
from irloop.formats.onnx import reader

HEADER = '<ir_version: 10, opset_import: ["" : 21]> m'
#: Each model carries, scans, concatenates or passes on a complex tensor from input x to output y.
MODELS = {
    "plain": "({T}[2] x) => ({T}[2] y) {{ y = Identity (x) }}",
    "state": """(int64 n, bool c, {T}[2] x) => ({T}[2] y) {{
        y = Loop (n, c, x) <body = b (int64 i, bool ci, {T}[2] s) => (bool co, {T}[2] so) {{
            co = Identity (ci) so = Identity (s) }}> }}""",
    "joined": """(int64 n, bool c, {T}[2] x) => ({T}[k,2] y) {{
        y = Loop (n, c) <body = b (int64 i, bool ci) => (bool co, {T}[2] so) {{
            co = Identity (ci) so = Identity (x) }}> }}""",
    "no iteration": """({T}[2] x) => ({T}[2] y) {{
        n = Constant <value = int64 {{0}}> () c = Constant <value = bool {{1}}> ()
        y = Loop (n, c, x) <body = b (int64 i, bool ci, {T}[2] s) => (bool co, {T}[2] so) {{
            co = Identity (ci) so = Identity (s) }}> }}""",
    "scan": """({T}[3,2] x) => ({T}[3,2] y) {{
        y = Scan <num_scan_inputs = 1, body = b ({T}[2] s) => ({T}[2] so) {{ so = Identity (s) }}>
            (x) }}""",
    "branch": """(bool c, {T}[2] x) => ({T}[2] y) {{
        y = If (c) <then_branch = a () => ({T}[2] p) {{ p = Identity (x) }},
                    else_branch = b () => ({T}[2] q) {{ q = Identity (x) }}> }}""",
}


@pytest.mark.parametrize(("name", "short"), [("complex64", "c64"), ("complex128", "c128")])
@pytest.mark.parametrize("model", MODELS)
def test_complex_borders_are_refused_by_name(model: str, name: str, short: str) -> None:
    proto = onnx.parser.parse_model(HEADER + MODELS[model].format(T=name))
    with pytest.raises(UnsupportedError) as caught:
        to_openvino(reader.from_proto(proto))
    found = [(item.code, item.location.path) for item in caught.value.diagnostics]
    assert found == [("CNV003", "x"), ("CNV003", "y")]
    assert all(f"of type {short}[" in item.message for item in caught.value.diagnostics)


def test_a_complex_state_inside_is_refused_by_name() -> None:
    text = """(int64 n, bool c) => (int64 z) <complex64[1] w = {1, 2}> {
        v = Loop (n, c, w) <body = b (int64 i, bool ci, complex64[j] s)
            => (bool co, complex64[k] so) { co = Identity (ci) so = Concat <axis = 0> (s, s) }>
        z = Size (v) }"""
    proto = onnx.parser.parse_model(HEADER + text)
    pair = onnx.TensorProto(name="w", data_type=14, dims=[1], float_data=[1.0, 2.0])
    proto.graph.initializer[0].CopyFrom(pair)
    with pytest.raises(UnsupportedError, match=r"CNV003: 'w' is of type c64\[1\]"):
        to_openvino(reader.from_proto(proto))
