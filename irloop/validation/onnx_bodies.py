"""Bodies of ONNX nodes: their declared types, the types they receive and those they compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from irloop.dialects.loops import parameter_types
from irloop.dialects.onnx.control_flow import If, Loop, Scan8
from irloop.errors import InferenceError
from irloop.formats.onnx.outline import OutlineGraph, OutlineNode
from irloop.graph.clone import clone_graph
from irloop.graph.inference import Inference, NodeArguments
from irloop.graph.loops import Invariant
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.record import Record
from irloop.graph.types import (
    UNKNOWN_SHAPE,
    UNKNOWN_TYPE,
    ElementType,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    ValueType,
)
from irloop.validation.analysis import LightInference, Numbers

__all__ = ["InferredBody", "inferred_bodies", "kind_of"]

#: The label of a body in memory, keyed by the name of its attribute in the file.
_LABELS = {"then_branch": "then", "else_branch": "else"}


def kind_of(type: ValueType) -> str:
    """Describe a type without its shapes, as "f32" or "sequence of f32"; empty if it is unknown.

    Engines accept a plain value where an optional is declared, so optionals count as unknown.
    """
    if isinstance(type, OptionalType):
        return ""
    if isinstance(type, SequenceType):
        item = kind_of(type.item)
        return f"sequence of {item}" if item else ""
    return "" if type.element is ElementType.DYNAMIC else str(type.element)


class InferredBody(Record):
    """One body of a Loop, Scan or If.

    `given` holds the types that the node passes to the body's own inputs in the first iteration,
    `computed` the types of its outputs. A type is unknown where inference fails.
    """

    node: OutlineNode
    body: OutlineGraph
    given: tuple[ValueType, ...]
    computed: tuple[ValueType, ...]
    _owner: Node
    _inner: Body
    _inference: Inference

    def differing_inputs(self) -> list[int]:
        """Return the positions of body inputs with a wrong declared shape.

        Such a shape contradicts the shape of the value that the input receives. For the condition
        of a Loop, only the rank is compared.
        """
        positions = []
        for index, types in enumerate(zip(self.body.input_types, self.given, strict=False)):
            declared, actual = (
                item.shape if isinstance(item, TensorType) else UNKNOWN_SHAPE for item in types
            )
            if None in (declared.rank, actual.rank):
                continue
            of_condition = self.node.type == "Loop" and index == 1
            if declared.rank != actual.rank or (
                not of_condition and declared.refine(actual) is None
            ):
                positions.append(index)
        return positions

    def contradicts_declared(self, *inputs: int) -> bool:
        """Return whether inference of the body fails with its declared types of these inputs.

        `inputs` are positions of body inputs. They get their declared types, and all other body
        inputs get the types that the node passes. The result is true if inference of the body
        reports an error, or if a Scan inside the body receives an input whose shape differs from
        the shape that the body of this Scan declares. Without `inputs` the result is false.
        """
        if not inputs:
            return False
        types = _parameter_types(self._owner, self._inner, self._inference)
        for index in inputs:
            types[index] = self.body.input_types[index]
        inference = LightInference()
        graph = clone_graph(self._inner.graph)
        inference.run(graph, types, {})
        inner = inferred_bodies(self.body, graph, inference)
        return bool(inference.errors) or any(
            item.node.type == "Scan" and item.differing_inputs() for item in inner
        )

    def resized_states(self) -> Iterator[tuple[int, Shape]]:
        """Yield each state of a Loop that an If in the body may return with another size.

        The body is inferred with the declared shapes of its states. Each item is the position of a
        state among the body inputs, and the first shape returned by a branch that contradicts the
        declared shape of this state.
        """
        types = _parameter_types(self._owner, self._inner, self._inference)
        # The body may declare more inputs than the node passes, or fewer.
        own = range(2, min(len(self.body.input_types), len(self.given)))
        for index in own:
            types[index] = self.body.input_types[index]
        graph = clone_graph(self._inner.graph)
        LightInference().run(graph, types, {})
        for port in self._inner.ports.carried:
            declared = types[port.parameter]
            if port.parameter not in own or not isinstance(declared, TensorType):
                continue
            for type in _returned_by_branches(graph.outputs[port.result]):
                if isinstance(type, TensorType) and declared.shape.refine(type.shape) is None:
                    yield port.parameter, type.shape
                    break

    def two_iterations(self) -> tuple[list[ValueType], list[ValueType]]:
        """Infer the types of the body's outputs in the first and in the second iteration."""
        types = _parameter_types(self._owner, self._inner, self._inference)
        constants: dict[int, Any] = {}
        for port in self._inner.ports.inputs:
            value = self._owner.inputs[port.external] if isinstance(port, Invariant) else None
            constant = None if value is None else self._inference.constant(value)
            if constant is not None:
                constants[port.parameter] = constant
        graph = clone_graph(self._inner.graph)
        outputs: list[list[ValueType]] = []
        for number in range(2):
            if self._inner.ports.iteration is not None:
                constants[self._inner.ports.iteration] = Numbers((number,), (), ElementType.I64)
            LightInference().run(graph, types, constants)
            outputs.append([value.type for value in graph.outputs])
            for port in self._inner.ports.carried:
                types[port.parameter] = outputs[-1][port.result]
        return outputs[0], outputs[1]


def _returned_by_branches(value: Value) -> Iterator[ValueType]:
    """The types that the branches of an If return for its output `value`.

    There are none if `value` is not an output of an If.
    """
    node = value.producer
    if not isinstance(node.op, If):
        return
    for body in node.bodies:
        for port in body.ports.outputs:
            if node.outputs[port.external] is value:
                yield body.graph.outputs[port.result].type


def inferred_bodies(
    outline: OutlineGraph, graph: Graph, inference: Inference
) -> Iterator[InferredBody]:
    """The bodies of an inferred graph, nested ones included, outermost first."""
    if not graph.has_bodies:
        return
    makers = {
        name: value.producer
        for node in graph.nodes
        for value in node.outputs
        for name in value.names
    }
    for outer in outline.nodes:
        first = next((name for name in outer.outputs if name), "")
        owner = makers.get(first)
        if owner is None or outer.domain:
            continue
        if outer.type == "SequenceMap" and isinstance(owner.op, Loop):
            yield from _of_map(outer, owner, inference)
        if owner.op.type != outer.type:
            continue
        inner = {body.label: body for body in owner.bodies}
        for attribute, body in outer.bodies.items():
            typed = inner.get(_LABELS.get(attribute, attribute))
            if typed is None:
                continue
            passed: list[ValueType] = []
            if outer.type != "If":
                # Further parameters of the body are outer values that it reads by name.
                own = len(typed.graph.parameters) - sum(
                    isinstance(port, Invariant) for port in typed.ports.inputs
                )
                passed = _parameter_types(owner, typed, inference)[:own]
            computed = [value.type for value in typed.graph.outputs]
            yield InferredBody(outer, body, tuple(passed), tuple(computed), owner, typed, inference)
            yield from inferred_bodies(body, typed.graph, inference)


def _of_map(outer: OutlineNode, owner: Node, inference: Inference) -> Iterator[InferredBody]:
    """The body of a SequenceMap and the bodies in it.

    The reader has expanded the SequenceMap `outer` to the Loop `owner`, whose body defines all
    values of the body in the file.
    """
    (inner,) = owner.bodies
    types = {
        name: value.type
        for node in inner.graph.nodes
        for value in node.outputs
        for name in value.names
    }
    for body in outer.bodies.values():
        given = tuple(types.get(name, UNKNOWN_TYPE) for name in body.inputs)
        computed = tuple(types.get(name, UNKNOWN_TYPE) for name in body.outputs)
        yield InferredBody(outer, body, given, computed, owner, inner, inference)
        yield from inferred_bodies(body, inner.graph, inference)


def _parameter_types(owner: Node, body: Body, inference: Inference) -> list[ValueType]:
    args = NodeArguments(owner, inference)
    try:
        types = parameter_types(args, body, outer=1 if isinstance(owner.op, Scan8) else 0)
    except InferenceError:
        return [UNKNOWN_TYPE] * len(body.graph.parameters)
    if isinstance(owner.op, Loop):
        if body.ports.iteration is not None:
            types[body.ports.iteration] = TensorType(ElementType.I64, UNKNOWN_SHAPE)
        for port in body.ports.carried:
            # ONNX Runtime compares the declared type of the condition only if the node passes a
            # condition.
            if port.external == 1:
                types[port.parameter] = args.type(1)
    return types
