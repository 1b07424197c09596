"""Elementwise operations in the other dialect."""

from __future__ import annotations

from irloop.conversion.framework import Conversion, exports, imports
from irloop.dialects.onnx import elementwise as onnx
from irloop.dialects.openvino import elementwise as ov
from irloop.graph.model import Value


@exports(ov.Add)
def export_add(c: Conversion, op: ov.Add, left: Value, right: Value) -> Value:
    return c(onnx.Add(), left, right)


@imports(onnx.Add)
def import_add(c: Conversion, op: onnx.Add, left: Value, right: Value) -> Value:
    return c(ov.Add(), left, right)
