"""Expands the functions of a model: each call becomes a copy of the function's nodes.

onnx's own inliner keeps the old names of some body outputs (an output that is also an input of the
body, an initializer, or another output), so its result cannot be read. This module renames
everything:

- every name that a function defines, including those in its bodies, gets a new name that is unique
  in the model; the inputs and outputs of the function get the names of the inputs and outputs of
  the call;
- an attribute that refers to an attribute of the function gets the value from the call, or else the
  function's default, even if that is a graph; if there is neither, it is omitted;
- names of dimensions become new names, too, because two calls may have different sizes.

The number of nodes that will result is limited before any node is made, because it may be huge: if
each function calls the next function twice, the number doubles with every level.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping

import onnx

from irloop.errors import ReadError
from irloop.formats.onnx.attributes import kind_of
from irloop.formats.onnx.naming import names_in
from irloop.formats.onnx.scopes import body_inputs, label_of, source_of
from irloop.formats.onnx.signature import NEWEST
from irloop.formats.onnx.types import require_text
from irloop.formats.onnx.versions import domain_of, schema_of

__all__ = ["all_nodes", "expand_local_functions"]

#: The expanded calls may have at most this many nodes more than the functions.
NODE_LIMIT = 100_000

#: The expanded calls may take at most this many bytes more than the functions.
BYTE_LIMIT = 1 << 28

#: Maximum nesting depth of bodies: protobuf allows 100 nested messages, and a body takes three.
NESTING_LIMIT = 30

#: Counting stops at this number, because sizes double with every function.
_MANY = 1 << 62

_Key = tuple[str, str, str]
_Functions = dict[_Key, onnx.FunctionProto]
_Names = ChainMap[str, str]


def expand_local_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of the model with its own functions expanded.

    Raises:
        ReadError: for functions that call themselves, expand to too many nodes, read values that
            they do not define, or have opsets that contradict the model's.
    """
    functions: _Functions = {(domain_of(f.domain), f.name, f.overload): f for f in model.functions}
    _require_few(model, functions)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.functions[:]
    _Expansion(copy, functions).expand(copy.graph, 0)
    return copy


def all_nodes(nodes: Iterator[onnx.NodeProto] | list[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield all nodes of a graph and of the bodies in it."""
    for node in nodes:
        yield node
        for _, graph in _bodies(node):
            yield from all_nodes(graph.node)


def _bodies(node: onnx.NodeProto) -> Iterator[tuple[onnx.AttributeProto, onnx.GraphProto]]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute, attribute.g
        for graph in attribute.graphs:
            yield attribute, graph


def _key(node: onnx.NodeProto) -> _Key:
    return domain_of(node.domain), node.op_type, node.overload


def _require_sound(function: onnx.FunctionProto) -> None:
    """Refuse a model's function if one of its names is not valid.

    Each name must be text and defined only once. Every name that a node reads must be an input of
    the function or an output of one of its nodes.

    Raises:
        ReadError: naming the function.
    """
    require_text([*function.input, *function.output], "a name of a function")
    for names, what in ((function.input, "input"), (function.output, "output")):
        if len(set(names)) != len(names):
            raise ReadError(
                f"function {function.name!r} of the model lists an {what} twice",
                expected="different names",
                found=", ".join(names),
            )
    graph = onnx.GraphProto(name=function.name, node=function.node)
    graph.input.extend(onnx.ValueInfoProto(name=name) for name in function.input)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in function.output)
    try:
        source = source_of(graph)
    except ReadError as error:
        detail = error.diagnostics[0]
        raise ReadError(
            f"function {function.name!r} of the model: {error.message}",
            expected=detail.expected,
            found=detail.found,
        ) from None
    for name in source.captures:
        raise ReadError(
            f"function {function.name!r} of the model reads {name!r}, which it does not define",
            expected="an input of the function, or an output of one of its nodes",
            found=repr(name),
        )


def _require_few(model: onnx.ModelProto, functions: _Functions) -> None:
    """Refuse functions that call themselves, or that would expand to too many nodes."""
    calls = {key: [_key(n) for n in all_nodes(f.node)] for key, f in functions.items()}
    sizes: dict[_Key, tuple[int, int]] = {}
    for start in functions:
        stack = [(start, iter(calls[start]))]
        path = {start}
        while stack:
            key, rest = stack[-1]
            callee = next((item for item in rest if item in functions and item not in sizes), None)
            if callee is None:
                inner = [sizes[item] for item in calls[key] if item in functions]
                own, size = len(calls[key]), functions[key].ByteSize()
                # A call counts, too, because it is work even if the function has no nodes.
                sizes[key] = (
                    min(own + sum(n for n, _ in inner), _MANY),
                    min(size + sum(b for _, b in inner), _MANY),
                )
                path.discard(key)
                stack.pop()
            elif callee in path:
                raise ReadError(f"the function {callee[1]!r} of the model calls itself")
            else:
                path.add(callee)
                stack.append((callee, iter(calls[callee])))
    called = [_key(node) for node in all_nodes(model.graph.node)]
    found = [sizes[key] for key in called if key in functions]
    n_nodes, n_bytes = sum(n for n, _ in found), sum(b for _, b in found)
    most_nodes = NODE_LIMIT + sum(map(len, calls.values()))
    most_bytes = BYTE_LIMIT + sum(f.ByteSize() for f in functions.values())
    if n_nodes <= most_nodes and n_bytes <= most_bytes:
        return
    biggest = sorted(sizes, key=lambda key: sizes[key], reverse=True)[:3]
    raise ReadError(
        "the functions of the model expand to too many nodes",
        expected=f"at most {most_nodes} nodes and {most_bytes} bytes",
        found=f"{n_nodes} nodes, {n_bytes} bytes",
        cause="; ".join(f"each call of {key[1]!r} becomes {sizes[key][0]}" for key in biggest),
        fix="call the functions less often, or let the exporter inline them",
    )


class _Expansion:
    """Replaces the calls of a model's own functions by copies of the functions' nodes.

    The model is changed in place. Calls inside bodies and inside functions are replaced, too.
    """

    def __init__(self, model: onnx.ModelProto, functions: _Functions) -> None:
        self._model = model
        self._functions = functions
        self._opsets = {domain_of(item.domain): int(item.version) for item in model.opset_import}
        self._taken = set(names_in(model.graph))
        self._checked: set[_Key] = set()
        self._calls = 0
        self._pasted = 0

    def expand(self, graph: onnx.GraphProto, depth: int) -> None:
        """Expand the calls in a graph and in its bodies."""
        if depth > NESTING_LIMIT:
            raise ReadError(
                "the functions of the model expand to bodies that are nested too deep",
                expected=f"at most {NESTING_LIMIT}, as deep as an ONNX file can be",
                found="more",
            )
        if not any(_key(node) in self._functions for node in graph.node):
            for node in graph.node:
                for _, body in _bodies(node):
                    self.expand(body, depth + 1)
            return
        nodes: list[onnx.NodeProto] = []
        # The list is reversed so that the next node can be popped from its end. Expanded nodes are
        # processed, too.
        pending = list(reversed(graph.node))
        while pending:
            node = pending.pop()
            function = self._functions.get(_key(node))
            if function is not None:
                pending += reversed(self._written_out(node, function, graph))
                continue
            for _, body in _bodies(node):
                self.expand(body, depth + 1)
            nodes.append(node)
        del graph.node[:]
        graph.node.extend(nodes)

    def _written_out(
        self, call: onnx.NodeProto, function: onnx.FunctionProto, graph: onnx.GraphProto
    ) -> list[onnx.NodeProto]:
        """Return copies of the nodes of `function` that replace `call`.

        The types that the function declares for its values are added to `graph`.
        """
        key = _key(call)
        if key not in self._checked:
            self._checked.add(key)
            _require_sound(function)
            self._merge_opsets(function)
        _require_fitting(call, function)
        self._calls += 1
        attributes = {item.name: item for item in function.attribute_proto}
        attributes.update((item.name, item) for item in call.attribute)
        copy = _Copy(self._calls, self._taken, attributes)
        names = dict.fromkeys(function.input, "")
        names.update(zip(function.input, call.input, strict=False))
        after: list[onnx.NodeProto] = []
        given = [*call.output, *[""] * (len(function.output) - len(call.output))]
        for inner, outer in zip(function.output, given, strict=True):
            if inner not in names:
                names[inner] = outer or copy.fresh(inner)
            elif outer and names[inner]:
                # The function returns one of its inputs, or one value as two outputs.
                name = copy.fresh(f"{function.name}_{inner}")
                after.append(onnx.helper.make_node("Identity", [names[inner]], [outer], name=name))
        nodes = [onnx.NodeProto() for _ in function.node]
        for node, original in zip(nodes, function.node, strict=True):
            node.CopyFrom(original)
        scope = ChainMap(names)
        copy.define(nodes, names)
        for node in nodes:
            copy.rename(node, scope)
        self._count(copy.pasted)
        for declared in function.value_info:
            if names.get(declared.name):
                info = graph.value_info.add()
                info.CopyFrom(declared)
                info.name = names[declared.name]
                copy.rename_dims(info.type)
        return [*nodes, *after]

    def _count(self, pasted: int) -> None:
        self._pasted += pasted
        if self._pasted > NODE_LIMIT:
            raise ReadError(
                "the graphs that are passed to functions of the model expand to too many nodes",
                expected=f"at most {NODE_LIMIT}",
                found=f"more than {NODE_LIMIT}",
            )

    def _merge_opsets(self, function: onnx.FunctionProto) -> None:
        """Import into the model the opsets that the function imports.

        Raises:
            ReadError: when the model imports another opset of a domain, and an operation of the
                function has another meaning in that opset.
        """
        for item in function.opset_import:
            domain, version = domain_of(item.domain), int(item.version)
            if domain not in self._opsets:
                self._opsets[domain] = version
                self._model.opset_import.add(domain=domain, version=version)
            if self._opsets[domain] != version:
                self._require_same(function, domain, version)

    def _require_same(self, function: onnx.FunctionProto, domain: str, version: int) -> None:
        for node in all_nodes(function.node):
            if domain_of(node.domain) != domain or _key(node) in self._functions:
                continue
            schema = schema_of(node.op_type, version, domain)
            other = schema_of(node.op_type, self._opsets[domain], domain)
            known = domain or version <= NEWEST
            same = schema and other and schema.since_version == other.since_version
            if not known or not same:
                raise ReadError(
                    f"the function {function.name!r} of the model cannot be expanded: "
                    f"its {node.op_type} is of a different opset than that of the model",
                    expected=f"opset {self._opsets[domain]} of {domain or 'ai.onnx'!r}",
                    found=f"opset {version}",
                    fix="export the model and its functions with one opset",
                )


def _require_fitting(call: onnx.NodeProto, function: onnx.FunctionProto) -> None:
    inputs = list(call.input)
    require_text([*inputs, *call.output], "a name of a node")
    while len(inputs) > len(function.input) and not inputs[-1]:
        inputs.pop()
    if len(inputs) <= len(function.input) and len(call.output) <= len(function.output):
        return
    raise ReadError(
        f"the call {label_of(call)!r} has more inputs or outputs than function {function.name!r}",
        expected=f"at most {len(function.input)} inputs and {len(function.output)} outputs",
        found=f"{len(inputs)} inputs and {len(call.output)} outputs",
    )


class _Copy:
    """Copies the nodes of a local function for one call of it.

    Each value of the copy gets a name that is unique in the model. References to attributes of the
    function are replaced by the values that the call gives.
    """

    def __init__(
        self, number: int, taken: set[str], attributes: Mapping[str, onnx.AttributeProto]
    ) -> None:
        self._number = number
        self._taken = taken
        self._attributes = attributes
        self._dims: dict[str, str] = {}
        #: The number of nodes in graphs that were passed as attributes.
        self.pasted = 0

    def fresh(self, name: str) -> str:
        """A name that is unique in the model: `name` and the number of this copy."""
        unique = f"{name}__{self._number}"
        while unique in self._taken:
            unique += "_"
        self._taken.add(unique)
        return unique

    def define(self, nodes: list[onnx.NodeProto], names: MutableMapping[str, str]) -> None:
        """Add a new name to `names` for each output of the nodes that has no entry there."""
        for node in nodes:
            for name in node.output:
                if name and name not in names:
                    names[name] = self.fresh(name)

    def rename(self, node: onnx.NodeProto, names: _Names) -> None:
        """Rename a node and the values in it and in its bodies.

        Attributes that refer to attributes of the function are replaced by their values.
        """
        if node.name:
            node.name = self.fresh(node.name)
        node.input[:] = [names[name] if name else "" for name in node.input]
        node.output[:] = [names[name] if name else "" for name in node.output]
        limit = body_inputs(node)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                self._rename_graph(attribute.g, names, limit)
            for graph in attribute.graphs:
                self._rename_graph(graph, names, None)
        if any(item.ref_attr_name for item in node.attribute):
            resolved = list(filter(None, map(self._resolved, node.attribute)))
            del node.attribute[:]
            node.attribute.extend(resolved)

    def _resolved(self, attribute: onnx.AttributeProto) -> onnx.AttributeProto | None:
        if not attribute.ref_attr_name:
            return attribute
        value = self._attributes.get(attribute.ref_attr_name)
        if value is None:
            return None
        if kind_of(value) in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
            for graph in (value.g, *value.graphs):
                self.pasted += 1 + sum(1 for _ in all_nodes(graph.node))
        else:
            # A long list or a tensor counts as one node for every 4096 bytes.
            self.pasted += value.ByteSize() // 4096
        resolved = onnx.AttributeProto()
        resolved.CopyFrom(value)
        resolved.name = attribute.name
        return resolved

    def _rename_graph(self, graph: onnx.GraphProto, outer: _Names, limit: int | None) -> None:
        constants = {item.name for item in graph.initializer}
        constants.update(item.values.name for item in graph.sparse_initializer)
        inputs = [item.name for item in graph.input if item.name not in constants][:limit]
        own = {name: self.fresh(name) for name in (*constants, *inputs)}
        self.define(list(graph.node), own)
        names = outer.new_child(own)
        for items in (graph.input, graph.output, graph.value_info):
            for item in items:
                item.name = names.get(item.name, item.name)
                self.rename_dims(item.type)
        for tensor in graph.initializer:
            tensor.name = names[tensor.name]
        for sparse in graph.sparse_initializer:
            sparse.values.name = names[sparse.values.name]
        for node in graph.node:
            self.rename(node, names)

    def rename_dims(self, type: onnx.TypeProto) -> None:
        """Rename the dimensions in a type so that they are unique to this copy.

        For example, copy 3 renames the dimension N to N__3.
        """
        kind = type.WhichOneof("value")
        if kind == "sequence_type":
            self.rename_dims(type.sequence_type.elem_type)
        elif kind == "optional_type":
            self.rename_dims(type.optional_type.elem_type)
        elif kind == "tensor_type":
            for dim in type.tensor_type.shape.dim:
                if dim.dim_param:
                    dim.dim_param = self._dims.setdefault(
                        dim.dim_param, f"{dim.dim_param}__{self._number}"
                    )
