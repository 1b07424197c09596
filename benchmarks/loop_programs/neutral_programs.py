"""The programs of the family `onnx`, with arithmetic without effect in front of some operands.

OpenVINO removes x + 0, x * 1 and the like, also where the number is computed from constants or
sizes. What reads the result then reads x itself, which may be a state or an output of a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from benchmarks.loop_programs import onnx_programs
from benchmarks.loop_programs.onnx_programs import Program

__all__ = ["draw"]

#: How many operands of a known type get such arithmetic.
SHARE = 0.2

_NUMBERS = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.DOUBLE,
        TensorProto.INT32,
        TensorProto.INT64,
    }
)


def draw(seed: int) -> Program:
    """The program of the family `onnx` for a seed, with more operations and the same results."""
    program = onnx_programs.draw(seed)
    elements: dict[str, int] = {}
    _collect(onnx.shape_inference.infer_shapes(program.proto).graph, elements)
    writer = _Writer(Random(f"neutral {seed}"), elements)  # noqa: S311
    writer.change(program.proto.graph)
    return Program(program.proto, program.sets, [*program.features, *sorted(writer.kinds)])


def _collect(graph: GraphProto, elements: dict[str, int]) -> None:
    """Record the element types of the values of a graph and its bodies; names are unique."""
    for info in (*graph.value_info, *graph.input, *graph.output):
        elements.setdefault(info.name, info.type.tensor_type.elem_type)
    for tensor in graph.initializer:
        elements[tensor.name] = tensor.data_type
    for node in graph.node:
        for body in _bodies(node):
            _collect(body, elements)


def _bodies(node: NodeProto) -> Iterable[GraphProto]:
    graphs = onnx.AttributeProto.GRAPH
    return [attribute.g for attribute in node.attribute if attribute.type == graphs]


class _Writer:
    def __init__(self, random: Random, elements: dict[str, int]) -> None:
        self.random = random
        self.elements = elements
        self.kinds: set[str] = set()
        self._count = 0

    def change(self, graph: GraphProto) -> None:
        nodes: list[NodeProto] = []
        for node in graph.node:
            for body in _bodies(node):
                self.change(body)
            for at, name in enumerate(node.input):
                if self.elements.get(name) in _NUMBERS and self.random.random() < SHARE:
                    nodes += self._operations(name, node, at)
            nodes.append(node)
        del graph.node[:]
        graph.node.extend(nodes)

    def _operations(self, name: str, reader: NodeProto, at: int) -> Iterator[NodeProto]:
        """Operations that return the value `name`, which the reader reads instead."""
        element, result = self.elements[name], self._name()
        zero, one = (self._constant(number, element) for number in (0, 1))
        kind = self.random.choice([*_ARITHMETIC, "empty sum", "known size", "views"])
        self.kinds.add(kind)
        reader.input[at] = result
        match kind:
            case "empty sum":
                empty, total = self._constant(np.zeros((2, 0)), element), self._name()
                yield empty
                yield helper.make_node("ReduceSum", [empty.output[0]], [total], keepdims=0)
                yield helper.make_node("Add", [name, total], [result])
            case "known size":
                size, factor = self._name(), self._name()
                yield one
                yield helper.make_node("Size", [one.output[0]], [size])
                yield helper.make_node("Cast", [size], [factor], to=element)
                yield helper.make_node("Mul", [name, factor], [result])
            case "views":
                axes, wide = self._constant([0], TensorProto.INT64), self._name()
                yield axes
                yield helper.make_node("Unsqueeze", [name, axes.output[0]], [wide])
                yield helper.make_node("Squeeze", [wide, axes.output[0]], [result])
            case _:
                operation, neutral, comes_first = _ARITHMETIC[kind]
                other = (zero, one)[neutral]
                operands = [name, other.output[0]]
                yield other
                yield helper.make_node(operation, operands[:: -1 if comes_first else 1], [result])

    def _constant(self, value: object, element: int) -> NodeProto:
        name = self._name()
        array = np.array(value).astype(helper.tensor_dtype_to_np_dtype(element))
        tensor = numpy_helper.from_array(array, f"{name}_value")
        return helper.make_node("Constant", [], [name], value=tensor)

    def _name(self) -> str:
        self._count += 1
        return f"neutral_{self._count}"


#: Arithmetic without effect: the operation, the number, and whether the number comes first.
_ARITHMETIC = {
    "x + 0": ("Add", 0, False),
    "0 + x": ("Add", 0, True),
    "x - 0": ("Sub", 0, False),
    "x * 1": ("Mul", 1, False),
    "1 * x": ("Mul", 1, True),
    "x / 1": ("Div", 1, False),
}
