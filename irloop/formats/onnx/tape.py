"""Nodes written for one Gradient, with names of their own and what is known of the values."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import TensorProto, helper

from irloop.errors import ReadError
from irloop.formats.onnx.naming import StemNames, names_in

__all__ = ["Tape"]


class Tape:
    """The nodes that are written for one Gradient, and what is known of the values."""

    def __init__(self, model: onnx.ModelProto, node: onnx.NodeProto, opset: int) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.where = node.name or next(filter(None, node.output), node.op_type)
        self._names = StemNames(self.where, set(names_in(model.graph)))
        self._types = _types(model)
        #: The type of what is differentiated; all of it is of one type.
        self.kind = next((self._types[x][0] for x in node.input if x in self._types), 0)
        self.kind = self.kind or TensorProto.FLOAT

    def refuse(self, reason: str) -> ReadError:
        """An error about this Gradient; raise it."""
        return ReadError(f"Gradient {self.where!r} cannot be written out: {reason}")

    def fresh(self, wish: str) -> str:
        """A name that nothing in the model has."""
        return self._names.fresh(wish)

    def __call__(self, type: str, *inputs: str, **attributes: Any) -> str:
        """Append a node and give the name of its output."""
        name = self.fresh(type)
        self.nodes.append(helper.make_node(type, inputs, [name], name=name, **attributes))
        return name

    def number(self, value: float) -> str:
        """A constant without dimensions."""
        return self("Constant", value=helper.make_tensor("", self.kind, [], [value]))

    def integers(self, *values: int) -> str:
        """A constant list of i64."""
        tensor = helper.make_tensor("", TensorProto.INT64, [len(values)], values)
        return self("Constant", value=tensor)

    def filled(self, like: str, value: float) -> str:
        """`value` in the shape of another value."""
        tensor = helper.make_tensor("", self.kind, [1], [value])
        return self("ConstantOfShape", self("Shape", like), value=tensor)

    def same_as(self, copied: str, original: str) -> None:
        """Let a copied value have the type of the original one."""
        if original in self._types:
            self._types[copied] = self._types[original]

    def shape(self, name: str) -> tuple[Any, ...] | None:
        """The dimensions of a value, a size or a name each; None where they are not known."""
        return self._types[name][1] if name in self._types else None

    def summed_to(self, gradient: str, value: str, output: str) -> str:
        """A gradient of `output`, summed over what `value` was repeated along to make it."""
        have, want = self.shape(output), self.shape(value)
        if have is not None and have == want and None not in have:
            return gradient
        if self.opset < 13:
            raise self.refuse(f"{value!r} is broadcast, and ReduceSum takes computed axes since 13")
        shape = self("Shape", value)
        missing = self("Sub", self("Size", self("Shape", output)), self("Size", shape))
        one = helper.make_tensor("", TensorProto.INT64, [1], [1])
        front = self("ConstantOfShape", self("Reshape", missing, self.integers(1)), value=one)
        ones = self("Equal", self("Concat", front, shape, axis=0), self.integers(1))
        axes = self("Squeeze", self("NonZero", ones), self.integers(0))
        summed = self("ReduceSum", gradient, axes, keepdims=1, noop_with_empty_axes=1)
        return self("Reshape", summed, shape)


def _types(model: onnx.ModelProto) -> dict[str, tuple[int, tuple[Any, ...] | None]]:
    """Element type and dimensions of the values, as far as onnx infers them."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # onnx has no common base of what it raises
        graph = model.graph
    found: dict[str, tuple[int, tuple[Any, ...] | None]] = {}
    for item in graph.initializer:
        found[item.name] = int(item.data_type), tuple(item.dims)
    for items in (graph.value_info, graph.output, graph.input):
        for info in items:
            tensor = info.type.tensor_type
            dims = None
            if tensor.HasField("shape"):
                dims = tuple(
                    dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
                    for dim in tensor.shape.dim
                )
            found[info.name] = int(tensor.elem_type), dims
    return found
