"""Keeps the names of dynamic dimensions of inputs in an IR, which has no place of its own for them.

Two dimensions with one name have one size: what is written back from the IR needs to know this.
OpenVINO does not read this part of the information about a model (rt_info), but keeps it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from irloop.formats.openvino.document import Extra
from irloop.formats.openvino.markup import extras_of, text_of_extras
from irloop.graph.builder import shape_of
from irloop.graph.model import Graph, Node
from irloop.graph.types import UNKNOWN_DIM, DynamicDim, Shape, TensorType, ValueType

__all__ = ["declared_names", "named_sizes", "size_names", "with_size_names"]

#: The section of an IR, and the element in it.
SECTION, ELEMENT = "rt_info", "size_names"

#: The names of dynamic dimensions, by `_place`.
SizeNames = Mapping[str, str]


def _place(node: Node, axis: int) -> str:
    return f"{node.name}/{axis}"


def declared_names(graph: Graph) -> dict[str, str]:
    """The names that inputs of a graph declare for their dimensions, by place."""
    return {
        _place(node, axis): dim.symbol
        for node in graph.parameters
        for axis, dim in enumerate(shape_of(node.outputs[0]).dims or ())
        if isinstance(dim, DynamicDim) and dim.symbol
    }


def named_sizes(graph: Graph) -> dict[str, Any]:
    """The metadata that keeps the names of the dynamic dimensions of an OpenVINO graph.

    It is empty if no two dimensions have one name.
    """
    names = declared_names(graph)
    if len(Counter(names.values())) == len(names):
        return {}
    # OpenVINO keeps elements of this form when it writes the model again.
    sizes = [Extra("info", {"name": place, "value": symbol}, 0) for place, symbol in names.items()]
    kept = Extra(SECTION, {}, 0, children=[Extra(ELEMENT, {}, 0, children=sizes)])
    return {SECTION: text_of_extras([kept])}


def size_names(metadata: Mapping[str, Any]) -> SizeNames:
    """The names that `named_sizes` has written into the metadata of an OpenVINO model."""
    sections = extras_of(str(metadata.get(SECTION, "")))
    kept = [item for section in sections for item in section.children if item.tag == ELEMENT]
    found = [size.attributes for item in kept for size in item.children]
    return {size.get("name", ""): size.get("value", "") for size in found}


def with_size_names(node: Node, prefix: str, names: SizeNames, taken: frozenset[str]) -> ValueType:
    """The type of an input with a name for each dimension of which nothing is known.

    Inference compares sizes by their names. A dimension that has no name gets one that begins with
    `prefix` and is not one of the names `taken`, those of the whole model.
    """
    type = node.outputs[0].type
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return type
    dims = [
        replace(UNKNOWN_DIM, symbol=names.get(_place(node, axis)) or None)
        if dim == UNKNOWN_DIM
        else dim
        for axis, dim in enumerate(type.shape.dims)
    ]
    while any(f"{prefix}_{axis}" in taken for axis in range(len(dims))):
        prefix += "_"
    return TensorType(type.element, Shape(tuple(dims)).with_names(prefix))
