"""Chooses names of inputs and outputs that are valid in version 10.

When OpenVINO reads a version 10 file, it adds the layer name of each Parameter, and of the layer
before each Result, to the tensor names of the model's inputs and outputs. It refuses a model in
which one name then refers to two inputs or outputs. It also refuses a model in which a value that
has tensor names is used as two inputs or outputs. Version 11 has no such rule.

When OpenVINO compiles a model, it removes operations that add 0 or multiply by 1, and gives the
layer name of the removed operation to its operand. If the result of such an operation is an output
of the model, the layer name must not be a tensor name of the operand.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from irloop.dialects.openvino.elementwise import Add, Divide, Multiply, Subtract
from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Constant, Op, Parameter

__all__ = ["Names", "public_names"]

#: The constant operand with which these operations return the other operand.
NEUTRAL: dict[type[Op], int] = {Add: 0, Subtract: 0, Multiply: 1, Divide: 1}


@dataclass(slots=True)
class Names:
    """New names for the layers and tensors that must be renamed in a version 10 file."""

    layers: dict[Node, str] = field(default_factory=dict)
    values: dict[Value, tuple[str, ...]] = field(default_factory=dict)


def public_names(graph: Graph) -> Names:
    """Choose the new names that OpenVINO needs to read `graph` from a version 10 file.

    The result contains only the layers and values that must be renamed. It is usually empty.
    """
    return _Chooser(graph).choose()


class _Chooser:
    def __init__(self, graph: Graph) -> None:
        self.names = Names()
        self.taken: dict[str, Value] = {}
        places = (*graph.inputs, *graph.outputs)
        self.count = Counter(places)
        # Layer names that a later choice may need must not be given to other layers.
        self.layer_names = {value.producer.name for value in self.count}

    def choose(self) -> Names:
        for value in self.count:
            if isinstance(value.producer.op, Parameter) and not value.names:
                self.taken.setdefault(value.producer.name, value)
        for value, count in self.count.items():
            self._tensor_names(value, count)
        for node in dict.fromkeys(value.producer for value in self.count):
            self._layer_name(node)
            self._operand_name(node)
        return self.names

    def _operand_name(self, node: Node) -> None:
        """Remove the name of a node from its operand, if the node returns the operand unchanged.

        OpenVINO replaces such a node by its operand. Only the output of the node keeps the name.
        """
        operand = _passed_on(node)
        if operand is None or operand in self.count or len(operand.producer.outputs) > 1:
            return
        name = self.names.layers.get(node, node.name)
        if name in operand.names:
            self.names.values[operand] = tuple(item for item in operand.names if item != name)

    def _tensor_names(self, value: Value, count: int) -> None:
        if count > 1:
            # OpenVINO refuses tensor names for a value that is used as several inputs or outputs,
            # so only the layer's name is left.
            if value.names:
                self.names.values[value] = ()
            return
        kept = tuple(n for n in value.names if self.taken.setdefault(n, value) is value)
        if kept != value.names:
            self.names.values[value] = kept

    def _layer_name(self, node: Node) -> None:
        values = [value for value in node.outputs if value in self.count]
        wishes = [node.name]
        shared = len(node.outputs) == 1 and self.count[values[0]] > 1
        own = [name for value in values for name in value.names]
        if shared and own and node.name not in own and not isinstance(node.op, Parameter):
            wishes.insert(0, own[0])
        elif isinstance(node.op, Parameter):
            wishes += own
        name = next((wish for wish in wishes if self._is_free(values, wish)), None)
        number = 0
        while name is None:
            number += 1
            wish = f"{node.name}_{number}"
            if wish not in self.layer_names and self._is_free(values, wish):
                name = wish
        for value in values:
            self.taken[_public(value, name)] = value
        if name != node.name:
            self.names.layers[node] = name

    def _is_free(self, values: list[Value], name: str) -> bool:
        return all(self.taken.get(_public(value, name), value) is value for value in values)


def _passed_on(node: Node) -> Value | None:
    """The operand that `node` returns unchanged, or None."""
    neutral = NEUTRAL.get(type(node.op))
    if neutral is None or len(node.inputs) != 2:
        return None
    value, other = node.inputs
    if value is not None and isinstance(value.producer.op, Constant):
        value, other = other, value
    known = None if other is None else other.producer.op
    if not isinstance(known, Constant) or known.tensor.count != 1:
        return None
    return value if known.tensor.numpy().item() == neutral else None


def _public(value: Value, layer_name: str) -> str:
    """The name that OpenVINO derives for an output of a layer from the layer's name."""
    if len(value.producer.outputs) == 1:
        return layer_name
    return f"{layer_name}.{value.index}"
