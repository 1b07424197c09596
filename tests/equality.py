"""Compares two graphs node by node, for tests of changes that must have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.walk import node_path

__all__ = ["difference", "model_difference"]


def model_difference(left: Model, right: Model) -> str | None:
    """Describe the first difference between two models; None if there is none.

    Properties and graphs are compared, but not the files from which the models were read.
    """
    for name in ("dialect", "version", "opsets", "metadata"):
        pair = getattr(left, name), getattr(right, name)
        if pair[0] != pair[1]:
            return f"{name}: {pair[0]!r} against {pair[1]!r}"
    return difference(left.graph, right.graph)


def difference(left: Graph, right: Graph) -> str | None:
    """The first difference of two graphs, bodies included; None if they are equal.

    Nodes are paired in their order. Names, types, attributes, runtime information, port maps and
    the bytes of constants count; locations do not.
    """
    return next(_differences(left, right), None)


def _differences(left: Graph, right: Graph) -> Iterator[str]:
    if left.name != right.name:
        yield f"graph {left.name!r} against {right.name!r}"
    for what in ("parameters", "nodes", "results"):
        pair = list(getattr(left, what)), list(getattr(right, what))
        if len(pair[0]) != len(pair[1]):
            yield f"{left!r}: {len(pair[0])} {what} against {len(pair[1])}"
            return
    numbers: dict[Value, tuple[int, int]] = {}
    others: dict[Value, tuple[int, int]] = {}
    for index, (one, two) in enumerate(zip(_nodes(left), _nodes(right), strict=True)):
        for known, node in ((numbers, one), (others, two)):
            known.update({value: (index, value.index) for value in node.outputs})
        reads = [[None if v is None else numbers.get(v) for v in one.inputs]]
        reads.append([None if v is None else others.get(v) for v in two.inputs])
        for text in _node_differences(one, two):
            yield f"{node_path(one)}: {text}"
        if reads[0] != reads[1]:
            yield f"{node_path(one)}: reads {reads[0]} against {reads[1]}"


def _nodes(graph: Graph) -> Iterator[Node]:
    yield from graph.parameters
    yield from graph.nodes
    yield from graph.results


def _node_differences(one: Node, two: Node) -> Iterator[str]:
    for what in ("name", "attributes", "info"):
        pair = getattr(one, what), getattr(two, what)
        if pair[0] != pair[1]:
            yield f"{what} {pair[0]!r} against {pair[1]!r}"
    if not _same_op(one.op, two.op):
        yield f"{one.op!r} against {two.op!r}"
    if len(one.outputs) != len(two.outputs):
        yield f"{len(one.outputs)} outputs against {len(two.outputs)}"
    for left, right in zip(one.outputs, two.outputs, strict=False):
        for what in ("names", "type", "info"):
            pair = getattr(left, what), getattr(right, what)
            if pair[0] != pair[1]:
                yield f"output {left.index}: {what} {pair[0]!s} against {pair[1]!s}"
    if [body.label for body in one.bodies] != [body.label for body in two.bodies]:
        yield f"bodies {one.bodies!r} against {two.bodies!r}"
    for body, other in zip(one.bodies, two.bodies, strict=False):
        if body.ports != other.ports:
            yield f"{body.label}: {body.ports} against {other.ports}"
        yield from _differences(body.graph, other.graph)


def _same_op(one: Op, two: Op) -> bool:
    if isinstance(one, Constant) and isinstance(two, Constant):
        left, right = one.tensor, two.tensor
        same = left.element is right.element and left.shape == right.shape
        return same and bytes(left.raw()) == bytes(right.raw())
    if type(one) is not type(two):
        return False
    # Attributes are compared as text, because a NaN does not equal itself.
    return one == two or repr(_as_written(one)) == repr(_as_written(two))


def _as_written(op: Op) -> Op:
    """Return `op` with its empty lists replaced by the entries that the writer writes for them.

    For some empty lists, such as the `activations` of an LSTM, the writer writes the
    default entries. Thus an empty list equals these entries in a comparison.
    """
    lists = {item.name: item.metadata.get("written") for item in fields(op)}
    return replace(
        op, **{name: new for name, new in lists.items() if new and not getattr(op, name)}
    )
