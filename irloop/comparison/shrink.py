"""Simplifies two models in the same way, step by step, as long as they still differ.

Every change is made to corresponding parts of both models, so that no new difference arises. It is
kept only if the two still differ for the same cause. A change replaces a value by an operand of its
operation, by a body parameter or by a constant of ones; makes a size smaller wherever it occurs; or
lowers a constant trip count. Values that nothing reads any more are removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from irloop.comparison.likeness import handed_on, origin
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import Pairs, agree
from irloop.comparison.runs import limits_of
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.errors import IrloopError
from irloop.execution.session import Session
from irloop.graph.clone import clone_model
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant, Parameter, Result
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType, ValueType
from irloop.graph.walk import all_graphs, all_nodes
from irloop.passes.common import LIBRARY
from irloop.passes.manager import Manager
from irloop.progress import told

__all__ = ["Pair", "complexity", "operations", "shrunk"]

#: The time limit in seconds of one run of a model.
SECONDS = 10.0

#: Sizes of an axis are tried from 1 up to this, trip counts from 0 up to one less than this.
SMALLEST = 4

_SLICES = classes_of("Slice", "StridedSlice")

#: A change: its name, a function that makes it (returns None if it does not apply), and the
#: position of the model if only one is changed.
Change = tuple[str, Callable[["Pair"], "Pair | None"], int | None]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models and the inputs of each."""

    models: tuple[Model, Model]
    arrays: tuple[tuple[Any, ...], tuple[Any, ...]]


def operations(model: Model) -> int:
    """The number of operations of a model, those in bodies included, without constants."""
    return sum(not isinstance(node.op, Constant) for node in all_nodes(model.graph))


def shrunk(
    pair: Pair, accept: Callable[[Pair, Pair, str], Pair], seconds: float, *, free: bool = False
) -> Pair:
    """Shrink a pair; `accept` returns the new pair if it still differs, else the old one.

    No further change is tried after `seconds`. With `free`, a value that only one model has may be
    replaced by any value, because the two models read different values there anyway.
    """
    end = time.monotonic() + seconds
    tries = 0
    before = None
    while before is not pair:
        before = pair
        for changes in (_simpler, _settled, _alone, _smaller):
            place, todo = 0, list(changes(pair))
            while time.monotonic() < end and place < len(todo):
                found = todo[place]
                told("changes", tries, tries + len(todo) - place)
                tries += 1
                changed = _made(pair, found[1])
                if changed is not None and found[2] is not None and not free:
                    # A change of only one model must not itself cause a difference.
                    changed = changed if _same_outputs(pair, changed, found[2]) else None
                # The search must end, so the models must become simpler, and no value may lose its
                # counterpart.
                if changed is not None and (
                    complexity(changed) >= complexity(pair) or _unpaired(changed) > _unpaired(pair)
                ):
                    changed = None
                kept = pair if changed is None else accept(pair, changed, found[0])
                place += kept is pair
                if kept is not pair:
                    # The changes of the new pair have other positions; go on at the same position.
                    pair, todo = kept, list(changes(kept))
    told("changes", tries, tries)
    return pair


def _unpaired(pair: Pair) -> int:
    """The number of computed values of both models that have no counterpart in the other model."""
    pairs = Pairs(*pair.models)
    known = {*pairs.first_by_name.values(), *pairs.of_second}
    values = [value for model in pair.models for value in _computed(model)]
    return sum(value not in known and not value.producer.bodies for value in values)


def _same_outputs(old: Pair, new: Pair, side: int) -> bool:
    """True if a model returns the same outputs before and after a change."""
    found = []
    for pair in (old, new):
        try:
            session = Session(pair.models[side])
            found.append(list(session.run(pair.arrays[side], limits=limits_of(SECONDS)).values()))
        except IrloopError:
            return False
    return len(found[0]) == len(found[1]) and all(
        np.shape(left) == np.shape(right) and agree(left, right, Tolerance())
        for left, right in zip(*found, strict=True)
    )


def complexity(pair: Pair) -> tuple[int, int, int]:
    """The numbers of operations and parameters, and the sum of all sizes and trip counts."""
    work = parameters = sizes = 0
    for model in pair.models:
        work += operations(model)
        for graph in all_graphs(model.graph):
            parameters += len(graph.parameters)
        for node in all_nodes(model.graph):
            sizes += _constant_count(node) or 0
        for value in _values(model.graph):
            dims = value.type.shape.dims if isinstance(value.type, TensorType) else None
            sizes += sum(dim for dim in dims or () if isinstance(dim, int))
    return work, parameters, sizes


def _made(pair: Pair, change: Callable[[Pair], Pair | None]) -> Pair | None:
    """The changed pair without unread values; None if the change cannot be made."""
    try:
        copies = tuple(clone_model(model) for model in pair.models)
        changed = change(Pair((copies[0], copies[1]), pair.arrays))
        if changed is None:
            return None
        for model in changed.models:
            Manager([LIBRARY["dead_code"]()], validate=False).run_passes(model)
            Inference(tolerant=True).run(model.graph)
        return _without_unread_inputs(changed)
    except (IrloopError, ValueError, IndexError, KeyError):
        return None


def _without_unread_inputs(pair: Pair) -> Pair:
    """The pair without inputs that neither model reads."""
    graphs = [model.graph for model in pair.models]
    if len(graphs[0].parameters) != len(graphs[1].parameters):
        return pair
    unread = [
        at
        for at, nodes in enumerate(zip(graphs[0].parameters, graphs[1].parameters, strict=True))
        if not any(node.outputs[0].is_used for node in nodes)
    ]
    for graph in graphs:
        rewriter = Rewriter(graph)
        for node in [graph.parameters[at] for at in unread]:
            rewriter.erase_parameter(node)
    arrays = [
        tuple(item for at, item in enumerate(items) if at not in unread) for items in pair.arrays
    ]
    return Pair(pair.models, (arrays[0], arrays[1]))


def _simpler(pair: Pair) -> Iterator[Change]:
    """Every way to replace a value of both models by a simpler one, the last values first."""
    pairs = Pairs(*pair.models)
    twin = {value: pairs.first_by_name[name] for value, name in pairs.of_second.items()}
    numbers = [_numbered(model) for model in pair.models]
    for value in _computed(pair.models[1]):
        mine = twin.get(value)
        if mine is None or isinstance(mine.producer.op, Parameter):
            continue
        graph, at = value.producer.graph, (numbers[0][mine], numbers[1][value])
        name = value.producer.name
        yield f"{name} became a constant", _changed({0: (at[0], None), 1: (at[1], None)}), None
        parameters = () if graph is None else graph.inputs
        for source in dict.fromkeys((*value.producer.inputs, *parameters)):
            own = None if source is None else _operand(mine, source, twin)
            if source is None or own is None or own is mine:
                continue
            if source.type == value.type or (
                _element(source) == _element(value) and _is_only_returned(value)
            ):
                new = {0: (at[0], numbers[0][own]), 1: (at[1], numbers[1][source])}
                yield f"{name} became {source.name}", _changed(new), None


def _element(value: Value) -> ElementType | None:
    return value.type.element if isinstance(value.type, TensorType) else None


def _is_only_returned(value: Value) -> bool:
    """True when only results read a value, possibly in another shape."""
    return all(
        isinstance(node.op, Result)
        or (handed_on(node.outputs[0]) is value and _is_only_returned(node.outputs[0]))
        for node, _ in value.uses
    )


def _settled(pair: Pair) -> Iterator[Change]:
    """Every way to let a state of both models carry ones to the next iteration.

    Other readers of the value that the back edge carried then read the state itself.
    """
    pairs = Pairs(*pair.models)
    twin = {value: pairs.first_by_name[name] for value, name in pairs.of_second.items()}
    places = [{node: at for at, node in enumerate(all_nodes(model.graph))} for model in pair.models]
    for loops in pairs.loops():
        first, second = (node.bodies[0] for node in loops)
        for port in second.ports.carried:
            value = second.graph.inputs[port.parameter]
            mine = [
                item
                for item in first.ports.carried
                if first.graph.inputs[item.parameter] is twin.get(value)
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
    """A change that lets one state carry ones to the next iteration.

    For each model, `places` holds the positions of the loop, the parameter and the result.
    """

    def change(pair: Pair) -> Pair | None:
        for model, (loop, parameter, result) in zip(pair.models, places, strict=True):
            graph = next(islice(all_nodes(model.graph), loop, None)).bodies[0].graph
            node = graph.results[result]
            following, state = node.inputs[0], graph.inputs[parameter]
            rewriter = Rewriter(graph)
            ones = None if following is None else _ones(rewriter, following)
            if following is None or ones is None or following.type != state.type:
                return None
            rewriter.replace_value(following, state, keep_names=False)
            rewriter.set_input(node, 0, ones)
        return pair

    return change


def _operand(mine: Value, source: Value, twin: Mapping[Value, Value]) -> Value | None:
    """The value of the first model that takes the role of `source`.

    This is an operand of `mine` with the same elements or, if there is none, the counterpart of
    `source`. They may differ, because slices of an IR keep their axis until a Squeeze removes it,
    whereas slices of a Scan lack the axis.
    """
    own = twin.get(source) or twin.get(origin(source))
    operands = [item for item in mine.producer.inputs if item is not None]
    for item in operands:
        if own is not None and origin(item) is origin(own) and item.type == mine.type:
            return item
    return twin.get(source)


def _alone(pair: Pair) -> Iterator[Change]:
    """Every way to replace a value of one model only.

    Such a value has no counterpart, or only passes another value on.
    """
    pairs = Pairs(*pair.models)
    known = (set(pairs.first_by_name.values()), set(pairs.of_second))
    for side, model in enumerate(pair.models):
        numbers = _numbered(model)
        for value in _computed(model):
            at, handed = numbers[value], _passed_on(value)
            name = value.producer.name
            while handed is not None:
                yield f"{name} became {handed.name}", _changed({side: (at, numbers[handed])}), side
                handed = _passed_on(handed)
            if value in known[side]:
                continue
            yield f"{name} became a constant", _changed({side: (at, None)}), side
            for source in value.producer.inputs:
                if source is not None and source.type == value.type:
                    new = {side: (at, numbers[source])}
                    yield f"{name} became {source.name}", _changed(new), side


def _passed_on(value: Value) -> Value | None:
    """The operand that an operation passes on, or of which it takes a slice."""
    node = value.producer
    return node.inputs[0] if isinstance(node.op, _SLICES) else handed_on(value)


def _computed(model: Model) -> Iterator[Value]:
    """The values that operations compute, outer graphs first, the last values first.

    Of operations with several outputs, only those of loops and branches are included.
    """
    for graph in all_graphs(model.graph):
        for node in reversed(graph):
            if (node.bodies or len(node.outputs) == 1) and not isinstance(node.op, Constant):
                yield from node.outputs


def _values(graph: Graph) -> Iterator[Value]:
    for inner in all_graphs(graph):
        yield from inner.inputs
        for node in inner.nodes:
            yield from node.outputs


def _numbered(model: Model) -> dict[Value, int]:
    return {value: at for at, value in enumerate(_values(model.graph))}


def _changed(values: Mapping[int, tuple[int, int | None]]) -> Callable[[Pair], Pair | None]:
    """A change that replaces a value of each model by another value of the same graph, or by ones
    (None).
    """

    def change(pair: Pair) -> Pair | None:
        for side, (at, new) in values.items():
            known = list(_values(pair.models[side].graph))
            old, graph = known[at], known[at].producer.graph
            if graph is None:
                return None
            if new is not None and known[new].producer.graph is not graph:
                return None
            rewriter = Rewriter(graph)
            source = _ones(rewriter, old) if new is None else known[new]
            if source is None:
                return None
            rewriter.replace_value(old, source, keep_names=new is None)
        return pair

    return change


def _ones(rewriter: Rewriter, value: Value) -> Value | None:
    """A constant of ones (or True) that replaces a value; None if the value's type is unknown."""
    type = value.type
    dims = type.shape.static() if isinstance(type, TensorType) else None
    if dims is None or not isinstance(type, TensorType):
        return None
    is_float = type.element.is_float and type.element.bits >= 16
    if not is_float and type.element is not ElementType.BOOLEAN:
        return None
    ones = ArrayTensor(np.ones(dims, type.element.numpy()), type.element)
    name = f"{value.producer.name}_ones"
    before = None if isinstance(value.producer.op, Parameter) else value.producer
    return rewriter.insert_constant(ones, before=before, name=name)


def _smaller(pair: Pair) -> Iterator[Change]:
    """Every way to make a size smaller in both models, and to lower a constant trip count."""
    for size in sorted(_sizes(pair.models), reverse=True):
        for new in range(1, min(size, SMALLEST + 1)):
            yield f"size {size} became {new}", _resized(size, new), None
            yield f"size and trip count {size} became {new}", _recounted(size, new), None
    pairs = Pairs(*pair.models)
    for first, second in pairs.loops():
        counts = [_constant_count(node) for node in (first, second)]
        if counts[0] is None or counts[0] != counts[1]:
            continue
        names = first.name, second.name
        for new in range(min(counts[0], SMALLEST)):
            yield f"trip count {new}", _with_count(names, new), None


def _sizes(models: tuple[Model, Model]) -> set[int]:
    found: set[int] = set()
    for model in models:
        for value in _values(model.graph):
            dims = value.type.shape.dims if isinstance(value.type, TensorType) else None
            found |= {dim for dim in dims or () if isinstance(dim, int) and dim > 1}
    return found


def _resized(size: int, new: int) -> Callable[[Pair], Pair | None]:
    """A change that cuts every axis of one size to its first elements, in inputs, constants and
    declared types.
    """

    def change(pair: Pair) -> Pair | None:
        for model in pair.models:
            for graph in all_graphs(model.graph):
                rewriter = Rewriter(graph)
                for node in graph.nodes:
                    if isinstance(node.op, Constant) and size in node.op.tensor.shape:
                        tensor = ArrayTensor(_cut(node.op.tensor.numpy(), size, new))
                        rewriter.replace_op(node, Constant(tensor))
            for value in _values(model.graph):
                value.type = _smaller_type(value.type, size, new)
        arrays = [tuple(_cut(item, size, new) for item in items) for items in pair.arrays]
        return Pair(pair.models, (arrays[0], arrays[1]))

    return change


def _recounted(size: int, new: int) -> Callable[[Pair], Pair | None]:
    """Like `_resized`; also lowers every constant trip count that equals `size` to `new`."""

    def change(pair: Pair) -> Pair | None:
        names = [
            [node.name for node in all_nodes(model.graph) if _constant_count(node) == size]
            for model in pair.models
        ]
        if not any(names):
            return None
        for model, known in zip(pair.models, names, strict=True):
            for name in known:
                _set_count(model, name, new)
        return _resized(size, new)(pair)

    return change


def _cut(array: Any, size: int, new: int) -> Any:
    if not isinstance(array, np.ndarray) or size not in array.shape:
        return array
    return array[tuple(slice(new) if dim == size else slice(None) for dim in array.shape)]


def _smaller_type(type: ValueType, size: int, new: int) -> ValueType:
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return type
    dims = tuple(new if dim == size else dim for dim in type.shape.dims)
    return replace(type, shape=Shape(dims))


def _constant_count(node: Node) -> int | None:
    """The constant trip count of a Loop, if it is more than one."""
    value = node.inputs[0] if isinstance(node.op, onnx.Loop | ov.Loop) and node.inputs else None
    if value is None or not isinstance(value.producer.op, Constant):
        return None
    array = value.producer.op.tensor.numpy()
    count = int(array.reshape(-1)[0]) if array.size == 1 else 0
    return count if count > 0 else None


def _with_count(names: tuple[str, str], count: int) -> Callable[[Pair], Pair | None]:
    def change(pair: Pair) -> Pair | None:
        for model, name in zip(pair.models, names, strict=True):
            if not _set_count(model, name, count):
                return None
        return pair

    return change


def _set_count(model: Model, name: str, count: int) -> bool:
    """Give a loop another constant trip count; return False if its trip count is not constant."""
    node = next(item for item in all_nodes(model.graph) if item.name == name and item.bodies)
    value = node.inputs[0]
    if value is None or not isinstance(value.producer.op, Constant) or node.graph is None:
        return False
    old = value.producer.op.tensor
    tensor = ArrayTensor(np.full(old.shape, count, old.element.numpy()), old.element)
    rewriter = Rewriter(node.graph)
    constant = rewriter.insert_constant(tensor, before=node, name=value.producer.name)
    rewriter.set_input(node, 0, constant)
    return True
