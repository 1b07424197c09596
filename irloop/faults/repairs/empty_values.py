"""Folds values without elements, because OpenVINO's CPU plugin fails to compute some of them."""

from __future__ import annotations

import math
import sys

import numpy as np

from irloop.faults.repair import Repair
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType
from irloop.graph.walk import all_graphs
from irloop.passes.base import ModelPass

__all__ = ["FoldEmptyValues"]


class FoldEmptyValues(Repair, ModelPass):
    """Replaces values that are known to be empty by constants.

    Given::

        n [0] = ShapeOf(x [])    y [2, 0] = Broadcast(n, [2, 1])

    Result::

        n [0] = Const            y [2, 0] = Const

    Brackets after a name hold the shape of the value. Among other failures, this pass avoids fault
    OVN122: OpenVINO fails to compute some Broadcasts whose result has no elements.
    """

    name = "fold_empty_values"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        modified = False
        for graph in all_graphs(model.graph):
            rewriter = Rewriter(graph)
            for node in graph.nodes:
                if not isinstance(node.op, Constant) and node.op.pure:
                    for value in node.outputs:
                        _fold(value, rewriter)
            modified |= rewriter.modified
        return modified


def _fold(value: Value, rewriter: Rewriter) -> None:
    dims, element = shape_of(value).static(), element_of(value)
    if dims is None or 0 not in dims or not value.is_used:
        return
    if element in (ElementType.DYNAMIC, ElementType.STRING) or element.bits < 8:
        return
    if math.prod(max(dim, 1) for dim in dims) * (element.bits // 8) > sys.maxsize:
        # NumPy cannot create an array of such sizes, even without elements.
        return
    node = value.producer
    tensor = ArrayTensor(np.zeros(dims, element.numpy()), element)
    made = rewriter.insert_constant(tensor, before=node, name=f"{node.name}/empty")
    rewriter.replace_value(value, made)
