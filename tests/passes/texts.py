"""Models as text, for tests that show graphs before and after a pass.

y = Relu(x)
last = Loop(trip, true):
  s from x, then t
  p in v, axis 1, backwards
  f is w
  t = Add(s, f)
  last is t
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import Carried, Concatenated, Invariant, LastValue, ScanInput, Sliced
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.op import Constant

__all__ = ["shown"]


def shown(model: Model) -> str:
    """The nodes of a model in order, one per line; constants appear at their readers."""
    results = ", ".join(_name(node.inputs[0]) for node in model.graph.results)
    return "\n".join([*_graph(model.graph, ""), f"-> {results}"])


def _graph(graph: Graph, indent: str) -> Iterator[str]:
    for node in graph.nodes:
        if isinstance(node.op, Constant):
            continue
        outputs = ", ".join(_name(value) for value in node.outputs)
        if not node.bodies:
            inputs = ", ".join(_name(value) for value in node.inputs)
            yield f"{indent}{outputs} = {node.op.type}({inputs})"
            continue
        first = {"Loop": 2, "If": 1}.get(node.op.type, 0)
        inputs = ", ".join(_name(value) for value in node.inputs[:first])
        yield f"{indent}{outputs} = {node.op.type}({inputs}):"
        for body in node.bodies:
            yield from _body(node, body, indent + "  ")


def _body(node: Node, body: Body, indent: str) -> Iterator[str]:
    for port in body.ports.inputs:
        own = body.graph.parameters[port.parameter].name
        outer = _name(node.inputs[port.external])
        match port:
            case Carried():
                yield f"{indent}{own} from {outer}, then {_result(body, port.result)}"
            case Invariant():
                yield f"{indent}{own} is {outer}"
            case Sliced(stride=stride, part_size=part):
                ends = f"{port.start}..{port.end}"
                yield f"{indent}{own} in {outer}, axis {port.axis}, {ends}, {stride}, {part}"
            case ScanInput():
                how = ", backwards" if port.reverse else ""
                yield f"{indent}{own} in {outer}, axis {port.axis}{how}"
    yield from _graph(body.graph, indent)
    for out in body.ports.outputs:
        target, value = _name(node.outputs[out.external]), _result(body, out.result)
        match out:
            case LastValue():
                yield f"{indent}{target} is {value}"
            case Concatenated(stride=stride, part_size=part):
                ends = f"{out.start}..{out.end}"
                yield f"{indent}{target} joins {value}, axis {out.axis}, {ends}, {stride}, {part}"
            case _:
                how = ", backwards" if out.reverse else ""
                yield f"{indent}{target} stacks {value}, axis {out.axis}{how}"


def _result(body: Body, index: int) -> str:
    return _name(body.graph.results[index].inputs[0])


def _name(value: Value | None) -> str:
    if value is None:
        return "-"
    op = value.producer.op
    if isinstance(op, Constant):
        return str(op.tensor.numpy().tolist()).lower()
    return value.name
