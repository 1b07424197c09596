"""Replaces sequences and optionals among a model's inputs and outputs by the tensors they hold.

IR has tensors only. The user gives the number of tensors in an input; the number of tensors in an
output follows from the model.
"""

from __future__ import annotations

from collections.abc import Mapping

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import Converted
from irloop.conversion.framework.virtual_values import Items, Maybe, Stacked
from irloop.dialects.onnx.sequence import Optional, SequenceConstruct, SequenceEmpty
from irloop.errors import UsageError
from irloop.graph.builder import shape_of
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import OptionalType, SequenceType, TensorType, ValueType

__all__ = ["outputs_of", "set_input_lengths"]


def set_input_lengths(model: Model, lengths: Mapping[str, int]) -> None:
    """Replace sequence and optional inputs of an ONNX model by inputs for their tensors.

    For example, ``x: seq(f32[4])`` with a length of 2 becomes ``x_0, x_1: f32[4]`` and a
    SequenceConstruct of both. An optional tensor has the length 0 or 1, and keeps its name.
    """
    for name, length in lengths.items():
        named = [node for node in model.graph.parameters if node.name == name]
        if not named or isinstance(named[0].outputs[0].type, TensorType):
            known = ", ".join(
                node.name
                for node in model.graph.parameters
                if not isinstance(node.outputs[0].type, TensorType)
            )
            message = f"the model has no sequence or optional input {name!r}"
            raise UsageError(
                message, expected=f"one of the inputs {known}" if known else "no lengths"
            )
        _replace(model.graph, named[0], length)


def _replace(graph: Graph, parameter: Node, length: int) -> None:
    type = parameter.outputs[0].type
    is_optional = isinstance(type, OptionalType)
    inner = type.item if isinstance(type, OptionalType) else type
    if length < 0 or (length > 1 and not isinstance(inner, SequenceType)):
        message = f"input {parameter.name!r} of type {type} cannot hold {length} tensors"
        raise UsageError(message, expected="0 or 1" if is_optional else "0 or more")
    builder = _Heads(graph, parameter)
    value = builder.sequence(inner, length) if isinstance(inner, SequenceType) else None
    if value is None and length:
        value = builder.parameter(parameter.name, inner)
    if is_optional:
        value = builder.emit(Optional(), (value,) if value is not None else (), type)
    assert value is not None, "an empty sequence is a value, too"
    builder.rewriter.replace_value(parameter.outputs[0], value, keep_names=False)
    graph.parameters.remove(parameter)


class _Heads:
    """Replaces a graph input by new inputs, and inserts nodes before all old nodes of the graph."""

    def __init__(self, graph: Graph, old: Node) -> None:
        self._graph, self._old = graph, old
        self._first = next(iter(graph.nodes), None)
        self.rewriter = Rewriter(graph)

    def sequence(self, type: SequenceType, length: int) -> Value:
        """Create `length` new parameters and return the sequence of them, which has type `type`."""
        name = self._old.name
        items = [self.parameter(f"{name}_{at}", type.item) for at in range(length)]
        if items:
            return self.emit(SequenceConstruct(), tuple(items), type)
        element = type.item.element if isinstance(type.item, TensorType) else None
        return self.emit(SequenceEmpty() if element is None else SequenceEmpty(element), (), type)

    def parameter(self, name: str, type: ValueType) -> Value:
        """Add a graph input directly before the input that the new inputs replace."""
        value = self._graph.add_parameter(name, type, (name,), self._old.location)
        parameters = self._graph.parameters
        parameters.insert(parameters.index(self._old), parameters.pop())
        return value

    def emit(self, op: Op, inputs: tuple[Value, ...], type: ValueType) -> Value:
        """Add a node before the original nodes of the graph, but after the nodes added so far."""
        name = f"{self._old.name}/{op.type}"
        return self.rewriter.insert(op, inputs, before=self._first, name=name, types=(type,)).output


def outputs_of(c: Import, name: str, value: Converted) -> list[tuple[str, Value]]:
    """The tensors that an output holds, with their names.

    A sequence of n tensors becomes ``name_0`` to ``name_(n - 1)``. A sequence whose length is known
    only at run time becomes one tensor with one more axis, if its items share a shape.
    """
    if isinstance(value, Maybe):
        return [] if value.item is None else outputs_of(c, name, value.item)
    if isinstance(value, Stacked):
        count = shape_of(value.tensor).dim(0)
        if not isinstance(count, int):
            return [(name, value.tensor)]
        parts = c.variadic_split(value.tensor, 0, [1] * count) if count else []
        value = Items(tuple(c.squeeze(part, [0]) for part in parts))
    if isinstance(value, Items):
        return [(f"{name}_{at}", item) for at, item in enumerate(value.values)]
    return [(name, value)] if isinstance(value, Value) else []
