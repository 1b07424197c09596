"""The two directions as readable lists of steps."""

from __future__ import annotations

import copy

from irloop.conversion import elementwise
from irloop.conversion.framework import EXPORTS, IMPORTS, Conversion, Converter
from irloop.diagnostics import Diagnostic
from irloop.errors import UsageError
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model
from irloop.graph.verify import verify

__all__ = ["FAMILIES", "to_onnx", "to_openvino"]

#: The rules of a family register themselves when its module is imported.
FAMILIES = (elementwise,)

#: Read by ONNX Runtime, TensorRT and DirectML of today.
DEFAULT_ONNX_OPSET = 17


def to_onnx(model: Model, *, opset: int = DEFAULT_ONNX_OPSET) -> tuple[Model, list[Diagnostic]]:
    """The same computation in ONNX operations, and what the user should know about it.

    Raises:
        UsageError: when `model` is not an OpenVINO model.
        UnsupportedError: naming every operation that cannot be said in ONNX.
    """
    if model.dialect != "openvino":
        raise UsageError(f"expected an OpenVINO model, found dialect {model.dialect!r}")
    converter = Converter(EXPORTS, opset)
    graph = _translate(model, converter)
    result = Model(graph, "onnx", 8, {"": opset}, copy.deepcopy(model.metadata), model.source)
    return result, converter.notes


def to_openvino(model: Model, *, opset: int = 8) -> tuple[Model, list[Diagnostic]]:
    """The same computation in OpenVINO operations up to `opset`, and what to know about it.

    Raises:
        UsageError: when `model` is not an ONNX model.
        UnsupportedError: naming every operation that cannot be said in OpenVINO IR.
    """
    if model.dialect != "onnx":
        raise UsageError(f"expected an ONNX model, found dialect {model.dialect!r}")
    converter = Converter(IMPORTS, opset)
    graph = _translate(model, converter)
    return Model(graph, "openvino", 10, {}, {}, model.source), converter.notes


def _translate(model: Model, converter: Converter) -> Graph:
    inference = Inference()
    inference.run(model.graph)
    target = Conversion(Graph(model.graph.name), converter)
    converter.source = inference
    converter.convert(model.graph, target)
    verify(target.graph)
    return target.graph
