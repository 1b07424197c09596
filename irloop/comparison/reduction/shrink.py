"""Simplifies two models in the same way, step by step, as long as they still differ.

Every change is made to corresponding parts of both models, so that no new difference arises. It is
kept only if the two still differ for the same cause. A change replaces a value by an operand of its
operation, by a body parameter, by a constant of ones or by another value plus one; replaces an If
by one of its branches; makes a size smaller wherever it occurs; or lowers a constant trip count.
Values that nothing reads any more are removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irloop.comparison.agreement import agree
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import Pairs
from irloop.comparison.reduction.changes import (
    Change,
    Pair,
    complexity,
    computed,
    constant_count,
    values_of,
)
from irloop.comparison.reduction.cutting import drop_dead
from irloop.comparison.reduction.shortcuts import inlined, stepped
from irloop.comparison.reduction.substitutes import alone, settled, simpler
from irloop.comparison.runs import limits_of
from irloop.errors import InferenceError, IrloopError
from irloop.execution.session import Session
from irloop.graph.clone import clone_model
from irloop.graph.inference import Inference
from irloop.graph.model import Model
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import Shape, TensorType, ValueType
from irloop.graph.walk import all_graphs, all_nodes
from irloop.passes.common import LIBRARY
from irloop.passes.manager import Manager
from irloop.progress import told

__all__ = ["shrunk"]

#: The time limit in seconds of one run of a model.
SECONDS = 10.0

#: Sizes of an axis are tried from 1 up to this, trip counts from 0 up to one less than this.
SMALLEST = 4


def shrunk(
    pair: Pair,
    accept: Callable[[Pair, Pair, str], Pair],
    seconds: float,
    *,
    free: bool = False,
    keeps_ports: bool = False,
) -> Pair:
    """Simplify a pair of models step by step, and return the last pair that still differs.

    Args:
        pair: two models with different outputs, and the inputs of both.
        accept: called with the old pair, the new pair and a description of the change; returns the
            new pair if its models still differ, else the old pair.
        seconds: no further change is tried after this time.
        free: allow a change of only one model to change the outputs of that model. This is for
            models that differ because they read different values.
        keeps_ports: keep body inputs and outputs that nothing reads. This is for models that cannot
            be run, because such an input or output may be the cause.
    """
    end = time.monotonic() + seconds
    tries = 0
    # A faulty model may contradict itself, but changes must not add a contradiction: the reduced
    # models are written into files.
    most = [len(_contradictions(model)) for model in pair.models]
    before = None
    while before is not pair:
        before = pair
        for changes in (simpler, settled, alone, inlined, _smaller, stepped):
            place, todo = 0, list(changes(pair))
            while time.monotonic() < end and place < len(todo):
                change = todo[place]
                told("changes", tries, tries + len(todo) - place)
                tries += 1
                changed = _applied(pair, change[1], most, keeps_ports=keeps_ports)
                if changed is not None and change[2] is not None and not free:
                    # A change of only one model must not itself cause a difference.
                    changed = changed if _same_outputs(pair, changed, change[2]) else None
                if changed is not None and not _is_simpler(changed, pair):
                    changed = None
                kept = pair if changed is None else accept(pair, changed, change[0])
                place += kept is pair
                if kept is not pair:
                    # The new pair has other changes: list them again, and go on at the same
                    # position in the new list.
                    pair, todo = kept, list(changes(kept))
    told("changes", tries, tries)
    return pair


def _is_simpler(new: Pair, old: Pair) -> bool:
    """Return whether `new` is less complex than `old` and still pairs nearly as many values.

    Each removed operation may leave at most one value without a counterpart in the other model. The
    search for a simpler pair ends, because each step must reduce the complexity.
    """
    after, before = complexity(new), complexity(old)
    lost = _unpaired(new) - _unpaired(old)
    return after < before and lost <= before[0] - after[0]


def _unpaired(pair: Pair) -> int:
    """The number of values that have no counterpart in the other model, summed over both models.

    Outputs of nodes with bodies are not counted.
    """
    pairs = Pairs(*pair.models)
    known = {*pairs.first_by_name.values(), *pairs.of_second}
    values = [value for model in pair.models for value in computed(model)]
    return sum(value not in known and not value.producer.bodies for value in values)


def _same_outputs(old: Pair, new: Pair, side: int) -> bool:
    """Return whether a change keeps the outputs of model number `side` of a pair.

    The result is also true if the model fails before and after the change.
    """
    outputs: list[list[Any]] = []
    failures = 0
    for pair in (old, new):
        try:
            session = Session(pair.models[side])
            outputs.append(list(session.run(pair.arrays[side], limits=limits_of(SECONDS)).values()))
        except IrloopError:
            failures += 1
    if failures:
        return failures == 2
    return len(outputs[0]) == len(outputs[1]) and all(
        np.shape(left) == np.shape(right) and agree(left, right, Tolerance())
        for left, right in zip(*outputs, strict=True)
    )


def _contradictions(model: Model) -> list[InferenceError]:
    """Infer the types of a model; return the errors of operations that contradict themselves."""
    inference = Inference(tolerant=True)
    inference.run(model.graph)
    return inference.errors


def _applied(
    pair: Pair,
    change: Callable[[Pair], Pair | None],
    most: Sequence[int],
    *,
    keeps_ports: bool,
) -> Pair | None:
    """Apply `change` to a copy of `pair`, and then remove the dead code from both models.

    Returns None if `change` returns None or fails, or if a changed model has too many operations
    that type inference finds contradictory. `most` holds the permitted number of these for each
    model. With `keeps_ports`, loops keep inputs and outputs that nothing reads.
    """
    try:
        copies = tuple(clone_model(model) for model in pair.models)
        changed = change(Pair((copies[0], copies[1]), pair.arrays))
        if changed is None:
            return None
        for model, allowed in zip(changed.models, most, strict=True):
            if keeps_ports:
                _drop_unread(model)
            else:
                Manager([LIBRARY["dead_code"]()], validate=False).run_passes(model)
            if len(_contradictions(model)) > allowed:
                return None
        return _without_unread_inputs(changed)
    except (IrloopError, ValueError, IndexError, KeyError):
        return None


def _drop_unread(model: Model) -> None:
    """Erase each node whose outputs all have no readers, in the model's graph and in all bodies.

    An outer graph comes before the bodies of its nodes, so an unread loop is erased as a whole.
    """
    for graph in all_graphs(model.graph):
        drop_dead(graph, Rewriter(graph))


def _without_unread_inputs(pair: Pair) -> Pair:
    """Remove the inputs that are read in neither of the two models, and their arrays."""
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


def _smaller(pair: Pair) -> Iterator[Change]:
    """Yield all changes that make one size smaller, or lower one constant trip count.

    Each change applies to both models.
    """
    for size in sorted(_sizes(pair.models), reverse=True):
        for new in range(1, min(size, SMALLEST + 1)):
            yield f"size {size} became {new}", _resized(size, new), None
            yield f"size and trip count {size} became {new}", _recounted(size, new), None
    pairs = Pairs(*pair.models)
    for first, second in pairs.loops():
        counts = [constant_count(node) for node in (first, second)]
        if counts[0] is None or counts[0] != counts[1]:
            continue
        names = first.name, second.name
        for new in range(min(counts[0], SMALLEST)):
            yield f"trip count {new}", _with_count(names, new), None


def _sizes(models: tuple[Model, Model]) -> set[int]:
    sizes: set[int] = set()
    for model in models:
        for value in values_of(model.graph):
            dims = value.type.shape.dims if isinstance(value.type, TensorType) else None
            sizes |= {dim for dim in dims or () if isinstance(dim, int) and dim > 1}
    return sizes


def _resized(size: int, new: int) -> Callable[[Pair], Pair | None]:
    """Make a change that cuts each axis of `size` elements to its first `new` elements.

    The change applies to the inputs, the constants and the declared types of both models.
    """

    def change(pair: Pair) -> Pair | None:
        for model in pair.models:
            for graph in all_graphs(model.graph):
                rewriter = Rewriter(graph)
                for node in graph.nodes:
                    if isinstance(node.op, Constant) and size in node.op.tensor.shape:
                        tensor = ArrayTensor(_cut(node.op.tensor.numpy(), size, new))
                        rewriter.replace_op(node, Constant(tensor))
            for value in values_of(model.graph):
                value.type = _smaller_type(value.type, size, new)
        arrays = [tuple(_cut(item, size, new) for item in items) for items in pair.arrays]
        return Pair(pair.models, (arrays[0], arrays[1]))

    return change


def _recounted(size: int, new: int) -> Callable[[Pair], Pair | None]:
    """Make a change that lowers constant trip counts and axis lengths from `size` to `new`.

    The axes are cut as by `_resized`. The change returns None if no loop has the constant trip
    count `size`.
    """

    def change(pair: Pair) -> Pair | None:
        names = [
            [node.name for node in all_nodes(model.graph) if constant_count(node) == size]
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


def _with_count(names: tuple[str, str], count: int) -> Callable[[Pair], Pair | None]:
    def change(pair: Pair) -> Pair | None:
        for model, name in zip(pair.models, names, strict=True):
            if not _set_count(model, name, count):
                return None
        return pair

    return change


def _set_count(model: Model, name: str, count: int) -> bool:
    """Set the constant trip count of the loop called `name` to `count`.

    Returns False, and changes nothing, if the trip count is not constant.
    """
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
