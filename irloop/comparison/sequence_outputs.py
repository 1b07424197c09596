"""Compares a model that returns sequences with one that returns their items as tensors.

So does an IR that was made of an ONNX model: IR has no sequences.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import count, takewhile

from irloop.comparison.lanes import Side
from irloop.dialects.onnx.sequence import SequenceAt
from irloop.graph.clone import clone_model
from irloop.graph.inference import Inference
from irloop.graph.model import Node
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import SequenceType

__all__ = ["with_tensors"]


def with_tensors(sides: tuple[Side, Side]) -> tuple[Side, Side]:
    """Let a model return tensors in place of each sequence that the other has as tensors.

    These are the outputs ``y_0``, ``y_1``, ... of the other model, the items of a sequence ``y``.
    Engines get the changed model.
    """
    first, second = sides
    return _split(first, second), _split(second, first)


def _split(side: Side, other: Side) -> Side:
    if not any(map(_is_sequence, side.model.graph.results)):
        return side
    tensors, sequences = set[str](), set[str]()
    for node in other.model.graph.results:
        (sequences if _is_sequence(node) else tensors).add(node.name)
    model = clone_model(side.model)
    # A file does not declare the lengths of sequences.
    Inference(tolerant=True).run(model.graph)
    rewriter, changed = Rewriter(model.graph), False
    # Each output is moved to the end in turn, which keeps their order.
    for result in list(model.graph.results):
        kept = not _is_sequence(result) or result.name in sequences
        if not kept and _replace(rewriter, result, tensors):
            changed = True
        else:
            model.graph.results.remove(result)
            model.graph.results.append(result)
    if not changed:
        return side
    Inference(tolerant=True).run(model.graph)
    return replace(side, model=model, file=None)


def _is_sequence(result: Node) -> bool:
    value = result.inputs[0]
    return value is not None and isinstance(value.type, SequenceType)


def _replace(rewriter: Rewriter, result: Node, tensors: Collection[str]) -> bool:
    """Replace a sequence by the `tensors` that are its items; return whether they are all of them.

    A sequence whose length inference does not know is not replaced.
    """
    name, sequence = result.name, result.inputs[0]
    items = list(takewhile(tensors.__contains__, (f"{name}_{at}" for at in count())))
    if sequence is None or not isinstance(sequence.type, SequenceType):
        return False
    if not items or sequence.type.length != len(items):
        return False
    rewriter.erase_result(result)
    graph = rewriter.graph
    for at, tensor in enumerate(items):
        place = rewriter.insert_constant(at, before=None, name=f"{tensor}/place")
        made = rewriter.insert(SequenceAt(), (sequence, place), before=None, name=f"{tensor}/item")
        graph.add_result(made.output, tensor)
    return True
