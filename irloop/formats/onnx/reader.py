"""Reads ONNX models of any IR version and opset.

Outer values that a body captures become parameters of the body. Weights are mapped into memory, and
only read when they are needed. Initializers and Constant nodes become constants, including
initializers that are default values of graph inputs. Information that the graph cannot represent is
kept in `Node.info`, `Value.info` and `Model.metadata` (see `notes`), and written back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx

from irloop.diagnostics import NOWHERE, Location
from irloop.dialects.onnx import ONNX
from irloop.errors import IrloopError, ReadError
from irloop.files import ParsedOnce
from irloop.formats.onnx.attributes import Opaque, kind_of, op_from_attributes, read_value
from irloop.formats.onnx.control import LABELS, ReadBody, Wiring, wire
from irloop.formats.onnx.decoded import DecodedNode
from irloop.formats.onnx.external import ExternalFiles
from irloop.formats.onnx.functions import expand_functions, inline
from irloop.formats.onnx.notes import (
    DECLARED,
    DEFAULT,
    TYPE,
    UNREAD,
    graph_notes,
    info_of,
    node_notes,
)
from irloop.formats.onnx.scopes import (
    GraphSource,
    NodeSource,
    inside,
    label_of,
    order_of,
    source_of,
    step_into,
)
from irloop.formats.onnx.source import loaded
from irloop.formats.onnx.tensors import sparse_from_proto, tensor_from_proto
from irloop.formats.onnx.types import require_text, type_from_proto, type_to_proto
from irloop.formats.onnx.versions import (
    check_readable,
    implied_opset,
    import_missing,
    opsets_of,
    schema_of,
)
from irloop.graph.collector import collector_paused
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.op import Constant, Op, UnknownOp
from irloop.graph.tensor import ArrayTensor, StringTensor, Tensor
from irloop.graph.types import UNKNOWN_TYPE, ElementType
from irloop.graph.walk import all_nodes
from irloop.progress import counted

__all__ = ["from_proto", "read"]

_DECLARED: Mapping[str, Any] = MappingProxyType({DECLARED: True})


#: Decides, from type and domain, whether a function of the standard is expanded.
Expand = Callable[[str, str], bool]


def read(path: str | os.PathLike[str], *, expand: Expand | None = None) -> Model:
    """Read the model in an .onnx file.

    `path` may be a `ParsedOnce`, whose file is loaded only once for several readers. Weights are
    mapped, not read, so constants of any size are cheap. Functions of the model are expanded. An
    operation that the standard defines as a function is expanded if `expand` returns true for its
    type and domain.

    Raises:
        ReadError: when the file is not an ONNX model, contradicts itself, or is newer than the
            installed onnx package.
    """
    known: Model | None = path.take_model() if isinstance(path, ParsedOnce) else None
    if known is not None and not _may_expand(known, expand):
        return known
    location = Location(file=os.fspath(Path(path)))
    try:
        found = loaded(path)
        return _model(found.proto, found.files, location, expand, found.nodes)
    except IrloopError as error:
        raise _placed(error, location) from None


def _may_expand(model: Model, expand: Expand | None) -> bool:
    """Return whether `expand` may require that the file of `model` is read again.

    `expand` takes the type and domain of an operation, and returns whether to expand the function
    by which the standard defines it. `model` was read without `expand`. The result is true if
    `expand` returns true for an operation of `model`.
    """
    if expand is None:
        return False
    ops = (node.op for node in all_nodes(model.graph))
    kinds = {
        (op.name, op.op_domain) if isinstance(op, UnknownOp) else (op.type, op.domain)
        for op in ops
        if not isinstance(op, Constant)
    }
    return any(expand(type, domain) for type, domain in kinds)


def from_proto(proto: onnx.ModelProto, *, expand: Expand | None = None) -> Model:
    """Read the model in a ModelProto in memory, which cannot have external data.

    Raises:
        ReadError: when the model cannot be read, as in `read`.
    """
    return _model(proto, ExternalFiles(None), NOWHERE, expand)


def _placed(error: IrloopError, location: Location) -> IrloopError:
    placed = (item.in_file(location.file or "") for item in error.diagnostics)
    # Commands report an unreadable model with the same code as validation.
    coded = (replace(one, code="ONX101") if one.code == ReadError.code else one for one in placed)
    return type(error)(error.message, diagnostics=tuple(coded))


def _model(
    stored: onnx.ModelProto,
    files: ExternalFiles,
    location: Location,
    expand: Expand | None,
    decoded: Sequence[DecodedNode] | None = None,
) -> Model:
    check_readable(stored)
    opsets = opsets_of(stored)
    proto = inline(stored, opsets, decoded)
    if expand is not None:
        proto = expand_functions(proto, opsets, expand)
    # Expanded functions may add domains.
    opsets = opsets_of(proto)
    source = source_of(proto.graph, decoded=decoded if proto is stored else None)
    if source.captures:
        raise _undefined(source, source.captures[0])
    with collector_paused():
        graph = _Reader(opsets, files, location).graph(source, {}, ())
    metadata = _metadata(proto)
    metadata.update(graph_notes(proto.graph))
    return Model(graph, "onnx", int(proto.ir_version), opsets, metadata, location.file)


def _metadata(proto: onnx.ModelProto) -> dict[str, Any]:
    names = ("producer_version", "domain", "doc_string")
    texts = {name: getattr(proto, name) for name in names if getattr(proto, name)}
    texts["producer_name"] = proto.producer_name
    properties = {item.key: item.value for item in proto.metadata_props}
    require_text([*texts.values(), *properties, *properties.values()], "the metadata")
    metadata: dict[str, Any] = texts
    if proto.model_version:
        metadata["model_version"] = int(proto.model_version)
    if properties:
        metadata["metadata_props"] = properties
    for name in UNREAD:
        found = [item.SerializeToString(deterministic=True) for item in getattr(proto, name, ())]
        if found:
            metadata[name] = found
    return metadata


def _undefined(source: GraphSource, name: str, path: str = "") -> ReadError:
    for node in source.nodes:
        own = f"{path}{label_of(node.proto)}"
        if name in node.inputs:
            position = node.inputs.index(name)
            return ReadError(
                f"{node.proto.op_type} {own!r} reads {name!r}, which is not defined",
                location=Location(path=own),
                expected="the name of an input, an initializer or another node's output",
                found=f"input {position} is {name!r}",
            )
        for label, body in node.bodies.items():
            if name in body.captures:
                return _undefined(body, name, f"{path}{step_into(node.proto, label)}/")
    place = path.rstrip("/") or f"graph {source.proto.name!r}"
    return ReadError(
        f"{place} returns {name!r}, which is not defined",
        location=Location(path=path.rstrip("/")),
        expected="the names of inputs, initializers or outputs of nodes",
        found=repr(name),
    )


class _Scope:
    """Maps the names of one graph to its values while the graph is read."""

    def __init__(self, graph: Graph, types: Mapping[str, onnx.TypeProto]) -> None:
        self.graph = graph
        self.values: dict[str, Value] = {}
        self._types = types

    def define(self, name: str, value: Value) -> None:
        """Register `value` under `name`, and give it the type that the file declares for `name`.

        Raises:
            ReadError: when the name is empty, or the graph already has it.
        """
        if not name:
            raise ReadError(f"graph {self.graph.name!r} has an input or a constant without a name")
        if name in self.values:
            raise ReadError(
                f"{name!r} is defined twice in graph {self.graph.name!r}",
                location=Location(path=value.producer.name),
                found=f"by {self.values[name].producer.name!r} and {value.producer.name!r}",
            )
        self.values[name] = value
        declared = self._types.get(name)
        if declared is not None:
            self.declare(value, declared, _DECLARED)

    def declare(
        self, value: Value, proto: onnx.TypeProto, info: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Give `value` the declared type `proto`, if its type is not known yet.

        If `info` is not empty, it becomes `value.info`. If the graph cannot represent every part of
        the type, `proto` is added to `value.info`, so that it can be written back.
        """
        type = type_from_proto(proto)
        if value.type == UNKNOWN_TYPE:
            value.type = type
        if info:
            value.info = info
        if type_to_proto(type, "") != proto:
            value.info = {**value.info, TYPE: proto.SerializeToString(deterministic=True)}


class _Reader:
    """Reads the graphs of one model."""

    def __init__(self, opsets: dict[str, int], files: ExternalFiles, location: Location) -> None:
        self._opsets = opsets
        self._files = files
        self._location = location
        #: The class of each type and domain that was looked up.
        self._classes: dict[tuple[str, str], type[Op] | None] = {}

    def graph(
        self, source: GraphSource, outer: Mapping[str, Value], captures: Sequence[str]
    ) -> Graph:
        """Read the graph in `source`; the outer values in `captures` become its last parameters.

        `outer` holds the values of the enclosing graph, keyed by name; it is empty for the main
        graph.
        """
        proto = source.proto
        graph = Graph(proto.name)
        declared = {info.name: info.type for info in proto.value_info if info.HasField("type")}
        scope = _Scope(graph, declared)
        for info in source.inputs:
            value = graph.add_parameter(info.name, UNKNOWN_TYPE, (info.name,), self._location)
            scope.define(info.name, value)
            value.info = {}
            if info.HasField("type"):
                scope.declare(value, info.type)
        for name in captures:
            known = outer[name]
            value = graph.add_parameter(name, known.type, (name,), self._location)
            scope.values[name] = value
        self._initializers(scope, proto)
        nodes: Iterable[NodeSource] = order_of(source)
        if not outer:
            nodes = counted("nodes", nodes, len(source.nodes), every=256)
        for node in nodes:
            try:
                self._node(scope, node)
            except ReadError as error:
                if error.diagnostics[0].location.path:
                    raise
                raise inside(error, label_of(node.proto)) from None
        for info in proto.output:
            if not info.name:
                raise ReadError(f"graph {proto.name!r} has an output without a name")
            value = scope.values[info.name]
            graph.add_result(value, info.name, self._location)
            if DECLARED in value.info:
                # An output of a graph declares its type itself, so drop the mark that value_info
                # declares it.
                value.info = {key: kept for key, kept in value.info.items() if key != DECLARED}
            if info.HasField("type"):
                scope.declare(value, info.type)
        return graph

    def _initializers(self, scope: _Scope, proto: onnx.GraphProto) -> None:
        defaults = {item.name for item in proto.input}
        for stored in proto.initializer:
            tensor = tensor_from_proto(stored, self._files, f"initializer {stored.name!r}")
            self._constant(scope, tensor, stored.name, stored.name in defaults)
        for sparse in proto.sparse_initializer:
            name = sparse.values.name
            tensor = sparse_from_proto(sparse, self._files, f"initializer {name!r}")
            self._constant(scope, tensor, name, name in defaults)

    def _constant(self, scope: _Scope, tensor: Tensor, name: str, default: bool) -> None:
        value = scope.graph.add_constant(tensor, name, (name,), self._location)
        scope.define(name, value)
        if default:
            value.info = {DEFAULT: True}

    def _node(self, scope: _Scope, source: NodeSource) -> None:
        decoded = source.decoded
        type, domain = decoded.type, decoded.domain
        name = decoded.name or next(filter(None, source.outputs), type)
        where = f"{type} {name!r}"
        attributes = self._attributes(decoded.attributes, where)
        if domain == "" and type == "Constant":
            self._constant_node(scope, decoded.proto, name, attributes, where)
            return
        cls = self._class(type, domain)
        outputs = list(source.outputs)
        while len(outputs) > 1 and not outputs[-1]:
            outputs.pop()
        inputs = [scope.values[item] if item else None for item in source.inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        closed: tuple[Body, ...] = ()
        n_outputs = len(outputs)
        if source.bodies or cls in LABELS:
            bodies = self._bodies(scope, source, cls, where)
            wiring = wire(cls, bodies, inputs, n_outputs, attributes, where)
            n_outputs = wiring.n_outputs
            inputs += [None] * (wiring.n_inputs - len(inputs))
            closed = self._close(scope, bodies, wiring, inputs)
        op, rest = self._op(cls, type, domain, attributes, where)
        node = scope.graph.add_node(
            op,
            name,
            tuple(inputs),
            n_outputs,
            names=tuple([(item,) if item else () for item in outputs]),
            bodies=closed,
            location=self._location,
        )
        self._finish(scope, node, source, rest)

    def _finish(self, scope: _Scope, node: Node, source: NodeSource, rest: dict[str, Any]) -> None:
        if rest:
            node.attributes = rest
        if source.decoded.has_notes or source.bodies:
            node.info = info_of(node_notes(source.proto))
        for name, value in zip(source.outputs, node.outputs, strict=False):
            if name:
                scope.define(name, value)

    def _attributes(self, protos: Iterable[onnx.AttributeProto], where: str) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        seen: set[str] = set()
        for proto in protos:
            place = f"{where}: attribute {proto.name!r}"
            if proto.ref_attr_name:
                raise ReadError(f"{place} refers to a function's attribute outside of a function")
            if proto.name in seen:
                raise ReadError(f"{place} occurs twice")
            seen.add(proto.name)
            if kind_of(proto) not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
                attributes[proto.name] = read_value(proto, self._files, place)
        return attributes

    def _class(self, type: str, domain: str) -> type[Op] | None:
        known = self._classes.get((type, domain))
        if known is None:
            known = self._classes[type, domain] = self._newest_class(type, domain)
        return known

    def _newest_class(self, type: str, domain: str) -> type[Op] | None:
        implied = implied_opset(domain)
        if domain not in self._opsets and implied is not None:
            self._opsets[domain] = implied
        if domain not in self._opsets:
            found = ", ".join(repr(item or "ai.onnx") for item in self._opsets) or "none"
            raise ReadError(**import_missing(type, domain), found=found, code="ONX108")
        return ONNX.find(type, self._opsets[domain], domain)

    def _op(
        self,
        cls: type[Op] | None,
        type: str,
        domain: str,
        attributes: dict[str, Any],
        where: str,
    ) -> tuple[Op, dict[str, Any]]:
        if cls is not None:
            return op_from_attributes(cls, attributes, where)
        opset = self._opsets[domain]
        schema = schema_of(type, opset, domain)
        version = opset if schema is None else schema.since_version
        return UnknownOp(type, str(version), attributes, domain), {}

    def _bodies(
        self, scope: _Scope, source: NodeSource, cls: type[Op] | None, where: str
    ) -> list[ReadBody]:
        labels = None if cls is None else LABELS.get(cls, {})
        if labels is not None and set(source.bodies) != set(labels):
            raise ReadError(
                f"{where} does not have the bodies that its operation needs",
                expected=", ".join(labels) or "no body",
                found=", ".join(source.bodies) or "no body",
            )
        # The bodies are in the order of the operation, not of the file.
        names = list(source.bodies if labels is None else labels)
        return [
            ReadBody(
                name if labels is None else labels[name],
                self._body(scope, source, name),
                source.bodies[name].captures,
            )
            for name in names
        ]

    def _body(self, scope: _Scope, source: NodeSource, name: str) -> Graph:
        body = source.bodies[name]
        try:
            return self.graph(body, scope.values, body.captures)
        except ReadError as error:
            raise inside(error, step_into(source.proto, name)) from None

    def _close(
        self,
        scope: _Scope,
        bodies: list[ReadBody],
        wiring: Wiring,
        inputs: list[Value | None],
    ) -> tuple[Body, ...]:
        externals: dict[str, int] = {}
        closed = []
        for body in bodies:
            pairs = []
            for index, name in enumerate(body.captures):
                if name not in externals:
                    externals[name] = len(inputs)
                    inputs.append(scope.values[name])
                pairs.append((externals[name], body.n_own + index))
            closed.append(Body(body.label, body.graph, wiring.ports(pairs)))
        return tuple(closed)

    def _constant_node(
        self,
        scope: _Scope,
        proto: onnx.NodeProto,
        name: str,
        attributes: dict[str, Any],
        where: str,
    ) -> None:
        if len(proto.output) != 1 or not proto.output[0] or proto.input:
            raise ReadError(f"{where} needs exactly one output and no input")
        tensor = _constant_tensor(attributes, where)
        value = scope.graph.add_constant(tensor, name, (proto.output[0],), self._location)
        value.producer.info = info_of(node_notes(proto, is_node=True))
        scope.define(proto.output[0], value)


def _constant_tensor(attributes: dict[str, Any], where: str) -> Tensor:
    """The tensor of a Constant node, in any of its forms (Constant-1 ... Constant-25)."""
    if len(attributes) != 1:
        raise ReadError(
            f"{where} needs exactly one value",
            expected="one attribute",
            found=", ".join(attributes) or "none",
        )
    ((form, value),) = attributes.items()
    if form in ("value", "sparse_value") and isinstance(value, Tensor):
        return value
    if isinstance(value, Opaque) and form in ("value_floats", "value_strings"):
        value = []
    elements = {
        "value_int": ElementType.I64,
        "value_ints": ElementType.I64,
        "value_float": ElementType.F32,
        "value_floats": ElementType.F32,
    }
    many = form.endswith("s")
    if form in ("value_string", "value_strings"):
        return _string_tensor(value, many, where)
    if form not in elements or isinstance(value, list) is not many:
        raise ReadError(f"{where}: attribute {form!r} is not a valid value of a Constant")
    import numpy as np

    kinds = (int,) if elements[form] is ElementType.I64 else (float,)
    if not all(isinstance(item, kinds) for item in (value if many else [value])):
        raise ReadError(f"{where}: the values of attribute {form!r} have the wrong type")
    return ArrayTensor(np.array(value, dtype=elements[form].numpy()), elements[form])


def _string_tensor(value: Any, many: bool, where: str) -> Tensor:
    items = value if many and isinstance(value, list) else [value]
    if not all(isinstance(item, str | bytes) for item in items):
        raise ReadError(f"{where}: its value is not a string")
    texts = tuple(item.encode() if isinstance(item, str) else item for item in items)
    return StringTensor(texts, (len(texts),) if many else ())
