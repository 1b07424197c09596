"""Finds the inputs of a model whose sizes or values decide which branch of an If is taken."""

from __future__ import annotations

from irloop.graph.builder import shape_of
from irloop.graph.loops import Invariant
from irloop.graph.model import Value
from irloop.graph.op import Parameter
from irloop.graph.types import Shape, TensorType

__all__ = ["choosing_inputs", "deciding_inputs", "fixing", "shape_option"]


def deciding_inputs(condition: Value) -> list[Value]:
    """The inputs of the model whose unknown sizes decide `condition`.

    Empty if the condition also depends on the values of an input.
    """
    inputs: dict[Value, None] = {}
    pending, seen = [(condition, False)], {(condition, False)}
    while pending:
        value, only_size = pending.pop()
        if only_size and shape_of(value).count() is not None:
            continue
        if not isinstance(value.producer.op, Parameter):
            only_size = only_size or value.producer.op.reads_shape_only
            sources = [item for item in value.producer.inputs if item is not None]
        elif value.producer.graph is not None and value.producer.graph.owner is not None:
            outer = _outside(value)
            if outer is None:
                return []
            sources = [outer]
        elif only_size:
            inputs[value] = None
            continue
        else:
            return []
        fresh = [(item, only_size) for item in sources if (item, only_size) not in seen]
        seen.update(fresh)
        pending += fresh
    return list(inputs)


def choosing_inputs(condition: Value) -> list[Value]:
    """Inputs of the model whose values, and not only their sizes, decide `condition`."""
    inputs: dict[Value, None] = {}
    pending, seen = [condition], {condition}
    while pending:
        value = pending.pop()
        producer = value.producer
        sources = [item for item in producer.inputs if item is not None]
        if isinstance(producer.op, Parameter):
            outer = _outside(value)
            if producer.graph is not None and producer.graph.owner is None:
                inputs[value] = None
            sources = [] if outer is None else [outer]
        elif producer.op.reads_shape_only:
            sources = []
        fresh = [item for item in sources if item not in seen]
        seen.update(fresh)
        pending += fresh
    return list(inputs)


def fixing(inputs: list[Value]) -> str:
    """The command that replaces inputs by constants and keeps only the branches that these
    select.
    """
    options = " ".join(f"--pass fix_input={value.producer.name}=VALUE" for value in inputs)
    return f"irloop transform MODEL -o FIXED {options} --pass inline_constant_if"


def _outside(parameter: Value) -> Value | None:
    """The outer value of an invariant body parameter; None for a slice or a state."""
    graph = parameter.producer.graph
    owner = None if graph is None else graph.owner
    if graph is None or owner is None:
        return None
    body = next(item for item in owner.bodies if item.graph is graph)
    port = body.ports.by_parameter.get(graph.inputs.index(parameter))
    return owner.inputs[port.external] if isinstance(port, Invariant) else None


def shape_option(value: Value) -> str:
    """The command-line option that gives an input a shape, with N in place of each size that the
    user has to fill in.
    """
    shape = value.type.shape if isinstance(value.type, TensorType) else Shape(None)
    if shape.dims is None:
        return f"--shape {value.producer.name}=N,..."
    sizes = ",".join(str(dim) if isinstance(dim, int) else "N" for dim in shape.dims)
    return f"--shape {value.producer.name}={sizes}"
