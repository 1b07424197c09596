"""Writes ONNX: removes captured inputs of bodies, makes names unique, streams weights.

In memory, a body has an input for each value that it captures from an outer graph. In an ONNX file,
the body has no such input and reads the captured value by its name. The old file is replaced in one
step, when the new file is complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import onnx

from irloop.dialects.onnx import ONNX
from irloop.dialects.onnx.control_flow import If, Loop, Scan, Scan8
from irloop.errors import UsageError, WriteError
from irloop.formats.onnx.attributes import codec_of, to_proto
from irloop.formats.onnx.check import check_model
from irloop.formats.onnx.control import FoldedBody, FoldedNode, fold
from irloop.formats.onnx.naming import Scope
from irloop.formats.onnx.notes import (
    DECLARED,
    DEFAULT,
    NO_NOTES,
    TYPE,
    UNREAD,
    apply_graph_notes,
    apply_node_notes,
    notes_of,
)
from irloop.formats.onnx.soundness import is_sound
from irloop.formats.onnx.store import Store
from irloop.formats.onnx.types import type_from_proto, type_to_proto
from irloop.formats.onnx.versions import ir_version_for, schema_of
from irloop.graph.builder import element_of
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant, Op, UnknownOp
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType, Shape, TensorType, ValueType
from irloop.graph.verify import verify
from irloop.graph.walk import all_graphs, node_path
from irloop.progress import counted

__all__ = ["to_proto_model", "write"]

#: Maximum nesting depth of bodies: protobuf decodes 100 nested messages, and a body takes three.
NESTING_LIMIT = 31

#: The oldest IR version of a file that is written: older ones import no opsets.
OLDEST_IR = 3

#: Operations whose outputs all get a name, because ONNX Runtime crashes if a Loop output has none.
_NAMED = (If, Loop, Scan, Scan8)


def write(
    model: Model,
    path: str | os.PathLike[str],
    *,
    external_data: bool | None = None,
    weights: Literal["copy", "share"] = "copy",
    version: int | None = None,
    check: bool = True,
) -> tuple[Path, ...]:
    """Write a model of the ONNX dialect as an .onnx file, which is replaced in one step.

    `external_data` puts the weights into ``<name>.data`` next to the file; None means that this is
    done only if a protobuf would be too large. With `weights="share"`, constants that are mapped
    from a file in the same folder (the .bin of an IR) are not copied; the model refers to their
    bytes in that file. `version` is the IR version of the file; by default it is that of the model
    or, if it has none, the smallest that allows its opsets. With `check` the ONNX checker checks
    the result first. Returns the files written, the model first.

    Raises:
        UsageError: for a model of another dialect, or an IR version that is not written.
        VerifyError: when the graph in memory is inconsistent.
        WriteError: when the model is not valid in its opsets, the checker refuses it, or the
            file cannot be written; the old file is then still there.
    """
    target = Path(path)
    store = Store(target, external=external_data, share=weights == "share")
    if version is not None:
        if not OLDEST_IR <= version <= int(onnx.IR_VERSION):
            raise UsageError(
                f"an ONNX file of IR version {version} cannot be written",
                expected=f"{OLDEST_IR} to {int(onnx.IR_VERSION)}",
            )
        model = replace(model, version=version)
    writer = _Writer(model, store)
    proto = writer.model()
    checked = None
    if check:
        sound = is_sound(model)
        checked = check_model(proto, store, str(target), types=writer.types, sound=sound)
    return store.save(proto, checked)


def to_proto_model(model: Model) -> onnx.ModelProto:
    """The ModelProto of a model, including its weights.

    Raises:
        UsageError: for a model of another dialect.
        VerifyError: when the graph in memory is inconsistent.
        WriteError: when the model imports no opset, or ONNX cannot represent it.
    """
    store = Store(None, external=False, share=False)
    proto = _Writer(model, store).model()
    store.fill()
    return proto


def _ir_version(model: Model) -> int:
    """Return the IR version to write: the model's own, or the smallest that allows its opsets.

    A version below 4 is raised to 4 if the file needs initializers that are not model inputs,
    because these exist only since version 4. A model with an opset below 9 needs such initializers
    for constants that are not floats, because the Constant operation of these opsets can hold only
    floats.
    """
    version = model.version if model.version > 0 else ir_version_for(model.opsets)
    if version >= 4 or model.opsets.get("", 9) >= 9:
        return version
    made = (
        node
        for graph in all_graphs(model.graph)
        for node in graph.nodes
        if isinstance(node.op, Constant) and DEFAULT not in node.outputs[0].info
    )
    return 4 if any(not element_of(node.outputs[0]).is_float for node in made) else version


class _Form(NamedTuple):
    """How the nodes of one operation class are written.

    `schema` is the operation's schema in the opset of the model, or None if ONNX has none; `needed`
    is the number of inputs that the schema requires, and `attributes` has the attributes that it
    describes.
    """

    type: str
    domain: str
    schema: onnx.defs.OpSchema | None
    needed: int
    attributes: Mapping[str, onnx.defs.OpSchema.Attribute]


class _Writer:
    """Builds the ModelProto of one model; `store` decides where each weight goes."""

    def __init__(self, model: Model, store: Store) -> None:
        self._model = model
        self._store = store
        self._version = _ir_version(model)
        #: The types of the nodes that were written, except those of constants.
        self.types: set[str] = set()
        #: Asking a schema for its parts takes longer than writing a node.
        self._forms: dict[type[Op], _Form] = {}

    def model(self) -> onnx.ModelProto:
        """Return the model as an ONNX ModelProto.

        Raises:
            UsageError: when the model is not an ONNX model.
            VerifyError: when the graph is inconsistent.
            WriteError: when it imports no opset, or the file format cannot represent it.
        """
        model = self._model
        if model.dialect != "onnx":
            raise UsageError(f"expected an ONNX model, found dialect {model.dialect!r}")
        verify(model.graph)
        if not model.opsets:
            raise WriteError("the model imports no opset", fix="set model.opsets")
        proto = onnx.ModelProto()
        proto.ir_version = self._version
        for domain, version in model.opsets.items():
            proto.opset_import.add(domain=domain, version=version)
        if "producer_name" not in model.metadata:
            proto.producer_name = "irloop"
        for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
            if model.metadata.get(name) not in (None, ""):
                setattr(proto, name, model.metadata[name])
        for key, value in model.metadata.get("metadata_props", {}).items():
            proto.metadata_props.add(key=key, value=value)
        for name in UNREAD:
            for data in model.metadata.get(name, ()):
                getattr(proto, name).add().ParseFromString(data)
        scope = Scope(model.graph)
        outputs = scope.name_model(model.graph)
        graph = proto.graph
        graph.name = model.graph.name or "graph"
        apply_graph_notes(graph, model.metadata)
        for node in model.graph.parameters:
            value = node.outputs[0]
            self._value_info(graph.input.add(), scope.names[value], value)
        self._nodes(graph, model.graph, scope)
        for name, value in zip(outputs, model.graph.outputs, strict=True):
            if scope.names[value] != name:
                self._identity(graph, model.graph, scope.names[value], name)
            self._value_info(graph.output.add(), name, value)
        self._declare(graph, model.graph, scope, outputs)
        return proto

    def _nodes(self, proto: onnx.GraphProto, graph: Graph, scope: Scope) -> None:
        nodes: Iterable[Node] = graph.nodes
        if graph.owner is None:
            nodes = counted("nodes", nodes, len(graph), every=64)
        taken: set[str] = set()
        for node in nodes:
            if isinstance(node.op, Constant):
                self._constant(proto, node, node.op.tensor, scope)
                continue
            made = proto.node.add()
            self._node(made, node, scope)
            # ONNX Runtime refuses two nodes with the same name, but accepts nodes without a name.
            if node.name in taken:
                made.ClearField("name")
            taken.add(node.name)

    def _constant(self, proto: onnx.GraphProto, node: Node, tensor: Tensor, scope: Scope) -> None:
        value = node.outputs[0]
        name = scope.names[value]
        where = f"constant {node_path(node)!r}"
        default = DEFAULT in value.info
        notes = notes_of(node.info)
        # Before opset 9 the operation Constant holds floats only.
        may_be_node = self._model.opsets.get("", 9) >= 9 or element_of(value).is_float
        # Before IR version 4 every initializer must be a graph input.
        if not default and may_be_node and (notes.is_node or self._version < 4):
            constant = proto.node.add(op_type="Constant", name=node.name, output=[name])
            attribute = constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
            self._store.put(attribute.t, tensor, "", where)
            apply_node_notes(constant, notes)
            return
        self._store.put(proto.initializer.add(), tensor, name, where)
        if default:
            self._value_info(proto.input.add(), name, value)

    def _node(self, proto: onnx.NodeProto, node: Node, scope: Scope) -> None:
        form = self._forms.get(type(node.op)) or self._new_form(node)
        folded = fold(node)
        proto.op_type = form.type
        if form.domain:
            proto.domain = form.domain
        proto.name = node.name
        names = scope.names
        inputs = ["" if value is None else names[value] for value in folded.inputs]
        while len(inputs) > form.needed and not inputs[-1]:
            inputs.pop()
        proto.input.extend(inputs)
        proto.output.extend(self._outputs(node, folded, scope, form.schema))
        self._attributes(proto, node, folded, form)
        notes = notes_of(node.info)
        if notes is not NO_NOTES:
            apply_node_notes(proto, notes)
        for body in folded.bodies:
            found = notes.graphs.get(body.attribute, {})
            self._body(_body_proto(proto, body.attribute), node, body, scope, found)

    def _outputs(self, node: Node, folded: FoldedNode, scope: Scope, schema: Any) -> list[str]:
        first = folded.outputs[0] if len(folded.outputs) == 1 else None
        if first is not None and first.is_used:
            return [scope.names[first]]
        optional = onnx.defs.OpSchema.FormalParameterOption.Optional
        names = []
        for index, value in enumerate(folded.outputs):
            if value is None:
                names.append(scope.fresh(f"{node.name}.unused"))
                continue
            may_omit = not isinstance(node.op, _NAMED) and (
                schema is None
                or (index < len(schema.outputs) and schema.outputs[index].option == optional)
            )
            omit = may_omit and not value.is_used and not value.names
            names.append("" if omit else scope.names[value])
        while len(names) > 1 and not names[-1]:
            names.pop()
        if names == [""]:
            names = [scope.names[node.outputs[0]]]
        return names

    def _new_form(self, node: Node) -> _Form:
        """Return the form of a node, and keep it for the other nodes of its class.

        Raises:
            WriteError: when the operation is not in the opsets of the model.
        """
        op, domain = node.op, _domain(node)
        self._require_valid(node, domain)
        name = op.name if isinstance(op, UnknownOp) else op.type
        schema = schema_of(name, self._model.opsets[domain], domain)
        if schema is None:
            form = _Form(name, domain, None, 0, {})
        else:
            form = _Form(name, domain, schema, schema.min_input, dict(schema.attributes))
        self.types.add(name)
        if not isinstance(op, UnknownOp):  # one class stands for all unknown operations
            self._forms[type(op)] = form
        return form

    def _require_valid(self, node: Node, domain: str) -> None:
        op = node.op
        opset = self._model.opsets.get(domain)
        place = f"{op.label} {node_path(node)!r}"
        if opset is None:
            raise WriteError(
                f"{place} is of the domain {domain!r}, which the model does not import",
                location=node.location,
            )
        if isinstance(op, UnknownOp):
            schema = schema_of(op.name, opset, domain)
            valid = schema is None or str(schema.since_version) == op.version
        else:
            valid = ONNX.find(op.type, opset, domain) is type(op)
        if not valid:
            raise WriteError(
                f"{place} is another version of the operation than the one in opset {opset}",
                location=node.location,
                expected=f"an operation of opset {opset}",
                found=op.label,
            )

    def _attributes(
        self, proto: onnx.NodeProto, node: Node, folded: FoldedNode, form: _Form
    ) -> None:
        op = node.op
        if not (op.has_fields() or folded.attributes or node.attributes):
            return
        where = f"{op.label} {node_path(node)!r}"
        described = form.attributes
        values = {**_own_attributes(op, form, where), **folded.attributes, **node.attributes}
        for name, value in values.items():
            kind = described[name].type if name in described else None
            self._attribute(proto, name, value, kind, where)

    def _attribute(
        self, proto: onnx.NodeProto, name: str, value: Any, kind: Any, where: str
    ) -> None:
        if isinstance(value, Tensor):
            attribute = proto.attribute.add(name=name, type=onnx.AttributeProto.TENSOR)
            self._store.put(attribute.t, value, "", f"{where}: attribute {name!r}")
        elif isinstance(value, list) and value and isinstance(value[0], Tensor):
            attribute = proto.attribute.add(name=name, type=onnx.AttributeProto.TENSORS)
            for tensor in value:
                self._store.put(attribute.tensors.add(), tensor, "", where)
        else:
            proto.attribute.append(to_proto(name, value, kind, where))

    def _body(
        self,
        proto: onnx.GraphProto,
        node: Node,
        folded: FoldedBody,
        outer: Scope,
        notes: Mapping[str, Any],
    ) -> None:
        graph = folded.body.graph
        proto.name = graph.name or folded.body.label
        apply_graph_notes(proto, notes)
        scope = Scope(self._model.graph, outer)
        if scope.depth > NESTING_LIMIT:
            raise WriteError(
                f"{node_path(node)!r} is nested too deep for a protobuf",
                expected=f"at most {NESTING_LIMIT} nested bodies",
            )
        scope.name_body(graph, {p: outer.names[v] for p, v in folded.captures.items()})
        for index, parameter in enumerate(folded.parameters):
            if parameter is None:
                # Only a Loop has parameters that may be unread: the iteration and the condition.
                element = (ElementType.I64, ElementType.BOOLEAN)[index]
                type = type_to_proto(TensorType(element, Shape(())), "")
                name = scope.fresh(("iteration", "condition")[index])
                proto.input.add(name=name).type.CopyFrom(type)
                continue
            value = parameter.outputs[0]
            self._value_info(proto.input.add(), scope.names[value], value)
        self._nodes(proto, graph, scope)
        outputs = []
        for result in folded.results:
            (result_value,) = result.inputs
            assert result_value is not None
            name = scope.names[result_value]
            if result_value.producer in folded.captures:
                # A body must not return an outer value directly (ONNX Runtime refuses it).
                name = scope.fresh(result.name)
                self._identity(proto, graph, scope.names[result_value], name)
            self._value_info(proto.output.add(), name, result_value)
            outputs.append(name)
        self._declare(proto, graph, scope, outputs)

    def _identity(self, proto: onnx.GraphProto, graph: Graph, source: str, name: str) -> None:
        if "" not in self._model.opsets:
            raise WriteError(
                f"{name!r} needs an Identity, but the model imports no opset of ai.onnx"
            )
        taken = any(node.name == name for node in graph.nodes)
        own = "" if taken else name
        proto.node.add(op_type="Identity", name=own, input=[source], output=[name])

    def _declare(
        self, proto: onnx.GraphProto, graph: Graph, scope: Scope, outputs: list[str]
    ) -> None:
        declared = set(outputs)
        for node in graph.nodes:
            for value in node.outputs:
                if DECLARED in value.info and scope.names[value] not in declared:
                    self._value_info(proto.value_info.add(), scope.names[value], value)

    def _value_info(self, proto: onnx.ValueInfoProto, name: str, value: Value) -> None:
        proto.name = name
        kept = value.info.get(TYPE)
        if kept is not None:
            type = onnx.TypeProto()
            type.ParseFromString(kept)
            if type_from_proto(type) == value.type and not _has_negative_size(type):
                proto.type.CopyFrom(type)
                return
        if _is_known(value.type):
            proto.type.CopyFrom(type_to_proto(value.type, f"value {name!r}"))


def _has_negative_size(type: onnx.TypeProto) -> bool:
    """Return whether `type` has a negative size; exporters write -1 for an unknown size.

    The shape inference of the onnx package uses the negative number as a size, and crashes the
    process.
    """
    return any(dim.dim_value < 0 for dim in type.tensor_type.shape.dim)


def _is_known(type: ValueType) -> bool:
    while not isinstance(type, TensorType):
        type = type.item
    return type.element is not ElementType.DYNAMIC


def _domain(node: Node) -> str:
    return node.op.op_domain if isinstance(node.op, UnknownOp) else node.op.domain


def _own_attributes(op: Op, form: _Form, where: str) -> dict[str, Any]:
    """Return the attributes of an operation that must be written to the file.

    These are the attributes that differ from their default, and those that the schema requires.
    """
    if isinstance(op, UnknownOp):
        return dict(op.attributes)
    values = {}
    for codec in codec_of(type(op)):
        value = getattr(op, codec.field)
        if value is None:
            continue
        described = form.attributes.get(codec.name)
        if described is None and form.schema is not None and value != codec.default:
            raise WriteError(
                f"{where} has the attribute {codec.name!r}, which the operation does not have in "
                "its opset",
                expected=", ".join(form.attributes) or "no attribute",
                found=repr(value)[:80],
            )
        required = described is not None and described.required
        # A missing attribute means its default, so write a default only if the attribute is
        # required.
        if required or value != codec.default:
            values[codec.name] = codec.dump(value)
    return values


def _body_proto(node: onnx.NodeProto, name: str) -> onnx.GraphProto:
    stem, bracket, _ = name.partition("[")
    if not bracket:
        attribute = node.attribute.add(name=name, type=onnx.AttributeProto.GRAPH)
        attribute.g.SetInParent()
        graph: onnx.GraphProto = attribute.g
        return graph
    for attribute in node.attribute:
        if attribute.name == stem:
            break
    else:
        attribute = node.attribute.add(name=stem, type=onnx.AttributeProto.GRAPHS)
    branch: onnx.GraphProto = attribute.graphs.add()
    return branch
