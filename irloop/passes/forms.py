"""The few operations that loop passes insert, in either dialect."""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop.dialects.onnx import gather as onnx_gather
from irloop.dialects.onnx import shape as onnx_shape
from irloop.dialects.onnx import slicing as onnx_slicing
from irloop.dialects.openvino import gather as ov_gather
from irloop.dialects.openvino import shape as ov_shape
from irloop.dialects.openvino import slicing as ov_slicing
from irloop.graph.model import Model, Node, Value
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType

__all__ = ["Forms"]


class Forms:
    """Emits operations before a node of a graph, in the dialect of the model."""

    def __init__(self, model: Model, rewriter: Rewriter, before: Node | None, stem: str) -> None:
        self.onnx = model.dialect == "onnx"
        self.opset = model.opsets.get("", 0)
        self.rewriter = rewriter
        self.before = before
        self.stem = stem

    def constant(self, data: Any, element: ElementType = ElementType.I64) -> Value:
        """A constant from a number, a list or an array."""
        tensor = ArrayTensor(np.asarray(data).astype(element.numpy()), element)
        return self.rewriter.insert_constant(
            tensor, before=self.before, name=f"{self.stem}/constant"
        )

    def _emit(self, op: Any, *inputs: Value) -> Value:
        return self.rewriter.insert(
            op, inputs, before=self.before, name=f"{self.stem}/{op.type}"
        ).output

    def take(self, value: Value, indices: int | list[int], axis: int) -> Value:
        """Elements at constant indices of `axis`; one number drops the axis."""
        where = self.constant(indices)
        if self.onnx:
            return self._emit(onnx_gather.Gather(axis), value, where)
        return self._emit(ov_gather.Gather(), value, where, self.constant(axis))

    def joined(self, values: list[Value], axis: int) -> Value:
        """Values one behind the other along `axis`."""
        if len(values) == 1:
            return values[0]
        op = onnx_slicing.Concat(axis) if self.onnx else ov_slicing.Concat(axis)
        return self._emit(op, *values)

    def unsqueezed(self, value: Value, axis: int) -> Value:
        """`value` with a new axis of size 1."""
        if not self.onnx:
            return self._emit(ov_shape.Unsqueeze(), value, self.constant([axis]))
        if self.opset >= 13:
            return self._emit(onnx_shape.Unsqueeze13(), value, self.constant([axis]))
        return self._emit(onnx_shape.Unsqueeze((axis,)), value)
