"""Expands the functions of a model and, on request, those of the standard."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import onnx

from irloop.errors import ReadError
from irloop.formats.onnx import apart
from irloop.formats.onnx.decoded import DecodedNode, decode
from irloop.formats.onnx.local_functions import all_nodes, expand_local_functions
from irloop.formats.onnx.sequence_map import expand_sequence_maps, is_map
from irloop.formats.onnx.versions import domain_of, schema_of

__all__ = ["expand_functions", "inline", "is_function"]

#: Maximum nesting depth of functions of the standard that consist of other functions.
DEPTH_LIMIT = 8

#: An operation with optional bodies that the standard defines as a function. It must be expanded,
#: because only the expansion contains the bodies.
_FLEXIBLE = ("FlexAttention", "ai.onnx.preview")


def inline(
    model: onnx.ModelProto, opsets: dict[str, int], decoded: Sequence[DecodedNode] | None = None
) -> onnx.ModelProto:
    """Expand the model's own functions, SequenceMap and FlexAttention.

    A FlexAttention that cannot be expanded, for example because its inputs have no types, is kept.
    `decoded` are the nodes of the model's graph, if they are decoded already. If there is nothing
    to expand, the result is `model` itself.

    Raises:
        ReadError: for functions that call themselves or cannot be expanded.
    """
    if model.functions:
        model = expand_local_functions(model)
        decoded = None
    kinds = _kinds(decode(model.graph) if decoded is None else decoded)
    if any(is_map(*kind) for kind in kinds):
        model = expand_sequence_maps(model, opsets.get("", 1))
    if _FLEXIBLE in kinds:
        with contextlib.suppress(ReadError):
            model = expand_functions(model, opsets, lambda *function: function == _FLEXIBLE)
    return model


def _kinds(nodes: Iterable[DecodedNode]) -> set[tuple[str, str]]:
    """The types and domains of nodes and of the nodes in their bodies."""
    kinds = set()
    for node in nodes:
        kinds.add((node.type, node.domain))
        if node.attributes:
            kinds |= {(each.op_type, each.domain) for each in all_nodes([node.proto])}
    return kinds


def expand_functions(
    model: onnx.ModelProto, opsets: dict[str, int], should_expand: Callable[[str, str], bool]
) -> onnx.ModelProto:
    """Expand operations that the ONNX standard defines as functions.

    `should_expand` decides by type and domain which of them are expanded, including those that an
    expansion creates.

    Raises:
        ReadError: when onnx cannot expand them.
    """
    for _ in range(DEPTH_LIMIT):
        wanted = {
            (domain_of(node.domain), node.op_type)
            for node in all_nodes(model.graph.node)
            if _is_function(node, opsets) and should_expand(node.op_type, domain_of(node.domain))
        }
        if not wanted:
            break
        _require_types(model.graph)
        untyped = _untyped(model.graph)
        if untyped:
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            copy.graph.value_info.extend(untyped)
            model = copy
        try:
            encoded = apart.inline(model.SerializeToString(), sorted(wanted))
        except (apart.ApartError, OSError) as error:
            raise ReadError(
                f"{', '.join(name for _, name in sorted(wanted))} cannot be expanded",
                found=str(error).strip()[:500],
            ) from None
        model = onnx.ModelProto.FromString(encoded)
        names = {item.name for item in untyped}
        for info in [item for item in model.graph.value_info if item.name in names]:
            model.graph.value_info.remove(info)
    return model


def _untyped(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Types that the inliner needs and does not find: of omitted inputs and of initializers.

    The name of an omitted input is empty.
    """
    typed = {item.name for item in (*graph.input, *graph.value_info)}
    untyped = [
        onnx.helper.make_tensor_value_info(item.name, item.data_type, item.dims)
        for item in graph.initializer
        if item.name not in typed
    ]
    if any("" in node.input for node in all_nodes(graph.node)):
        untyped.append(onnx.helper.make_tensor_value_info("", onnx.TensorProto.FLOAT, None))
    return untyped


def _require_types(graph: onnx.GraphProto) -> None:
    """Refuse inputs without a type, because inference in the inliner would crash."""
    for entry in graph.input:
        if entry.type.WhichOneof("value") is None:
            raise ReadError(
                f"functions cannot be expanded: input {entry.name!r} has no type",
                fix="give every input of the model its element type",
            )


def is_function(type: str, opset: int, domain: str) -> bool:
    """Return whether the standard defines this operation by a function in this opset."""
    schema: Any = schema_of(type, opset, domain)
    if schema is None:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


def _is_function(node: onnx.NodeProto, opsets: dict[str, int]) -> bool:
    domain = domain_of(node.domain)
    return domain in opsets and is_function(node.op_type, opsets[domain], domain)
