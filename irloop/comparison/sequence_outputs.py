"""Compares a model that returns sequences with one that returns their items as tensors.

So does an IR that was made of an ONNX model: IR has no sequences.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
    items = {
        result.name: () if result.name in sequences else _items(result, tensors)
        for result in model.graph.results
    }
    if not any(items.values()):
        return side
    rewriter = Rewriter(model.graph)
    # All outputs are added anew, which keeps their order.
    for result in list(model.graph.results):
        (value,) = result.inputs
        assert value is not None, "a result has a value"
        rewriter.erase_result(result)
        for at, name in enumerate(items[result.name]):
            place = rewriter.insert_constant(at, before=None, name=f"{name}/place")
            item = rewriter.insert(SequenceAt(), (value, place), before=None, name=f"{name}/item")
            model.graph.add_result(item.output, name)
        if not items[result.name]:
            model.graph.add_result(value, result.name)
    Inference(tolerant=True).run(model.graph)
    return replace(side, model=model, file=None)


def _is_sequence(result: Node) -> bool:
    value = result.inputs[0]
    return value is not None and isinstance(value.type, SequenceType)


def _items(result: Node, tensors: Collection[str]) -> Sequence[str]:
    """The `tensors` that are the items of a sequence, if they are all of them; else none.

    There are none if inference does not know the length of the sequence.
    """
    (value,) = result.inputs
    names = list(takewhile(tensors.__contains__, (f"{result.name}_{at}" for at in count())))
    if value is None or not isinstance(value.type, SequenceType):
        return ()
    return names if value.type.length == len(names) else ()
