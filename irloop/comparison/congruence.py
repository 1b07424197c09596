"""Pairs values of two models that the same operation computes from values already paired.

The names of two values usually tell whether they correspond. This module finds the partner of a
value whose name occurs several times in a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irloop.comparison.causes.copies import copies, unchanged
from irloop.comparison.causes.likeness import handed_on, may_correspond
from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Constant

__all__ = ["computed_alike", "known", "owners_alike"]


def known(names: Mapping[Value, str], value: Value) -> str:
    """Return the name of the pair to which `value` or a copy of it belongs; "" if there is none.

    A pair consists of corresponding values of the two models. `names` maps values to the names of
    their pairs.
    """
    alike = (value, unchanged(value), *copies(value))
    return next((names[item] for item in alike if item in names), "")


def computed_alike(
    graphs: tuple[Graph, Graph], names: tuple[Mapping[Value, str], Mapping[Value, str]]
) -> Iterator[tuple[Value, Value]]:
    """Yield pairs of values that two corresponding graphs compute in the same way.

    Two values are computed in the same way if the same operation computes them from operands that
    are already paired. `names` has one mapping per model, from each paired value to the name of its
    pair. A value with several possible partners is left out.
    """
    left, right = (_by_operands(*item) for item in zip(graphs, names, strict=True))
    for operands, values in left.items():
        others = right.get(operands, [])
        for value in values:
            partners = [item for item in others if _may_correspond(value.producer, item.producer)]
            rivals = partners and [
                item for item in values if _may_correspond(item.producer, partners[0].producer)
            ]
            if len(partners) == len(rivals) == 1:
                yield value, partners[0]


def _by_operands(graph: Graph, names: Mapping[Value, str]) -> dict[tuple[str, ...], list[Value]]:
    """Group the unpaired values of a graph by their operands, for example ("a", "b") -> [sum].

    `names` maps each value that is already paired with one of the other model to the name of the
    pair. A key holds these names for all operands except constants; a value with an unpaired
    operand is left out. Operations that only pass elements on are left out too, because conversions
    add and remove them.
    """
    groups: dict[tuple[str, ...], list[Value]] = {}
    for node in graph.nodes:
        if len(node.outputs) != 1 or node.bodies or isinstance(node.op, Constant):
            continue
        value = node.outputs[0]
        if known(names, value) or handed_on(value) is not None:
            continue
        given = [item for item in node.inputs if item is not None]
        operands = [
            _nearest_name(item, names)
            for item in given
            if not isinstance(item.producer.op, Constant)
        ]
        if operands and all(operands):
            groups.setdefault(tuple(operands), []).append(value)
    return groups


def _nearest_name(value: Value | None, names: Mapping[Value, str]) -> str:
    """Return the name of the pair whose elements `value` holds; empty if there is none.

    A pair consists of corresponding values of the two models, and `names` maps values to the names
    of their pairs. If `value` is in no pair, the search goes back through operations that only pass
    elements on.
    """
    while value is not None:
        name = known(names, value)
        if name:
            return name
        value = handed_on(value)
    return ""


def _may_correspond(first: Node, second: Node) -> bool:
    return first.op.type == second.op.type or may_correspond(first.op, second.op)


def owners_alike(pairs: Mapping[Value, Value]) -> Iterator[tuple[Node, Node]]:
    """Yield pairs of nodes, one of each model, whose bodies contain corresponding values.

    `pairs` maps values of the second model to values of the first. Each yielded pair starts with
    the node of the first model. A node is left out if values in its bodies correspond to values of
    more than one node of the other model. Constants are ignored.
    """
    partners: tuple[dict[Node, set[Node]], dict[Node, set[Node]]] = ({}, {})
    for value, mine in pairs.items():
        first, second = mine.producer.owner, value.producer.owner
        # A constant may have moved into a body or out of it.
        if first is None or second is None or isinstance(value.producer.op, Constant):
            continue
        partners[0].setdefault(first, set()).add(second)
        partners[1].setdefault(second, set()).add(first)
    for first, found in partners[0].items():
        if len(found) == 1:
            (second,) = found
            if len(partners[1][second]) == 1:
                yield first, second
