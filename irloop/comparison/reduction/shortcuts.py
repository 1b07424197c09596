"""Shortens the computation of corresponding values of two models.

There are two kinds of changes: one computes a value from an earlier value by a single addition or
Reshape, the other replaces an If by one of its branches. Each change is made at corresponding
places in both models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from irloop.comparison.pairing import Pairs
from irloop.comparison.reduction.changes import Change, Pair, numbered, values_of
from irloop.comparison.reduction.substitutes import with_sources
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx import elementwise as onnx_elementwise
from irloop.dialects.onnx import shape as onnx_shape
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import elementwise as ov_elementwise
from irloop.dialects.openvino import shape as ov_shape
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import all_nodes
from irloop.passes.common import LIBRARY
from irloop.passes.manager import Manager

__all__ = ["inlined", "reshaped", "stepped"]

_IFS = (onnx.If, ov.If)

#: The number that a copied node gets if its name is taken.
_NUMBER = re.compile(r"_\d+$")


def inlined(pair: Pair) -> Iterator[Change]:
    """Yield changes that replace an If of both models by one of its branches (then or else)."""
    places = [{node: at for at, node in enumerate(all_nodes(model.graph))} for model in pair.models]
    for first, second in Pairs(*pair.models).loops():
        if not isinstance(first.op, _IFS) or not isinstance(second.op, _IFS):
            continue
        numbers = places[0][first], places[1][second]
        for branch in ("then", "else"):
            yield f"{second.name} became its {branch}", _branch(numbers, branch == "then"), None


def _branch(places: tuple[int, int], taken: bool) -> Callable[[Pair], Pair | None]:
    def change(pair: Pair) -> Pair | None:
        for model, place in zip(pair.models, places, strict=True):
            node = next(islice(all_nodes(model.graph), place, None))
            graph = node.graph
            if graph is None:
                return None
            rewriter = Rewriter(graph)
            inside = {item.name for body in node.bodies for item in body.graph.nodes}
            known = set(graph.nodes)
            tensor = ArrayTensor(np.array(taken), ElementType.BOOLEAN)
            name = f"{node.name}_taken"
            rewriter.set_input(node, 0, rewriter.insert_constant(tensor, before=node, name=name))
            Manager([LIBRARY["inline_constant_if"]()], validate=False).run_passes(model)
            # The copies have numbered names, because the nodes of the branch still had theirs when
            # they were copied. Give the original names back.
            names = {item.name for item in all_nodes(model.graph)}
            for added in [item for item in graph.nodes if item not in known]:
                name = _NUMBER.sub("", added.name)
                if name in inside - names:
                    names.add(name)
                    rewriter.rename(added, name)
        return pair

    return change


def stepped(pair: Pair) -> Iterator[Change]:
    """Yield each change that computes a value as a source plus 1, or as a Reshape of a source.

    A source is an operand of the operation that computes the value, or a parameter of its graph.
    The change is made in both models. It adds 1 if the source has the type of the value; otherwise
    it reshapes the source. An addition is better than a copy: a state still changes from iteration
    to iteration when the original computation of its next value is gone.
    """
    numbers = [numbered(model) for model in pair.models]
    for mine, value, sources in with_sources(pair):
        for own, source in sources:
            adds = source.type == value.type and own.type == mine.type
            if adds or (_same_count(source, value) and _same_count(own, mine)):
                new = [(numbers[0][mine], numbers[0][own]), (numbers[1][value], numbers[1][source])]
                yield f"{value.name} is computed from {source.name}", _computed(new, adds), None


def _same_count(source: Value, value: Value) -> bool:
    """Return whether a Reshape of `source` can have the type of `value`.

    The element types and numbers of elements must be equal, and the shapes static.
    """
    types = source.type, value.type
    if not isinstance(types[0], TensorType) or not isinstance(types[1], TensorType):
        return False
    dims = [type.shape.static() for type in types if isinstance(type, TensorType)]
    if dims[0] is None or dims[1] is None or types[0].element is not types[1].element:
        return False
    return int(np.prod(dims[0])) == int(np.prod(dims[1]))


def _computed(values: Sequence[tuple[int, int]], adds: bool) -> Callable[[Pair], Pair | None]:
    """Return a change that computes a value directly from an earlier value.

    The change is made in both models of a pair. `values` holds, for each model, the number of the
    replaced value and that of the earlier value. The new value is the earlier value plus 1 if
    `adds` is true, else the earlier value in the shape of the replaced value. The change returns
    None if it cannot be made.
    """

    def change(pair: Pair) -> Pair | None:
        for model, (at, source_at) in zip(pair.models, values, strict=True):
            known = list(values_of(model.graph))
            old, source = known[at], known[source_at]
            graph = old.producer.graph
            if graph is None or source.producer.graph is not graph:
                return None
            rewriter, new = Rewriter(graph), None
            dims = old.type.shape.static() if isinstance(old.type, TensorType) else None
            before, name = old.producer, old.producer.name
            if adds:
                new = _plus_one(model, rewriter, source, old)
            elif dims is not None:
                new = reshaped(model, rewriter, source, dims, before=before, name=name)
            if new is None:
                return None
            rewriter.replace_value(old, new)
        return pair

    return change


def _plus_one(model: Model, rewriter: Rewriter, source: Value, old: Value) -> Value | None:
    """Insert an Add that computes `source` + 1, and return its output.

    The Add is inserted before the operation that computes `old`. Returns None, and inserts nothing,
    if `source` is not a float tensor of at least 16 bits.
    """
    type, before = source.type, old.producer
    if not isinstance(type, TensorType) or not type.element.is_float or type.element.bits < 16:
        return None
    tensor = ArrayTensor(np.ones((), type.element.numpy()), type.element)
    name = before.name
    one = rewriter.insert_constant(tensor, before=before, name=f"{name}_one")
    op: Op = onnx_elementwise.Add() if model.dialect == "onnx" else ov_elementwise.Add()
    return rewriter.insert(op, (source, one), before=before, name=name, types=(type,)).output


def reshaped(
    model: Model,
    rewriter: Rewriter,
    source: Value,
    dims: Sequence[int],
    *,
    before: Node | None,
    name: str,
) -> Value:
    """Insert a Reshape of `source` to `dims` before the node `before`; return its output."""
    opset = model.opsets.get("", 0)
    if model.dialect == "onnx" and opset < 5:
        op: Op = onnx_shape.Reshape1(tuple(dims))
        return rewriter.insert(op, (source,), before=before, name=name).output
    op = ov_shape.Reshape()
    if model.dialect == "onnx":
        op = onnx_shape.Reshape14() if opset >= 14 else onnx_shape.Reshape()
    tensor = ArrayTensor(np.array(dims, np.int64), ElementType.I64)
    shape = rewriter.insert_constant(tensor, before=before, name=f"{name}_shape")
    return rewriter.insert(op, (source, shape), before=before, name=name).output
