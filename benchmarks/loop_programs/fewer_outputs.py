"""Copies of models with fewer outputs, and without the inputs that these do not need.

Removing an output of a model must not change the other outputs, nor must removing an input that
nothing reads: this finds passes and conversions that take a fact about a loop, such as its trip
count, from a wire that they remove.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from irloop.graph.clone import clone_model
from irloop.graph.model import Graph, Model
from irloop.graph.rewriter import Rewriter
from irloop.passes.match_rewriter import is_unread

__all__ = ["choices", "with_outputs"]


def choices(count: int) -> Iterator[frozenset[int]]:
    """The sets of outputs to keep: each alone, and all but one; of one output, just this."""
    every = frozenset(range(count))
    kept = [*({at} for at in every), *(every - {at} for at in every)]
    yield from dict.fromkeys(frozenset(item) for item in kept if item)


def with_outputs(
    model: Model, kept: Collection[int], *, prune: bool = True
) -> tuple[Model, list[int]]:
    """Copy a model with only the outputs at the positions `kept`.

    Also return the positions of the inputs that the copy has. With `prune` it has only those that
    its outputs need, and no node of its main graph is unread.
    """
    copy = clone_model(model)
    graph = copy.graph
    rewriter = Rewriter(graph)
    for at, result in reversed(list(enumerate(graph.results))):
        if at not in kept:
            rewriter.erase_result(result)
    if not prune:
        return copy, list(range(len(graph.parameters)))
    return copy, _pruned(graph, rewriter)


def _pruned(graph: Graph, rewriter: Rewriter) -> list[int]:
    for node in reversed(graph):
        if is_unread(node):
            rewriter.erase(node)
    parameters = list(enumerate(graph.parameters))
    for _, parameter in reversed(parameters):
        if not parameter.output.is_used:
            rewriter.erase_parameter(parameter)
    left = set(graph.parameters)
    return [at for at, parameter in parameters if parameter in left]
