"""Functions are written out: those of the model, and those of the standard on request."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import onnx
import onnx.inliner

from irloop.errors import ReadError
from irloop.formats.onnx.gradient import expand_gradients, is_gradient
from irloop.formats.onnx.sequence_map import expand_sequence_maps, is_map
from irloop.formats.onnx.versions import domain_of, schema_of

__all__ = ["expand_functions", "inline", "is_function"]

#: Nodes that functions may become; functions of functions multiply.
NODE_LIMIT = 5_000_000

#: Functions of the standard are made of functions that are made of primitive operations.
DEPTH_LIMIT = 8

_Key = tuple[str, str, str]


#: A function of the standard whose bodies stand for parts of it: only written out it has them.
_FLEXIBLE = ("FlexAttention", "ai.onnx.preview")


def inline(model: onnx.ModelProto, opsets: dict[str, int]) -> onnx.ModelProto:
    """The model without functions of its own, without SequenceMap, FlexAttention and Gradient.

    One of the latter two that cannot be written out, as when inputs have no types, stays.

    Raises:
        ReadError: for functions that call themselves, or that cannot be written out.
    """
    if model.functions:
        model = _inline_local(model)
    if any(is_map(node) for node in all_nodes(model.graph.node)):
        model = expand_sequence_maps(model, opsets.get("", 1))
    if any((node.op_type, node.domain) == _FLEXIBLE for node in all_nodes(model.graph.node)):
        with contextlib.suppress(ReadError):
            model = expand_functions(model, opsets, lambda *function: function == _FLEXIBLE)
    if any(is_gradient(node) for node in model.graph.node):
        with contextlib.suppress(ReadError):
            _require_types(model.graph)
            model = expand_gradients(model, opsets.get("", 1))
    return model


def expand_functions(
    model: onnx.ModelProto, opsets: dict[str, int], should_expand: Callable[[str, str], bool]
) -> onnx.ModelProto:
    """The model with functions of the standard written out as their definition says.

    `should_expand` is asked with the type and the domain of each operation that is one, those
    included that others are made of.

    Raises:
        ReadError: when onnx cannot write them out.
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
        omitted = any("" in node.input for node in all_nodes(model.graph.node))
        if omitted:
            model = _with_type_of_omitted(model)
        try:
            model = onnx.inliner.inline_selected_functions(
                model, sorted(wanted), inline_schema_functions=True
            )
        except Exception as error:  # onnx has no common base of what it raises
            raise _refused(", ".join(name for _, name in sorted(wanted)), error) from None
        if omitted:
            _drop_type_of_omitted(model.graph)
    return model


def _with_type_of_omitted(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which omitted inputs, whose name is empty, have a type: the inliner asks for it."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.value_info.add().type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return copy


def _drop_type_of_omitted(graph: onnx.GraphProto) -> None:
    for item in [info for info in graph.value_info if not info.name]:
        graph.value_info.remove(item)


def _require_types(graph: onnx.GraphProto) -> None:
    """The inliner ends the process where it infers from inputs that have no type."""
    for item in graph.input:
        if item.type.WhichOneof("value") is None:
            raise ReadError(
                f"functions cannot be written out: input {item.name!r} has no type",
                fix="give every input of the model its element type",
            )


def all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """All nodes of a graph and of the bodies in it."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g.node)
            for graph in attribute.graphs:
                yield from all_nodes(graph.node)


def is_function(type: str, opset: int, domain: str) -> bool:
    """True when the standard defines this operation by a function in this opset."""
    schema: Any = schema_of(type, opset, domain)
    if schema is None:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


def _is_function(node: onnx.NodeProto, opsets: dict[str, int]) -> bool:
    domain = domain_of(node.domain)
    return domain in opsets and is_function(node.op_type, opsets[domain], domain)


def _inline_local(model: onnx.ModelProto) -> onnx.ModelProto:
    functions = {(domain_of(f.domain), f.name, f.overload): f for f in model.functions}
    _require_finite(model, functions)
    try:
        inlined = onnx.inliner.inline_local_functions(model)
    except Exception as error:  # onnx has no common base of what it raises
        raise _refused("the functions of the model", error) from None
    for node in all_nodes(inlined.graph.node):
        if _key(node) in functions:
            raise ReadError(
                f"the function {node.op_type!r} of the model cannot be written out",
                cause="it was made for another opset than the model's",
                fix="export the model with one opset for all of it",
            )
    return inlined


def _refused(what: str, error: Exception) -> ReadError:
    return ReadError(f"{what} cannot be written out", found=str(error).strip()[:500])


def _key(node: onnx.NodeProto) -> _Key:
    return domain_of(node.domain), node.op_type, node.overload


def _require_finite(model: onnx.ModelProto, functions: dict[_Key, onnx.FunctionProto]) -> None:
    """Refuse functions that call themselves or become more nodes than a machine can hold."""
    calls = {key: [_key(n) for n in all_nodes(f.node)] for key, f in functions.items()}
    sizes: dict[_Key, int] = {}
    for start in functions:
        stack = [(start, iter(calls[start]))]
        path = {start}
        while stack:
            key, rest = stack[-1]
            callee = next((item for item in rest if item in functions and item not in sizes), None)
            if callee is None:
                sizes[key] = sum(sizes.get(item, 1) for item in calls[key])
                path.discard(key)
                stack.pop()
            elif callee in path:
                raise ReadError(f"the function {callee[1]!r} of the model calls itself")
            else:
                path.add(callee)
                stack.append((callee, iter(calls[callee])))
    total = sum(sizes.get(_key(node), 1) for node in all_nodes(model.graph.node))
    if max(total, *sizes.values()) > NODE_LIMIT:
        raise ReadError("the functions of the model become too many nodes", found=str(total))
