"""Conversion to OpenVINO refuses strings, n-grams and images by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import irloop

onnx = pytest.importorskip("onnx")

BACKEND_OPS = """
    ImageDecoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer
"""


def test_operations_on_strings_and_images_are_refused(
    backend_case: str,
    check_import: Callable[[str, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    text = refused(lambda: check_import(backend_case, 8))
    assert any(f"{type}-" in text for type in BACKEND_OPS.split())
    assert "OpenVINO" in text


BODIES = {
    "carries strings ('a')": """g (int64 n, string[2] s) => (string[2] y) {
  y = Loop <body = b (int64 i, bool c, string[2] a) => (bool d, string[2] r) {
    d = Identity (c)  r = Identity (a) }> (n, "", s)
}""",
    "joins strings ('r')": """g (int64 n, string[3, 2] s) => (string[k, 2] y) {
  y = Loop <body = b (int64 i, bool c) => (bool d, string[2] r) {
    d = Identity (c)  r = Gather (s, i) }> (n, "")
}""",
    "slices strings ('a')": """g (string[3, 2] s) => (int64[3, 1] y) {
  y = Scan <num_scan_inputs = 1, body = b (string[2] a) => (int64[1] r) { r = Shape (a) }> (s)
}""",
}


@pytest.mark.parametrize("reason", BODIES)
def test_loops_over_strings_are_refused(reason: str, tmp_path: Path) -> None:
    """OpenVINO 2026.4 reads such an IR, but its CPU plugin fails to compile or run it."""
    text = f'<ir_version: 8, opset_import: ["": 17]>\n{BODIES[reason]}'
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    with pytest.raises(irloop.UnsupportedError) as error:
        irloop.convert(path)
    assert reason in str(error.value)


def test_a_loop_may_read_strings_of_the_enclosing_scope(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17]>
g (int64 n, string[k] s, int64[1] x) => (int64[1] y) {
  y = Loop <body = b (int64 i, bool c, int64[1] a) => (bool d, int64[1] r) {
    d = Identity (c)  size = Shape (s)  r = Add (a, size) }> (n, "", x)
}"""
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    model, _ = irloop.convert(path)
    assert any(node.bodies for node in model.graph.nodes)
