"""Expands SequenceMap to a Loop, as the standard defines it (SequenceMap-17).

    mapped = SequenceMap <body> (items, other)

becomes, with one SequenceAt (for a tensor: Identity) for each input of the body

    mapped = Loop (SequenceLength (items), true, SequenceEmpty ()) <
        (i, c, so_far) => (c, longer) {
            item = SequenceAt (items, i)
            ...the nodes of the body...
            longer = SequenceInsert (so_far, result)
        }>

onnx can do this, too, but infers the types of the whole model first, which crashes the process if a
model has no types.
"""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from irloop.errors import ReadError
from irloop.formats.onnx.naming import StemNames, names_in
from irloop.formats.onnx.scopes import source_of
from irloop.formats.onnx.versions import domain_of, schema_of

__all__ = ["expand_sequence_maps", "is_map"]


def is_map(type: str, domain: str) -> bool:
    """Return whether `type` is a SequenceMap in the standard domain."""
    return type == "SequenceMap" and domain_of(domain) == ""


def expand_sequence_maps(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """A copy of the model in which every SequenceMap is a Loop.

    Raises:
        ReadError: for a SequenceMap whose body does not match it, or if it is unknown which inputs
            are sequences, or which types its outputs have.
    """
    # This call refuses names that cannot be written again.
    source_of(model.graph)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    taken = set(names_in(copy.graph))
    _expand(copy.graph, _Kinds(copy.graph, None, opset), taken)
    return copy


class _Kinds:
    """The declared types of a graph's values, and the nodes that produce the values."""

    def __init__(self, graph: onnx.GraphProto, outer: _Kinds | None, opset: int) -> None:
        self._outer = outer
        self._opset = opset
        self._types: dict[str, onnx.TypeProto] = {}
        for items in (graph.value_info, graph.output, graph.input):
            for item in items:
                if item.type.WhichOneof("value") is not None:
                    self._types[item.name] = item.type
        self._tensors = {item.name for item in graph.initializer}
        self._makers: dict[str, onnx.NodeProto] = {}
        for node in graph.node:
            self._makers.update({name: node for name in node.output if name})

    def inside(self, graph: onnx.GraphProto) -> _Kinds:
        """Return the `_Kinds` of `graph`, a body in the graph that this object describes."""
        return _Kinds(graph, self, self._opset)

    def item_type(self, name: str) -> int:
        """The declared element type of the tensors in a sequence; 0 without a declaration."""
        type = self._types.get(name)
        return 0 if type is None else int(type.sequence_type.elem_type.tensor_type.elem_type)

    def is_sequence(self, name: str) -> bool | None:
        """True if a value is a sequence, False if it is not; None if that is unknown."""
        for _ in range(10_000):
            type = self._types.get(name)
            if type is not None:
                return bool(type.WhichOneof("value") == "sequence_type")
            if name in self._tensors:
                return False
            node = self._makers.get(name)
            if node is None:
                return None if self._outer is None else self._outer.is_sequence(name)
            if node.op_type != "Identity" or len(node.input) != 1:
                return self._made_by(node, list(node.output).index(name))
            name = node.input[0]
        return None

    def _made_by(self, node: onnx.NodeProto, index: int) -> bool | None:
        if is_map(node.op_type, node.domain):
            return True
        schema = schema_of(node.op_type, self._opset, domain_of(node.domain))
        if schema is None or not schema.outputs:
            return None
        output = schema.outputs[min(index, len(schema.outputs) - 1)]
        kinds = {str(item).startswith("seq(") for item in output.types}
        if len(kinds) == 1:
            return kinds.pop()
        if node.op_type == "Loop" and 2 + index < len(node.input):
            # A state has the type of its initial value.
            return self.is_sequence(node.input[2 + index])
        return False if node.op_type == "Loop" else None


def _expand(graph: onnx.GraphProto, kinds: _Kinds, taken: set[str]) -> None:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _expand(attribute.g, kinds.inside(attribute.g), taken)
    if not any(is_map(node.op_type, node.domain) for node in graph.node):
        return
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        nodes += _written_out(node, kinds, taken) if is_map(node.op_type, node.domain) else [node]
    del graph.node[:]
    graph.node.extend(nodes)


def _written_out(node: onnx.NodeProto, kinds: _Kinds, taken: set[str]) -> list[onnx.NodeProto]:
    where = node.name or next(iter(node.output), node.op_type)
    body = _body_of(node, where)
    names = StemNames(where, taken)
    nodes, sources = _sources(node, body, names)
    length, go_on = names.fresh("length"), names.fresh("condition")
    true = helper.make_tensor("", TensorProto.BOOL, [], [True])
    nodes.append(helper.make_node("SequenceLength", [sources[0]], [length], name=length))
    nodes.append(helper.make_node("Constant", [], [go_on], name=go_on, value=true))
    loop = helper.make_node("Loop", [length, go_on], list(node.output), name=node.name)
    loop.doc_string = node.doc_string
    inner = _loop_body(body, names)
    for at, (source, formal) in enumerate(zip(sources, body.input, strict=True)):
        sequence = _is_sequence_input(kinds, node, at, where)
        inner.node.append(_step(source, formal.name, inner.input[0].name, sequence))
    inner.node.extend(body.node)
    for result, name in zip(body.output, node.output, strict=True):
        code = int(result.type.tensor_type.elem_type) or kinds.item_type(name)
        if not code:
            raise ReadError(
                f"SequenceMap {where!r}: the element type of its output {name!r} is not declared"
            )
        nodes.append(_collect(loop, inner, result.name, code, names))
    loop.attribute.append(helper.make_attribute("body", inner))
    return [*nodes, loop]


def _sources(
    node: onnx.NodeProto, body: onnx.GraphProto, names: StemNames
) -> tuple[list[onnx.NodeProto], list[str]]:
    """Give a new name to each input of `node` whose name the body uses for another value.

    The body of the SequenceMap `node` becomes the body of a Loop, where it would otherwise hide
    these inputs. An Identity node copies each of them to its new name.

    Returns:
        The Identity nodes, and the names of all inputs, in order, after the renaming.
    """
    local = {item.name for items in (body.input, body.initializer) for item in items}
    local.update(name for inner in body.node for name in inner.output)
    nodes, sources = [], []
    for name in node.input:
        source = name
        if name in local:
            # The body has another value with this name.
            source = names.fresh("input")
            nodes.append(helper.make_node("Identity", [name], [source], name=source))
        sources.append(source)
    return nodes, sources


def _collect(
    loop: onnx.NodeProto, inner: onnx.GraphProto, result: str, code: int, names: StemNames
) -> onnx.NodeProto:
    """Add to `loop` a sequence state, to which each iteration appends the value `result`.

    `code` is the element type of the sequence. Returns the node that makes the empty initial
    sequence.
    """
    empty, so_far, longer = names.fresh("empty"), names.fresh("so_far"), names.fresh("longer")
    loop.input.append(empty)
    type = helper.make_sequence_type_proto(helper.make_tensor_type_proto(code, None))
    inner.input.append(helper.make_value_info(so_far, type))
    inner.output.append(helper.make_value_info(longer, type))
    inner.node.append(helper.make_node("SequenceInsert", [so_far, result], [longer], name=longer))
    return helper.make_node("SequenceEmpty", [], [empty], name=empty, dtype=code)


def _body_of(node: onnx.NodeProto, where: str) -> onnx.GraphProto:
    bodies = [item.g for item in node.attribute if item.name == "body" and item.HasField("g")]
    fits = (
        len(bodies) == 1
        and len(node.input) == len(bodies[0].input) >= 1
        and len(node.output) == len(bodies[0].output)
        and all((*node.input, *node.output))
    )
    if not fits:
        raise ReadError(
            f"SequenceMap {where!r} does not match its body",
            expected="one body with as many inputs and outputs as the node",
            found=f"{len(node.input)} inputs, {len(node.output)} outputs, {len(bodies)} bodies",
        )
    body: onnx.GraphProto = bodies[0]
    return body


def _loop_body(body: onnx.GraphProto, names: StemNames) -> onnx.GraphProto:
    """Make the body of the Loop that replaces a SequenceMap, without the nodes of `body`.

    `body` is the body of the SequenceMap. The new body has the iteration number, a condition that
    it passes on unchanged, and the constants and declared types of `body`.
    """
    number, before, after = (names.fresh(wish) for wish in ("iteration", "goes_on", "go_on"))
    graph = onnx.GraphProto(name=body.name)
    for name, code in ((number, TensorProto.INT64), (before, TensorProto.BOOL)):
        graph.input.append(helper.make_tensor_value_info(name, code, []))
    graph.output.append(helper.make_tensor_value_info(after, TensorProto.BOOL, []))
    graph.node.append(helper.make_node("Identity", [before], [after], name=after))
    graph.initializer.extend(body.initializer)
    graph.sparse_initializer.extend(body.sparse_initializer)
    graph.value_info.extend([*body.value_info, *body.input])
    return graph


def _is_sequence_input(kinds: _Kinds, node: onnx.NodeProto, index: int, where: str) -> bool:
    is_sequence = True if index == 0 else kinds.is_sequence(node.input[index])
    if is_sequence is None:
        raise ReadError(
            f"SequenceMap {where!r}: it is not declared whether its input {node.input[index]!r} "
            "is a sequence",
            fix="declare its type in value_info",
        )
    return is_sequence


def _step(source: str, formal: str, number: str, sequence: bool) -> onnx.NodeProto:
    if sequence:
        return helper.make_node("SequenceAt", [source, number], [formal], name=formal)
    return helper.make_node("Identity", [source], [formal], name=formal)
