"""The values and nodes of an ONNX graph or body under construction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["TYPES", "Block", "Net", "Value"]

TYPES = {
    "f32": TensorProto.FLOAT,
    "f16": TensorProto.FLOAT16,
    "f64": TensorProto.DOUBLE,
    "i64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
    "string": TensorProto.STRING,
    "i4": TensorProto.INT4,
    "u4": TensorProto.UINT4,
    "f8e4m3": TensorProto.FLOAT8E4M3FN,
    "f8e5m2": TensorProto.FLOAT8E5M2,
    # f32 of a rank that the model does not declare.
    "any": TensorProto.FLOAT,
}


@dataclass(frozen=True)
class Value:
    """A tensor of shape [n,3], or of an unknown rank where its type is `any`."""

    name: str
    type: str


@dataclass
class Net:
    """State shared by all blocks of a program. `rows` is n: a number, or a dimension's name."""

    random: Random
    opset: int
    rows: int | str
    count: int = 0
    features: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.numbers = np.random.default_rng(self.random.getrandbits(32))

    def name(self, stem: str) -> str:
        """A name that is unique in the program."""
        self.count += 1
        return f"{stem}_{self.count}"

    def info(self, value: Value) -> onnx.ValueInfoProto:
        """The declaration of a value, which may leave out its dimensions."""
        shape: Any = [self.rows, 3]
        if value.type == "any":
            shape = None
        elif self.random.random() < 0.2:
            shape = [None, None]
        return helper.make_tensor_value_info(value.name, TYPES[value.type], shape)


class Block:
    """A graph or a body; a body sees the values of the blocks around it."""

    def __init__(self, net: Net, outer: Block | None = None) -> None:
        self.net, self.outer = net, outer
        self.depth: int = outer.depth + 1 if outer else 0
        self.own: list[Value] = []
        self.iterations: list[str] = [*outer.iterations] if outer else []
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def visible(self) -> Iterator[Value]:
        """All visible values, the newest first."""
        yield from reversed(self.own)
        if self.outer is not None:
            yield from self.outer.visible()

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """An initializer, or sometimes a Constant."""
        name = self.net.name("const")
        array = np.asarray(value, object if dtype is str else dtype)
        if dtype is str:
            texts = [text.encode() for text in array.reshape(-1).tolist()]
            tensor = helper.make_tensor(name, TensorProto.STRING, array.shape, texts)
        else:
            tensor = numpy_helper.from_array(array, name)
        if self.net.random.random() < 0.5:
            self.constants.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def ints(self, *values: int) -> str:
        """A constant list of i64."""
        return self.constant(values, np.int64)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        return self.ops(kind, *inputs, outputs=(kind,), **attributes)[0]

    def ops(self, kind: str, *inputs: str, outputs: Sequence[str], **attributes: Any) -> list[str]:
        """A node with one output per name stem; an empty stem omits the output."""
        names = [self.net.name(stem) if stem else "" for stem in outputs]
        node = helper.make_node(kind, list(inputs), names, **attributes)
        self.nodes.append(node)
        return names

    def add(self, name: str, type: str) -> Value:
        """A new value of the block."""
        self.own.append(Value(name, type))
        return self.own[-1]

    def graph(
        self,
        name: str,
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Sequence[onnx.ValueInfoProto],
    ) -> onnx.GraphProto:
        """The whole graph."""
        return helper.make_graph(self.nodes, name, list(inputs), list(outputs), self.constants)
