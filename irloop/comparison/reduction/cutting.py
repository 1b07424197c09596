"""Cuts two models around the first value that differs.

Values that are computed before the difference, and are equal in both models, become inputs.
Everything after the difference is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from irloop.budget import current
from irloop.comparison.agreement import agree
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import Pairs, inputs_of, traced
from irloop.comparison.recording import KEPT_BYTES, OVERHEAD
from irloop.comparison.reduction.changes import Pair
from irloop.comparison.reduction.shortcuts import reshaped
from irloop.execution.memory import type_of
from irloop.execution.trace import TraceEvent
from irloop.graph.clone import clone_graph
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.rewriter import Rewriter
from irloop.passes.common import LIBRARY
from irloop.passes.manager import Manager

__all__ = ["cut_at", "drop_dead", "located"]

Key = tuple[Value, tuple[int, ...]]


class _Everything:
    """Records the values of a run, and the order in which values were computed.

    Values that no longer fit into `KEPT_BYTES`, or into a quarter of the memory of the budget, are
    not recorded.
    """

    def __init__(self) -> None:
        self.values: dict[Key, Any] = {}
        self.made: list[Key] = []
        self._left = min(KEPT_BYTES, (current().memory or math.inf) // 4)
        #: The identities of the recorded arrays: loops pass the same array to every iteration.
        self._known: set[int] = set()

    def __call__(self, event: TraceEvent) -> None:
        for value, held in inputs_of(event):
            key = (value, event.iterations)
            if key not in self.values:
                self._keep(key, held)
        for value, held in zip(event.node.outputs, event.outputs, strict=False):
            key = (value, event.iterations)
            if self._keep(key, held):
                self.made.append(key)

    def _keep(self, key: Key, held: Any) -> bool:
        items = held if isinstance(held, list) else [held]
        new = [item for item in items if id(item) not in self._known]
        size = OVERHEAD + sum(getattr(item, "nbytes", 0) for item in new)
        if size > self._left:
            return False
        self._left -= size
        self._known.update(map(id, new))
        self.values[key] = held
        return True


class _Place(NamedTuple):
    """A difference between the models in one iteration: two corresponding values that differ.

    Each pair has one item for the first model and one for the second. ``agreed[k](v)`` tells
    whether value `v` of model `k` agrees with the other model in this iteration. ``held[k](v)``
    returns the content of `v` in this iteration, or None if it is not known. `twin` maps values of
    the second model to those of the first.
    """

    values: tuple[Value, Value]
    agreed: tuple[Callable[[Value], bool], Callable[[Value], bool]]
    held: tuple[Callable[[Value], Any], Callable[[Value], Any]]
    twin: Mapping[Value, Value]


def located(pair: Pair, tolerance: Tolerance, seconds: float, *, loops: bool) -> Iterator[_Place]:
    """Run both models, and yield each pair of corresponding values that differ.

    The pairs are in the order in which the second model computes them; outputs of a node that fails
    in the second model come first. `seconds` limits the time of each run. If `loops` is true, only
    outputs of loops are yielded, and a loop is left out if one of its inputs is known to differ.
    """
    pairs = Pairs(*pair.models)
    left, right = _Everything(), _Everything()
    failures: list[tuple[Node, str]] = []
    traced(pair.models[0], pair.arrays[0], left, seconds, None)
    traced(pair.models[1], pair.arrays[1], right, seconds, None, failures=failures)
    twin = {value: pairs.first_by_name[name] for value, name in pairs.of_second.items()}
    missing = [key for node, _ in failures for key in _missing(node, twin, left, right)]
    for value, iterations in (*missing, *right.made):
        mine = twin.get(value)
        before = None if mine is None else left.values.get((mine, iterations))
        if mine is None or before is None:
            continue
        if loops and not (value.producer.bodies and mine.producer.bodies):
            continue
        made = right.values.get((value, iterations))
        # Corresponding loops return the same shapes. The shapes of other operations are compared
        # only if their operands agree, because a slice may keep its axis in one model.
        is_reshaped = _shape(before) != _shape(made) and (
            loops or _fed_alike((mine, value), twin, (left.values, right.values), iterations)
        )
        if made is not None and agree(before, made, tolerance) and not is_reshaped:
            continue
        good = {
            other
            for other, own in twin.items()
            if (own, iterations) in left.values
            and (other, iterations) in right.values
            and agree(left.values[own, iterations], right.values[other, iterations], tolerance)
        }
        if loops and any(
            item in twin and item not in good and (item, iterations) in right.values
            for item in value.producer.inputs
            if item is not None
        ):
            continue
        agreed = ({twin[other] for other in good}.__contains__, good.__contains__)
        held = (
            lambda v, at=iterations: left.values.get((v, at)),
            # The inputs of a node that fails in the second model are not recorded, so use the
            # values of the first model.
            lambda v, at=iterations: right.values.get(
                (v, at), left.values.get((twin[v], at)) if v in twin else None
            ),
        )
        yield _Place((mine, value), agreed, held, twin)


def _fed_alike(
    values: tuple[Value, Value],
    twin: Mapping[Value, Value],
    held: tuple[Mapping[Key, Any], Mapping[Key, Any]],
    iterations: tuple[int, ...],
) -> bool:
    """Return whether two operations read corresponding operands of equal shapes.

    `values` are their results: one of the first model, and one of the second. `twin` maps values of
    the second model to those of the first. `held` holds the recorded values of both models, from
    which the shapes in iteration `iterations` are taken. Constant operands are not compared.
    """
    mine, given = (
        [
            item
            for item in value.producer.inputs
            if item is not None and not isinstance(item.producer.op, Constant)
        ]
        for value in values
    )
    return [twin.get(item) for item in given] == mine and all(
        _shape(held[0].get((own, iterations))) == _shape(held[1].get((item, iterations)))
        for own, item in zip(mine, given, strict=True)
    )


def _shape(held: Any) -> tuple[int, ...]:
    return tuple(np.shape(held))


def _missing(
    node: Node, twin: Mapping[Value, Value], left: _Everything, right: _Everything
) -> Iterator[Key]:
    """Find outputs of the failed `node` that the first model computed and the second did not.

    Yield (output, iterations) for each such output. `iterations` has one number for each loop
    around the output, and tells the first iteration in which the output is missing. `left` and
    `right` hold the values of the first and the second model. `twin` maps values of the second
    model to values of the first; `node` belongs to the second.
    """
    for value in node.outputs:
        mine = twin.get(value)
        places = [at for item, at in left.made if item is mine and (value, at) not in right.values]
        yield from ((value, at) for at in places[:1])


def cut_at(pair: Pair, place: _Place, *, keeps_ports: bool = False) -> Pair | None:
    """Cut both models down to the operations that lead to the two values that differ at `place`.

    The inputs of the new models are inputs of the old models and the nearest values that agree.
    With `keeps_ports`, bodies keep inputs and outputs that nothing reads. The result is None if the
    inputs of the two new models cannot be put into a common order.
    """
    edges = [_frontier(value, ok) for value, ok in zip(place.values, place.agreed, strict=True)]
    cuts = zip(pair.models, place.values, edges, place.held, strict=True)
    (left, first), (right, second) = (_cut(*item) for item in cuts)
    # The values that enter a body may be named differently in the two models.
    twins = [place.twin.get(item) for item in edges[1]]
    order: list[int] | None
    if set(twins) == set(edges[0]) and len(twins) == len(edges[0]):
        order = [twins.index(item) for item in edges[0]]
    else:
        order = _common_order(left.graph, right.graph)
    if order is None:
        return None
    right.graph.parameters = [right.graph.parameters[at] for at in order]
    for model in () if keeps_ports else (left, right):
        # Remove what nothing reads, because a loop that fails on an unread output would be another
        # case than the one that is cut out.
        Manager([LIBRARY["dead_code"]()], validate=False).run_passes(model)
    moved = tuple(second[at] for at in order)
    return _with_common_shapes(Pair((left, right), (first, moved)))


def _with_common_shapes(pair: Pair) -> Pair:
    """Reshape inputs of a pair of models so that corresponding inputs have equal shapes.

    The shapes differ if one format keeps the axis of a slice and the other format drops it. A
    Reshape is inserted into the model with more axes.
    """
    arrays = [list(items) for items in pair.arrays]
    for number, items in enumerate(zip(*pair.arrays, strict=True)):
        shapes = [np.shape(item) for item in items]
        if shapes[0] == shapes[1] or np.size(items[0]) != np.size(items[1]):
            continue
        side = int(len(shapes[1]) > len(shapes[0]))
        model = pair.models[side]
        value = model.graph.input(number)
        arrays[side][number] = np.reshape(items[side], shapes[1 - side])
        rewriter = Rewriter(model.graph)
        first = next(iter(model.graph.nodes), None)
        name = f"{value.producer.name}_reshaped"
        readers = list(value.uses)
        made = reshaped(model, rewriter, value, shapes[side], before=first, name=name)
        for node, position in readers:
            rewriter.set_input(node, position, made)
        value.type = type_of(arrays[side][number])
    return Pair(pair.models, (tuple(arrays[0]), tuple(arrays[1])))


def _cut(
    model: Model, value: Value, edges: Sequence[Value], held: Callable[[Value], Any]
) -> tuple[Model, tuple[Any, ...]]:
    """Return a copy of `model` that computes just `value`, and the arrays for its inputs.

    The values in `edges` become the inputs of the copy. `held` returns the array of a value, or
    None if it has none; the input then keeps the declared type.
    """
    source = value.producer.graph
    assert source is not None
    copy = clone_graph(source)
    twin = dict(zip(_values(source), _values(copy), strict=True))
    rewriter = Rewriter(copy)
    for node in list(copy.results):
        rewriter.erase_result(node)
    copy.parameters.clear()
    arrays = []
    for edge in edges:
        array = held(edge)
        type = edge.type if array is None else type_of(array)
        new = copy.add_parameter(edge.producer.name, type, edge.names)
        rewriter.replace_value(twin[edge], new, keep_names=False)
        arrays.append(array)
    copy.add_result(twin[value], value.producer.name)
    drop_dead(copy, rewriter)
    return replace(model, graph=copy), tuple(arrays)


def _values(graph: Graph) -> Iterator[Value]:
    yield from graph.inputs
    for node in graph.nodes:
        yield from node.outputs


def _frontier(value: Value, agreed: Callable[[Value], bool]) -> list[Value]:
    """Return the nearest values, upwards from `value`, that are agreed or inputs of the graph.

    A value is agreed if `agreed` returns true for it. `value` is computed from the returned values
    and from constants.
    """
    frontier: dict[Value, None] = {}
    pending, seen = [value.producer], {value.producer}
    while pending:
        for operand in pending.pop().inputs:
            if operand is None or isinstance(operand.producer.op, Constant):
                continue
            if agreed(operand) or isinstance(operand.producer.op, Parameter):
                frontier[operand] = None
            elif operand.producer not in seen:
                seen.add(operand.producer)
                pending.append(operand.producer)
    return list(frontier)


def drop_dead(graph: Graph, rewriter: Rewriter) -> None:
    for node in reversed(graph):
        if not any(value.is_used for value in node.outputs):
            rewriter.erase(node)


def _common_order(first: Graph, second: Graph) -> list[int] | None:
    """The position in the second graph of each input of the first; None if they do not match."""
    if len(first.parameters) != len(second.parameters):
        return None
    names = [{node.name, *node.outputs[0].names} for node in second.parameters]
    order: list[int] = []
    for node in first.parameters:
        own = {node.name, *node.outputs[0].names}
        free = (at for at, item in enumerate(names) if own & item and at not in order)
        position = next(free, None)
        if position is None:
            return None
        order.append(position)
    return order
