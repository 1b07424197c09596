"""Proposes changes that replace values of two models by simpler ones.

Most changes replace two corresponding values, one in each model, in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from irloop.comparison.causes.likeness import handed_on, origin
from irloop.comparison.pairing import Pairs
from irloop.comparison.reduction.changes import (
    Change,
    Pair,
    computed,
    numbered,
    ones_like,
    replaced,
)
from irloop.dialects.classes import classes_of
from irloop.graph.model import Value
from irloop.graph.op import Parameter, Result
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import all_nodes

__all__ = ["alone", "settled", "simpler", "with_sources"]

_SLICES = classes_of("Slice", "StridedSlice")


def with_sources(pair: Pair) -> Iterator[tuple[Value, Value, list[tuple[Value, Value]]]]:
    """Yield each pair of corresponding computed values of two models, the last pairs first.

    Each item is (value of the first model, value of the second model, sources). The sources are
    pairs (first model, second model), too: corresponding operands of the operations that compute
    the values, or parameters of their graphs. A simplification may replace the values by a source,
    or compute them from it.
    """
    pairs = Pairs(*pair.models)
    twin = {value: pairs.first_by_name[name] for value, name in pairs.of_second.items()}
    for value in computed(pair.models[1]):
        mine = twin.get(value)
        if mine is None or isinstance(mine.producer.op, Parameter):
            continue
        graph, sources = value.producer.graph, []
        parameters = () if graph is None else graph.inputs
        for source in dict.fromkeys((*value.producer.inputs, *parameters)):
            own = None if source is None else _counterpart(mine, source, twin)
            if source is not None and own is not None and own is not mine:
                sources.append((own, source))
        yield mine, value, sources


def simpler(pair: Pair) -> Iterator[Change]:
    """Yield changes that replace a value of both models by a simpler one, the last values first."""
    numbers = [numbered(model) for model in pair.models]
    for mine, value, sources in with_sources(pair):
        left, right, name = numbers[0][mine], numbers[1][value], value.producer.name
        yield f"{name} became a constant", replaced({0: (left, None), 1: (right, None)}), None
        for own, source in sources:
            if source.type == value.type or (
                _element(source) == _element(value) and _is_only_returned(value)
            ):
                new = {0: (left, numbers[0][own]), 1: (right, numbers[1][source])}
                yield f"{name} became {source.name}", replaced(new), None


def _element(value: Value) -> ElementType | None:
    return value.type.element if isinstance(value.type, TensorType) else None


def _is_only_returned(value: Value) -> bool:
    """Return whether `value` is read by Results only, directly or through casts and reshapes."""
    return all(
        isinstance(node.op, Result)
        or (handed_on(node.outputs[0]) is value and _is_only_returned(node.outputs[0]))
        for node, _ in value.uses
    )


def settled(pair: Pair) -> Iterator[Change]:
    """Yield a change for each state of a loop whose next value can be replaced by ones.

    The replacement is made in both models. It is tried if the next value has other readers than the
    body result; these then read the state's value of the current iteration.
    """
    pairs = Pairs(*pair.models)
    twin = {value: pairs.first_by_name[name] for value, name in pairs.of_second.items()}
    places = [{node: at for at, node in enumerate(all_nodes(model.graph))} for model in pair.models]
    for loops in pairs.loops():
        first, second = (node.bodies[0] for node in loops)
        for port in second.ports.carried:
            value = second.graph.input(port.parameter)
            mine = [
                item
                for item in first.ports.carried
                if first.graph.input(item.parameter) is twin.get(value)
            ]
            following = second.graph.results[port.result].inputs[0]
            if mine and following is not None and len(following.uses) > 1:
                numbers = [known[node] for known, node in zip(places, loops, strict=True)]
                new = [
                    (number, item.parameter, item.result)
                    for number, item in zip(numbers, (mine[0], port), strict=True)
                ]
                yield f"{value.producer.name} continues with ones", _continued(new), None


def _continued(places: Sequence[tuple[int, int, int]]) -> Callable[[Pair], Pair | None]:
    """Return a function that replaces the next value of a state by ones, in both models.

    Other operations of the body may read the next value, too; they read the current value of the
    state instead. `places` has three positions for each model: of the loop among all nodes, of the
    state's parameter among the inputs of the body, and of the next value among its results. The
    function returns None if the change is not possible, for example if the types of the two values
    differ.
    """

    def change(pair: Pair) -> Pair | None:
        for model, (loop, parameter, result) in zip(pair.models, places, strict=True):
            graph = next(islice(all_nodes(model.graph), loop, None)).bodies[0].graph
            node = graph.results[result]
            following, state = node.inputs[0], graph.input(parameter)
            rewriter = Rewriter(graph)
            ones = None if following is None else ones_like(rewriter, following)
            if following is None or ones is None or following.type != state.type:
                return None
            rewriter.replace_value(following, state, keep_names=False)
            rewriter.set_input(node, 0, ones)
        return pair

    return change


def _counterpart(mine: Value, source: Value, twin: Mapping[Value, Value]) -> Value | None:
    """Find the value of the first model that corresponds to `source` of the second model.

    `twin` maps values of the second model to values of the first. A simplification may replace
    `mine`, a value of the first model, by the result. Therefore an operand of `mine` is preferred
    if it has the type of `mine`, and differs from the twin of `source` only by casts, reshapes or
    copies. Otherwise the result is `twin[source]`, or None if that is missing. Shapes can differ
    because slices of an IR keep their axis until a Squeeze removes it, but slices of a Scan lack
    it.
    """
    own = twin.get(source) or twin.get(origin(source))
    operands = [item for item in mine.producer.inputs if item is not None]
    for item in operands:
        if own is not None and origin(item) is origin(own) and item.type == mine.type:
            return item
    return twin.get(source)


def alone(pair: Pair) -> Iterator[Change]:
    """Yield changes that replace a value in one model and leave the other model as it is.

    A value without a counterpart in the other model is replaced by a tensor of ones, or by an
    operand of its operation that has the same type. Any slice, cast, reshape or copy is replaced by
    its input.
    """
    pairs = Pairs(*pair.models)
    known = (set(pairs.first_by_name.values()), set(pairs.of_second))
    for side, model in enumerate(pair.models):
        numbers = numbered(model)
        for value in computed(model):
            number, handed = numbers[value], _passed_on(value)
            name = value.producer.name
            while handed is not None:
                yield (
                    f"{name} became {handed.name}",
                    replaced({side: (number, numbers[handed])}),
                    side,
                )
                handed = _passed_on(handed)
            if value in known[side]:
                continue
            yield f"{name} became a constant", replaced({side: (number, None)}), side
            for source in value.producer.inputs:
                if source is not None and source.type == value.type:
                    new = {side: (number, numbers[source])}
                    yield f"{name} became {source.name}", replaced(new), side


def _passed_on(value: Value) -> Value | None:
    """Return the operand of which `value` is a slice, a cast, a reshape or a copy.

    Returns None if the producer of `value` does anything else.
    """
    node = value.producer
    return node.inputs[0] if isinstance(node.op, _SLICES) else handed_on(value)
