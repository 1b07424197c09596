"""Layers as exporters write them, appended to an ONNX graph one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["F32", "I64", "Layers"]

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


class Layers:
    """A graph to which methods append nodes; they take and return names of values.

    Weights come from one random generator, so the same calls give the same model. A body shares the
    generator and the names of the graph around it.
    """

    def __init__(self, seed: int = 0, *, outer: Layers | None = None) -> None:
        self.random: np.random.Generator = outer.random if outer else np.random.default_rng(seed)
        self._names: list[int] = outer._names if outer else [0]
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """An initializer."""
        name = self.name("const")
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, *values: int) -> str:
        """A rank-1 initializer of i64."""
        return self.constant(values, np.int64)

    def weight(self, *shape: int, gain: float = 1.5) -> str:
        """Random weights scaled so that activations keep their magnitude."""
        fan_in = math.prod(shape[1:]) or 1
        return self.constant(self.random.normal(0, gain / math.sqrt(fan_in), shape))

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return its output, or a list if it has several."""
        names = [self.name(kind) for _ in range(outputs)]
        node = helper.make_node(kind, list(inputs), names, name=names[0] + "/node", **attributes)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def convolution(
        self, x: str, channels: tuple[int, int], kernel: int = 3, stride: int = 1, groups: int = 1
    ) -> str:
        """A convolution without bias, then normalisation; `channels` are the input and output
        channels.
        """
        inside, outside = channels
        pad = kernel // 2
        y = self.op(
            "Conv",
            x,
            self.weight(outside, inside // groups, kernel, kernel),
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[pad] * 4,
            group=groups,
        )
        scale, bias, mean = (self.random.normal(at, 0.1, outside) for at in (1, 0, 0))
        variance = self.random.uniform(0.5, 1.5, outside)
        given = [self.constant(item) for item in (scale, bias, mean, variance)]
        return str(self.op("BatchNormalization", y, *given, epsilon=1e-5))

    def linear(self, x: str, inside: int, outside: int) -> str:
        """x of shape [..., inside] times a weight, plus a bias."""
        y = self.op("MatMul", x, self.weight(inside, outside))
        return str(self.op("Add", y, self.weight(outside)))

    def size(self, x: str, axis: int) -> str:
        """One dimension of x at run time, of shape [1]."""
        return str(self.op("Gather", self.op("Shape", x), self.ints(axis), axis=0))

    def graph(
        self,
        name: str,
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Sequence[onnx.ValueInfoProto],
    ) -> onnx.GraphProto:
        """The nodes added so far, as a graph or a body."""
        return helper.make_graph(self.nodes, name, inputs, outputs, self.constants)

    def rename(self, value: str, name: str) -> onnx.NodeProto:
        """A node that returns a value under the name of an output."""
        node = helper.make_node("Identity", [value], [name])
        self.nodes.append(node)
        return node

    def model(
        self,
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Sequence[onnx.ValueInfoProto],
        opset: int,
    ) -> onnx.ModelProto:
        """The model, checked in full."""
        model = helper.make_model(
            self.graph("main", inputs, outputs),
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=8,
        )
        onnx.checker.check_model(model, full_check=True)
        return model

    def name(self, kind: str) -> str:
        """A name that no other value has."""
        self._names[0] += 1
        return f"{kind}_{self._names[0]}"
