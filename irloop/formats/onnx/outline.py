"""Describes an .onnx file without any repair: its names, types, nodes and bodies.

The reader repairs files where it can (order, shadowed names, missing types); for validation, an
`Outline` shows the file without repairs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import onnx

from irloop.errors import IrloopError
from irloop.formats.onnx.attributes import kind_of
from irloop.formats.onnx.decoded import DecodedNode, decode
from irloop.formats.onnx.external import ExternalFiles
from irloop.formats.onnx.signature import kind_name
from irloop.formats.onnx.source import loaded
from irloop.formats.onnx.tensors import tensor_from_proto
from irloop.formats.onnx.types import ELEMENT_TYPES, require_text, type_from_proto
from irloop.formats.onnx.versions import domain_of, implied_opset
from irloop.graph.types import UNKNOWN_TYPE, ValueType

__all__ = ["Outline", "OutlineGraph", "OutlineNode", "outline_of"]

#: Maximum number of elements of a constant that is read: a condition, a trip count or axes.
SMALL = 16


@dataclass(slots=True)
class OutlineNode:
    """A node of an ONNX file; an empty name in `inputs` or `outputs` means that it is omitted.

    These fields come from the node's attributes:

    - `bodies`: the graph of each attribute that holds one, by attribute name;
    - `numbers`: the integers of each attribute that is an integer or a list of integers;
    - `attributes`: the name and the kind of every attribute; the kind is empty if the file does not
      declare it.

    `ignored` holds the codes of the findings that the node suppresses.
    """

    type: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    graph: OutlineGraph
    bodies: dict[str, OutlineGraph] = field(default_factory=dict)
    numbers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    ignored: tuple[str, ...] = ()

    def number(self, name: str, default: int = 0) -> int:
        """The first (or only) integer of the attribute `name`; `default` if it has no integer."""
        found = self.numbers.get(name, ())
        return found[0] if found else default

    @property
    def label(self) -> str:
        """The name or, without a name, the type and the first output."""
        if self.name:
            return self.name
        first = next((name for name in self.outputs if name), "")
        return f"{self.type}({first})" if first else self.type

    @property
    def path(self) -> str:
        """The path through bodies, as in ``Loop_7/body/Mul_4``."""
        return f"{self.graph.path}/{self.label}" if self.graph.path else self.label


@dataclass(slots=True)
class OutlineGraph:
    """A graph in an ONNX file: the main graph or a body.

    `types` maps names to their declared types: those of `value_info`, inputs and outputs.
    `input_types` and `output_types` have one declared type per input or output. `nodes` are in the
    order of the file. `path` is empty for the main graph; for a body it is the path of its node,
    followed by a label such as `then`.

    Five fields are for wrong declarations. `untyped` has the names of inputs without a type.
    `unknown_types` maps names to the number of an unknown element type, or to 0 if the type is
    missing. `negative_sizes` maps names to a dimension that is negative. `undeclared` has the names
    of initializers that no input declares, and `other_shapes` maps the names of declared ones to
    their dimensions, if these differ from the declared ones.

    `imports` has the opset of each domain. Bodies have the imports of their outermost graph.
    """

    name: str
    path: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    initializers: frozenset[str]
    types: dict[str, ValueType]
    untyped: frozenset[str]
    constants: dict[str, tuple[Any, ...]]
    parent: OutlineNode | None
    input_types: tuple[ValueType, ...] = ()
    output_types: tuple[ValueType, ...] = ()
    nodes: list[OutlineNode] = field(default_factory=list)
    unknown_types: dict[str, int] = field(default_factory=dict)
    negative_sizes: dict[str, int] = field(default_factory=dict)
    undeclared: frozenset[str] = frozenset()
    other_shapes: dict[str, list[int]] = field(default_factory=dict)
    imports: dict[str, int] = field(default_factory=dict)

    @property
    def outermost(self) -> OutlineGraph:
        """The main graph, or the graph of the function, that this graph is or is a body in."""
        graph = self
        while graph.parent is not None:
            graph = graph.parent.graph
        return graph

    def type_of(self, name: str) -> ValueType:
        """The declared type of a name, here or in an outer graph; unknown otherwise."""
        graph: OutlineGraph | None = self
        while graph is not None:
            if name in graph.types:
                return graph.types[name]
            graph = None if graph.parent is None else graph.parent.graph
        return UNKNOWN_TYPE

    def constant_of(self, name: str) -> tuple[Any, ...] | None:
        """Return the elements of the small constant that `name` means in this graph.

        Outer graphs are searched, too. Returns None if `name` is not a small constant.
        """
        graph: OutlineGraph | None = self
        while graph is not None:
            if name in graph.constants:
                return graph.constants[name]
            if name in graph.types and name in graph.inputs:
                return None
            graph = None if graph.parent is None else graph.parent.graph
        return None

    def walk(self) -> Iterator[OutlineGraph]:
        """Yield this graph and every body in it, outermost first."""
        stack = [self]
        while stack:
            graph = stack.pop()
            yield graph
            bodies = [body for node in graph.nodes for body in node.bodies.values()]
            stack.extend(reversed(bodies))

    def in_order(self) -> Iterator[OutlineNode]:
        """Yield the nodes in the order of the file, each before those in its bodies."""
        stack = [iter(self.nodes)]
        while stack:
            node = next(stack[-1], None)
            if node is None:
                stack.pop()
                continue
            yield node
            stack += [iter(body.nodes) for body in reversed(node.bodies.values())]


@dataclass(slots=True)
class Outline:
    """A model: its main graph, the opset of each domain ("" is ai.onnx) and its own functions.

    A function is identified by domain and name. `ignored` are the codes of findings that the model
    suppresses. `imported` are the domains that the file imports. `opsets` always has an entry for
    ai.onnx.ml, too, even if the file does not import it. `called` are the graphs of the functions
    that the main graph calls, directly or through other functions; their values have no types.
    """

    graph: OutlineGraph
    opsets: dict[str, int]
    functions: frozenset[tuple[str, str]] = frozenset()
    ignored: tuple[str, ...] = ()
    imported: frozenset[str] = frozenset()
    ir_version: int = 0
    called: tuple[OutlineGraph, ...] = ()


def outline_of(path: str | os.PathLike[str]) -> Outline:
    """The outline of an .onnx file; external data is not touched.

    Raises:
        ReadError: when the file cannot be read or has another format.
    """
    model = loaded(path)
    proto, files = model.proto, model.files
    require_text([item.domain for item in proto.opset_import], "the domain of an opset")
    opsets = {domain_of(item.domain): int(item.version) for item in proto.opset_import}
    imported = frozenset(opsets)
    opsets.setdefault("ai.onnx.ml", implied_opset("ai.onnx.ml") or 1)
    functions = frozenset((item.domain, item.name) for item in proto.functions)
    graph = _graph(proto.graph, model.nodes, "", None, files)
    graph.imports = opsets
    version = int(proto.ir_version)
    called = tuple(_called(graph, proto, files))
    return Outline(graph, opsets, functions, _ignored(proto), imported, version, called)


def _called(
    graph: OutlineGraph, proto: onnx.ModelProto, files: ExternalFiles
) -> Iterator[OutlineGraph]:
    """Each function that a graph calls, and each function that these functions call."""
    waiting: dict[tuple[str, str], list[onnx.FunctionProto]] = {}
    for function in proto.functions:
        waiting.setdefault((domain_of(function.domain), function.name), []).append(function)
    pending = [graph]
    while pending and waiting:
        for inner in pending.pop().walk():
            for node in inner.nodes:
                for function in waiting.pop((node.domain, node.type), ()):
                    found = _function(function, files)
                    pending.append(found)
                    yield found


def _function(proto: onnx.FunctionProto, files: ExternalFiles) -> OutlineGraph:
    require_text([proto.name, *proto.input, *proto.output], "a name of a function")
    graph = OutlineGraph(
        proto.name,
        proto.name,
        tuple(proto.input),
        tuple(proto.output),
        frozenset(),
        {},
        frozenset(),
        {},
        None,
    )
    require_text([item.domain for item in proto.opset_import], "the domain of an opset")
    graph.imports = {domain_of(item.domain): int(item.version) for item in proto.opset_import}
    for node in decode(proto):
        graph.nodes.append(_node(graph, node, files))
    return graph


_IGNORE = re.compile(r"irloop:\s*ignore\s+([A-Z0-9, ]+)")


def _ignored(proto: onnx.ModelProto | onnx.NodeProto) -> tuple[str, ...]:
    """The codes of findings that `metadata_props` or `doc_string` suppress."""
    if not proto.metadata_props and not proto.doc_string:
        return ()
    texts = [str(item.value) for item in proto.metadata_props if item.key == "irloop.ignore"]
    if proto.doc_string:
        texts += _IGNORE.findall(str(proto.doc_string))
    return tuple(code for text in texts for code in re.split(r"[,\s]+", text.upper()) if code)


def _graph(
    proto: onnx.GraphProto,
    nodes: Iterable[DecodedNode],
    path: str,
    parent: OutlineNode | None,
    files: ExternalFiles,
) -> OutlineGraph:
    named = (*proto.value_info, *proto.output, *proto.input)
    require_text([item.name for item in named], "a name of a graph")
    initializers = frozenset(item.name for item in proto.initializer)
    graph = OutlineGraph(
        proto.name,
        path,
        tuple(item.name for item in proto.input if item.name not in initializers),
        tuple(item.name for item in proto.output),
        initializers,
        {item.name: type_from_proto(item.type) for item in named},
        frozenset(item.name for item in proto.input if not item.type.WhichOneof("value")),
        {},
        parent,
        tuple(type_from_proto(item.type) for item in proto.input if item.name not in initializers),
        tuple(type_from_proto(item.type) for item in proto.output),
    )
    for item in named:
        _misdeclared(graph, item)
    types = {item.name: item.type for item in proto.input if item.name in initializers}
    graph.undeclared = initializers - types.keys()
    for tensor in proto.initializer:
        _constant(graph, tensor.name, tensor, files)
        if tensor.name in types and not _fits(types[tensor.name], list(tensor.dims)):
            graph.other_shapes[tensor.name] = list(tensor.dims)
    for node in nodes:
        graph.nodes.append(_node(graph, node, files))
    return graph


def _node(graph: OutlineGraph, decoded: DecodedNode, files: ExternalFiles) -> OutlineNode:
    type, name, inputs, outputs = decoded.type, decoded.name, decoded.inputs, decoded.outputs
    if not decoded.is_text:
        require_text([name, *inputs, *outputs], "a name of a node")
    node = OutlineNode(type, decoded.domain, name, inputs, outputs, graph)
    if decoded.has_notes:
        node.ignored = _ignored(decoded.proto)
    for attribute in decoded.attributes:
        kind = kind_of(attribute)
        node.attributes.append((attribute.name, kind_name(attribute.type)))
        if attribute.ref_attr_name:
            continue  # a call of the function gives the value
        if kind == onnx.AttributeProto.GRAPH:
            label = _LABELS.get(attribute.name, attribute.name)
            body, path = attribute.g, f"{node.path}/{label}"
            node.bodies[attribute.name] = _graph(body, decode(body), path, node, files)
        elif kind == onnx.AttributeProto.INT:
            node.numbers[attribute.name] = (attribute.i,)
        elif kind == onnx.AttributeProto.INTS:
            node.numbers[attribute.name] = tuple(attribute.ints)
        elif kind == onnx.AttributeProto.TENSOR and type == "Constant":
            _constant(graph, outputs[0] if outputs else "", attribute.t, files)
    if type == "Constant" and "value_int" in node.numbers and outputs:
        graph.constants[outputs[0]] = node.numbers["value_int"]
    return node


def _misdeclared(graph: OutlineGraph, proto: onnx.ValueInfoProto) -> None:
    inner = proto.type
    while (kind := inner.WhichOneof("value")) in ("sequence_type", "optional_type"):
        inner = getattr(inner, kind).elem_type
    if kind is None and proto.type.WhichOneof("value"):
        graph.unknown_types[proto.name] = 0
    if kind != "tensor_type":
        return
    tensor = inner.tensor_type
    # Exporters leave the types in bodies to inference, and OpenVINO reads such files.
    is_missing = not tensor.elem_type and not (graph.path and inner is proto.type)
    if is_missing or tensor.elem_type not in ELEMENT_TYPES:
        graph.unknown_types[proto.name] = tensor.elem_type
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value < 0:
            graph.negative_sizes[proto.name] = dim.dim_value


def _fits(declared: onnx.TypeProto, dims: list[int]) -> bool:
    """Return whether an initializer with dimensions `dims` can be of the declared type."""
    tensor = declared.tensor_type
    if not tensor.HasField("shape"):
        return True
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    return len(sizes) == len(dims) and all(
        size in (None, dim) for size, dim in zip(sizes, dims, strict=True)
    )


_LABELS = {"then_branch": "then", "else_branch": "else"}


def _constant(
    graph: OutlineGraph, name: str, proto: onnx.TensorProto, files: ExternalFiles
) -> None:
    count = 1
    for dim in proto.dims:
        count *= dim
    if not name or not 0 < count <= SMALL:
        return
    try:
        tensor = tensor_from_proto(proto, files, name)
        graph.constants[name] = tuple(tensor.numpy().reshape(-1).tolist())
    except (IrloopError, ValueError):
        return
    graph.types.setdefault(name, tensor.type)
